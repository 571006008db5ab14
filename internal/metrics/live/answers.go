package live

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/metrics/prom"
)

// entry is whom a value speaks of: a service, a pod, or users' requests to a
// service, by operation where the metrics tell them apart.
type entry struct{ name, operation string }

// names that are looked up with texts which do not last.
type names map[string]string

func (n names) add(name string) { n[name] = name }

// kept is a name that lasts.
func (n names) kept(name string) string {
	if known, found := n[name]; found {
		return known
	}
	name = strings.Clone(name)
	n[name] = name
	return name
}

// answer is what a question brought.
type answer struct {
	err        error
	kept       int   // values and buckets
	operations names // that occur
	values     map[entry]float64
	histograms map[entry]*histogram
	inside     map[string]float64 // by callee: what services of the application ask of it
	strangers  map[string]bool    // some names that are not ours, to tell a misnomer by
	memory     *prom.Keep         // that all of it takes
	refused    error              // why no more is kept

	last    entry      // whose bucket came last: those of one come together, as a rule
	buckets *histogram // of it; nil = none
}

// mostStrangers keeps a large namespace from filling memory with names, and longName a server that makes
// them up; mostKept an application of which there are far more series than services and pods.
const (
	mostStrangers = 100
	longName      = 253    // as names of Kubernetes
	mostKept      = 10_000 // and mostOfOne for each service and pod
	mostOfOne     = 1_000
)

// Memory of what is kept of a series, beyond the texts that are kept, in bytes.
const (
	valueBytes  = 160 // an entry of a map
	bucketBytes = 48  // in a slice that grows
)

// errSpared is a question that nobody waits for the answer of.
var errSpared = errors.New("not asked")

// answers of one observation.
type answers struct {
	*plan
	now    time.Time
	list   []answer
	memory *prom.Keep
}

// ask asks everything, as many questions at once as the client sends, in their
// order. A question that fails has no values. The error is for when nothing was
// answered.
func (s *Source) ask(ctx context.Context, now time.Time, pods names) (*answers, error) {
	a := &answers{plan: s.plan, now: now, list: make([]answer, len(s.plan.questions)), memory: s.client.Keep()}
	for i := range a.list {
		a.list[i].memory = a.memory
	}
	ours := func(q *question) names {
		if q.of == ofPods {
			return pods
		}
		return s.services
	}
	if s.plan.failed != none && s.users && !s.wantsServices() {
		a.list[s.plan.failed].err = errSpared
	}
	sharings, err := s.askShared(ctx, a, ours)
	if err != nil {
		return a, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(s.client.AtOnce(), len(a.list)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(a.list); i = int(next.Add(1)) - 1 {
				q, into := &s.plan.questions[i], &a.list[i]
				if into.err != nil || sharings[i] == together {
					continue
				}
				s.query(ctx, stop, now, q, into, ours(q))
			}
		})
	}
	wg.Wait()
	s.part(a, sharings)
	return a, a.nothing()
}

// query asks one question. A panic is a failure of this question alone: it is raised
// in a goroutine of its own, and would end the process, with all its applications.
func (s *Source) query(ctx context.Context, stop context.CancelCauseFunc, now time.Time, q *question, into *answer,
	ours names) {
	defer func() {
		if p := recover(); p != nil {
			*into = answer{memory: into.memory, err: fmt.Errorf("query %q: panic: %v", q.text, p)}
			if s.o.Log != nil {
				s.o.Log.Error("reading a metric panicked", "query", q.text, "panic", p, "stack", string(debug.Stack()))
			}
		}
	}()
	reading, refuse := context.WithCancelCause(ctx)
	defer refuse(nil)
	err := s.client.Each(reading, q.text, now, into.begin, func(v *prom.Series) {
		if r, ok := q.read(v); ok {
			into.take(q, r, ours)
		}
		if into.refused != nil {
			refuse(into.refused) // the rest need not be sent
		}
	})
	if errors.Is(err, prom.ErrRefused) || errors.Is(err, prom.ErrUnreachable) {
		stop(err) // the other questions would fail as well
	}
	if err != nil && ctx.Err() != nil && into.refused == nil && !errors.Is(err, prom.ErrBudget) {
		err = context.Cause(ctx)
	}
	into.end(q, err, ours)
}

// end an answer that has arrived, or has not. What may not be kept of it is an error.
func (a *answer) end(q *question, err error, ours names) {
	most := mostKept + mostOfOne*len(ours)
	switch {
	case a.refused != nil:
		err = fmt.Errorf("query %q: %w", q.text, a.refused)
	case err == nil && a.kept > most:
		err = fmt.Errorf("query %q: the answer has more than %d values: aggregate by service, or by pod, in the queries of the preset",
			q.text, most)
	}
	if err != nil {
		a.begin() // part of an answer is none
	}
	a.err = err
	for _, h := range a.histograms {
		*h = h.tidy()
	}
}

// wantsServices says whether a kind is measured by all that its service is asked,
// even where users' requests are told apart.
func (s *Source) wantsServices() bool {
	for i := range s.o.App.Kinds {
		if s.isDirect(i) {
			return true
		}
	}
	return false
}

// nothing is the first failure, if nothing was answered.
func (a *answers) nothing() error {
	var first error
	for i := range a.list {
		err := a.list[i].err
		if err == nil {
			return nil
		}
		if first == nil || errors.Is(first, errSpared) {
			first = err
		}
	}
	return first
}

// begin an answer with nothing in it. Most of it stays empty, and is made when it is needed.
func (a *answer) begin() { *a = answer{memory: a.memory} }

// put makes a map when the first is put into it.
func put[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[k] = v
}

// mostValue is beyond anything that is measured: sums and products of smaller numbers are finite.
const mostValue = 1e100

// reading is what one series says. It is valid until the next series is read.
type reading struct {
	entry
	from         string // who calls, if that is not a user
	value, bound float64
}

// read a series. What is no number, or beyond the largest, is absent.
func (q *question) read(v *prom.Series) (r reading, ok bool) {
	r.value = v.Value
	if q.shape != buckets { // the scale is that of the bounds
		r.value *= q.query.Scale
	}
	if !(math.Abs(r.value) <= mostValue) {
		return r, false
	}
	r.entry, r.from = q.entry(v.Label)
	r.bound = math.NaN()
	if q.shape == buckets {
		bound, err := strconv.ParseFloat(v.Label("le"), 64)
		if err == nil && (math.IsInf(bound, 1) || math.Abs(bound*q.query.Scale) <= mostValue) {
			r.bound = bound * q.query.Scale
		}
	}
	return r, true
}

// take keeps the value of a series of ours.
func (a *answer) take(q *question, r reading, ours names) {
	if a.refused != nil {
		return
	}
	name, known := ours[r.name]
	switch {
	case q.of != ofAll && !known:
		a.meet(r.name)
		return
	case r.from != "":
		if caller, known := ours[r.from]; known && caller != name {
			put(&a.inside, name, a.inside[name]+r.value)
		}
		return
	}
	if a.kept++; a.kept > mostKept+mostOfOne*len(ours) {
		return // refused when all has arrived
	}
	if a.refused = a.memory.Take(a.cost(q, r.operation)); a.refused != nil {
		return
	}
	if a.operations == nil {
		a.operations = names{}
	}
	e := entry{name, a.operations.kept(r.operation)}
	if q.shape == buckets {
		a.bucket(e, r)
		return
	}
	value := r.value
	if old, twice := a.values[e]; twice && q.shape == added {
		value += old
	} else if twice {
		value = max(value, old)
	}
	if a.values == nil {
		a.values = make(map[entry]float64, min(len(ours), 128))
	}
	a.values[e] = value
}

// bucket adds one to the histogram of an entry.
func (a *answer) bucket(e entry, r reading) {
	if math.IsNaN(r.bound) {
		return
	}
	if a.buckets == nil || a.last != e {
		h, known := a.histograms[e]
		if !known {
			some := make(histogram, 0, 20)
			h = &some
			put(&a.histograms, e, h)
		}
		a.last, a.buckets = e, h
	}
	*a.buckets = append(*a.buckets, bucket{r.bound, r.value})
}

// meet a name that is not ours.
func (a *answer) meet(name string) {
	if len(a.strangers) < mostStrangers && name != "" && len(name) <= longName && !a.strangers[name] {
		put(&a.strangers, strings.Clone(name), true)
	}
}

// cost is the memory that a series will take.
func (a *answer) cost(q *question, operation string) int {
	bytes := valueBytes
	if q.shape == buckets {
		bytes = bucketBytes
	}
	if _, known := a.operations[operation]; !known {
		bytes += valueBytes + len(operation)
	}
	return bytes
}

// entry is whom a series speaks of, and who calls if that is not a user.
func (q *question) entry(label func(string) string) (e entry, from string) {
	switch q.of {
	case ofServices:
		e.name = q.query.Service.Of(label)
	case ofPods:
		e.name = q.query.Pod.Of(label)
	case ofCalls:
		from, e.name, e.operation = q.query.Ends(label)
	}
	return e, from
}

// value of a question, if it has one.
func (a *answers) value(question int, e entry) (float64, bool) {
	if question == none {
		return 0, false
	}
	v, ok := a.list[question].values[e]
	return v, ok
}

func (a *answers) sample(question int, e entry) loadline.Sample {
	v, ok := a.value(question, e)
	if !ok {
		return loadline.Sample{}
	}
	return loadline.Sample{Value: v, At: a.at(question, e)}
}

func (a *answers) histogram(question int, e entry) histogram {
	if question == none {
		return nil
	}
	if h := a.list[question].histograms[e]; h != nil {
		return *h
	}
	return nil
}

// at is when the newest scrape behind a value was made. Where that is not known, it
// is as long ago as it can be.
func (a *answers) at(question int, e entry) time.Time {
	q := &a.questions[question]
	if a.questions[q.newest].of == ofAll {
		e = entry{}
	}
	if _, known := a.value(q.newest, e); !known {
		e.operation = "" // the age need not be told by operation
	}
	if _, known := a.value(q.newest, e); !known {
		return a.now.Add(-q.oldest)
	}
	return a.instant(q.newest, e)
}

// instant is a value that is a time in seconds. One from the future, by a clock that is ahead, would
// not become stale: it is now.
func (a *answers) instant(question int, e entry) time.Time {
	seconds, _ := a.value(question, e)
	milliseconds := math.Round(max(0, seconds) * 1000)
	if milliseconds >= float64(a.now.UnixMilli()) {
		return a.now
	}
	return time.UnixMilli(int64(milliseconds)).UTC()
}
