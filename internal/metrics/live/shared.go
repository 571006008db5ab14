package live

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loadline/loadline/internal/metrics/prom"
)

// Shared asks one server for several sources at once. Sources that observe at about the same time make a
// round: equal queries are asked once, and those of embedded presets, which differ by the namespace and the
// window, are joined to one. Every series is decoded once and goes to the sources that it is about.
//
// All sources reach the server with the same address, credentials and headers. A source's own queries and
// variables are PromQL that others have written: they are never joined, only asked once where they are equal.
// What cannot be answered together is asked by each source for itself, as without a Shared; a source whose
// query fails or is refused there stays apart for a while.
//
// It is safe for concurrent use.
type Shared struct {
	client *prom.Client
	log    *slog.Logger // for panics and what is asked apart; nil = none

	quiet, most time.Duration // a round waits for others: since the last has joined, and in all

	mu      sync.Mutex
	members int
	open    *round // that sources may join; nil = none
	joins   map[string]joining
}

// Limits of a round and of one joined query.
const (
	gatherQuiet = 50 * time.Millisecond // a round begins when it has had no new member for this long
	gatherMost  = 250 * time.Millisecond
	sameInstant = time.Second     // sources of a round observe within it
	leastTime   = 2 * time.Second // of a source in a round

	mostJoined = 50
	joinedText = 96 << 10 // bytes of a joined query
	joinedEach = 64       // bytes that joining adds to each of its parts, at most

	apartFor    = 10 * time.Minute // a source's question that failed
	joinAnew    = 20               // rounds until joining is tried again after every joined query has failed
	sharedLabel = "loadline_share" // which part of a joined query a series is of
)

// joining is how many queries are joined for a question: half as many after a failure, twice as many after
// a success.
type joining struct{ most, rest int }

// NewShared for the sources of one server. The client is its own.
func NewShared(c *prom.Client, log *slog.Logger) *Shared {
	return &Shared{client: c, log: log, quiet: gatherQuiet, most: gatherMost, joins: map[string]joining{}}
}

// Join counts a source in. Leave it when the source is no longer used.
func (s *Shared) Join() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.members++
}

// Leave returns how many sources are left.
func (s *Shared) Leave() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.members--
	return s.members
}

// sharing is what a round did with a question.
type sharing int

const (
	byItself sharing = iota // it is to be asked by the source itself
	together                // it was answered
	parted                  // a query for several sources failed; it is to be asked by the source itself
)

// member is a source in a round.
type member struct {
	source   *Source
	answers  *answers
	list     []answer
	memory   *prom.Keep
	ours     func(*question) names
	alone    []bool // questions that are not for the round
	sharings []sharing
	deadline time.Time // zero = none

	mu        sync.Mutex
	abandoned bool
	done      chan struct{}
}

// finish hands the answers over, or drops them if the caller has given up.
func (m *member) finish() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.abandoned {
		m.memory.Release()
		return
	}
	close(m.done)
}

// abandon the answers; false if they have arrived.
func (m *member) abandon() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-m.done:
		return false
	default:
		m.abandoned = true
		return true
	}
}

// askShared asks in a round with others what may be asked so. The error is the context's.
func (s *Source) askShared(ctx context.Context, a *answers, ours func(*question) names) ([]sharing, error) {
	m := &member{source: s, answers: a, list: a.list, memory: a.memory, ours: ours, sharings: make([]sharing, len(a.list)),
		done: make(chan struct{})}
	var limited bool
	if m.deadline, limited = ctx.Deadline(); limited && time.Until(m.deadline) < leastTime {
		return m.sharings, nil // it would leave the others too little
	}
	m.alone = make([]bool, len(a.list))
	for i := range a.list {
		until, apart := s.apart[a.questions[i].name]
		m.alone[i] = a.list[i].err != nil || apart && a.now.Before(until)
	}
	if s.o.Shared == nil || !s.o.Shared.join(m) {
		return m.sharings, nil
	}
	select {
	case <-m.done:
		return m.sharings, nil
	case <-ctx.Done():
	}
	if !m.abandon() {
		return m.sharings, nil
	}
	a.memory = s.client.Keep() // the round still writes to the other
	a.list = make([]answer, len(a.list))
	for i := range a.list {
		a.list[i].memory = a.memory
	}
	return nil, context.Cause(ctx)
}

// part keeps questions out of rounds for a while that failed for this source alone.
func (s *Source) part(a *answers, sharings []sharing) {
	for i, how := range sharings {
		err := a.list[i].err
		if err == nil || how == byItself || errors.Is(err, errSpared) || errors.Is(err, prom.ErrUnreachable) {
			continue
		}
		if s.apart == nil {
			s.apart = map[string]time.Time{}
		}
		s.apart[a.questions[i].name] = a.now.Add(apartFor)
	}
}

// round is one time that sources ask together.
type round struct {
	shared  *Shared
	at      time.Time
	members []*member
	joined  chan struct{}
}

// join the open round, or begin one; false if no member can ask for the others.
func (s *Shared) join(m *member) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.members < 2 {
		return false
	}
	if r := s.open; r != nil && m.answers.now.Sub(r.at).Abs() <= sameInstant && !r.has(m.source) {
		r.members = append(r.members, m)
		select {
		case r.joined <- struct{}{}:
		default:
		}
		return true
	}
	r := &round{shared: s, at: m.answers.now, members: []*member{m}, joined: make(chan struct{}, 1)}
	s.open = r
	go r.run()
	return true
}

func (r *round) has(s *Source) bool {
	for _, m := range r.members {
		if m.source == s {
			return true
		}
	}
	return false
}

func (r *round) run() {
	defer func() {
		for _, m := range r.members {
			m.finish()
		}
	}()
	r.gather()
	if len(r.members) < 2 {
		return
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	if within, limited := r.within(); limited {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, within)
		defer stop()
	}
	list := r.queries()
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(r.shared.client.AtOnce(), len(list)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(list); i = int(next.Add(1)) - 1 {
				list[i].ask(ctx, cancel)
			}
		})
	}
	wg.Wait()
	r.shared.settle(list)
}

// gather waits for further members until none has joined for gatherQuiet.
func (r *round) gather() {
	last := time.NewTimer(r.shared.most)
	defer last.Stop()
	quiet := time.NewTimer(r.shared.quiet)
	defer quiet.Stop()
	for waiting := true; waiting && !r.complete(); {
		select {
		case <-r.joined:
			quiet.Reset(r.shared.quiet)
		case <-quiet.C:
			waiting = false
		case <-last.C:
			waiting = false
		}
	}
	r.shared.mu.Lock()
	defer r.shared.mu.Unlock()
	if r.shared.open == r {
		r.shared.open = nil
	}
}

// complete reports whether everybody is there. Nobody joins then.
func (r *round) complete() bool {
	r.shared.mu.Lock()
	defer r.shared.mu.Unlock()
	return len(r.members) >= r.shared.members
}

// within is the time for asking together: half of what the first to leave has, so that the rest is enough to
// ask for itself.
func (r *round) within() (within time.Duration, limited bool) {
	for _, m := range r.members {
		if m.deadline.IsZero() {
			continue
		}
		if left := time.Until(m.deadline) / 2; !limited || left < within {
			within, limited = left, true
		}
	}
	return within, limited
}

// subscriber is a source's question in a share.
type subscriber struct {
	member   *member
	question int
	q        *question
	into     *answer
	ours     names
}

// share is one query text and those who ask it.
type share struct {
	*question
	subscribers []subscriber
	owners      map[string][]int // subscribers by the names that are theirs; nil = there is one
	met         map[string]bool  // some names that have occurred
}

// joinedQuery is one request of a round.
type joinedQuery struct {
	round  *round
	name   string // of the question
	shares []*share
	err    error
}

// queries of the round: for each question those that are equal or may be joined, in the order of the
// questions. What only one source would ask, it asks itself.
func (r *round) queries() []*joinedQuery {
	var order []string
	byName := map[string][]*share{}
	byKey := map[string]*share{}
	for _, m := range r.members {
		for i := range m.list {
			q := &m.answers.questions[i]
			if m.alone[i] {
				continue
			}
			sh := byKey[q.key]
			if sh == nil {
				sh = &share{question: q}
				byKey[q.key] = sh
				if byName[q.name] == nil {
					order = append(order, q.name)
				}
				byName[q.name] = append(byName[q.name], sh)
			}
			sh.subscribers = append(sh.subscribers, subscriber{m, i, q, &m.list[i], m.ours(q)})
		}
	}
	var list []*joinedQuery
	for _, name := range order {
		list = append(list, r.joinQueries(name, byName[name])...)
	}
	return list
}

// joinQueries makes requests of the shares of one question.
func (r *round) joinQueries(name string, shares []*share) []*joinedQuery {
	most := r.shared.mayJoin(name)
	var list []*joinedQuery
	var open *joinedQuery
	size := 0
	for _, sh := range shares {
		if !sh.embedded {
			if len(sh.subscribers) > 1 {
				list = append(list, &joinedQuery{round: r, name: name, shares: []*share{sh}})
			}
			continue
		}
		if open == nil || len(open.shares) >= most || size+len(sh.text) > joinedText {
			open, size = &joinedQuery{round: r, name: name}, 0
			list = append(list, open)
		}
		open.shares = append(open.shares, sh)
		size += len(sh.text)
	}
	kept := list[:0]
	for _, j := range list {
		if len(j.shares) > 1 || len(j.shares[0].subscribers) > 1 {
			kept = append(kept, j)
		}
	}
	return kept
}

// mayJoin is how many queries of a question are joined at most.
func (s *Shared) mayJoin(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	j, found := s.joins[name]
	switch {
	case !found:
		return mostJoined
	case j.rest > 0:
		j.rest--
		s.joins[name] = j
		return 1
	}
	return j.most
}

// settle how many queries are joined the next time.
func (s *Shared) settle(list []*joinedQuery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range list {
		if len(q.shares) < 2 || errors.Is(q.err, prom.ErrUnreachable) {
			continue
		}
		j, found := s.joins[q.name]
		switch {
		case q.err == nil && !found:
		case q.err == nil && 2*j.most >= mostJoined:
			delete(s.joins, q.name)
		case q.err == nil:
			s.joins[q.name] = joining{most: 2 * j.most}
		case len(q.shares) <= 3:
			s.joins[q.name] = joining{most: 2, rest: joinAnew}
		case !found || len(q.shares)/2 < j.most:
			s.joins[q.name] = joining{most: len(q.shares) / 2}
		}
		if q.err != nil && s.log != nil {
			s.log.Debug("a query for several LoadLines failed, each asks for itself", "question", q.name, "queries", len(q.shares),
				"error", q.err)
		}
	}
}

// text of the request. Halves are joined, since each "or" looks at all that is left of it.
func (j *joinedQuery) text() string {
	if len(j.shares) == 1 {
		return j.shares[0].question.text
	}
	size := 0
	for _, sh := range j.shares {
		size += len(sh.question.text) + joinedEach
	}
	var b strings.Builder
	b.Grow(size)
	var write func(from, to int)
	write = func(from, to int) {
		if to-from == 1 {
			// A query may end with a comment.
			b.WriteString("label_replace((")
			b.WriteString(j.shares[from].question.text)
			b.WriteString("\n), \"" + sharedLabel + "\", \"")
			b.WriteString(strconv.Itoa(from))
			b.WriteString("\", \"\", \"\")")
			return
		}
		middle := (from + to) / 2
		b.WriteByte('(')
		write(from, middle)
		b.WriteString(" or ")
		write(middle, to)
		b.WriteByte(')')
	}
	write(0, len(j.shares))
	return b.String()
}

// ask the query and give everybody what is theirs. A server that is not there is not there for all; any other
// failure may be that of one part.
func (j *joinedQuery) ask(ctx context.Context, stop context.CancelCauseFunc) {
	defer func() {
		if p := recover(); p != nil {
			if j.err = fmt.Errorf("panic: %v", p); j.round.shared.log != nil {
				j.round.shared.log.Error("reading a metric panicked", "question", j.name, "panic", p, "stack", string(debug.Stack()))
			}
			j.end()
		}
	}()
	reading, enough := context.WithCancelCause(ctx)
	defer enough(nil)
	for _, sh := range j.shares {
		sh.index()
	}
	j.err = j.round.shared.client.Each(reading, j.text(), j.round.at, j.begin, func(v *prom.Series) {
		at := 0
		if len(j.shares) > 1 {
			var err error
			if at, err = strconv.Atoi(v.Label(sharedLabel)); err != nil || at < 0 || at >= len(j.shares) {
				return
			}
		}
		if !j.shares[at].take(v) && j.allRefused() {
			enough(errEnough) // the rest need not be sent
		}
	})
	if errors.Is(context.Cause(reading), errEnough) {
		j.err = nil
	}
	if ctx.Err() != nil && j.err != nil && errors.Is(context.Cause(ctx), prom.ErrUnreachable) {
		j.err = context.Cause(ctx)
	}
	if errors.Is(j.err, prom.ErrUnreachable) {
		stop(j.err) // the other questions would fail as well
	}
	j.end()
}

// errEnough: no source keeps any more of an answer.
var errEnough = errors.New("enough")

// begin the answers anew.
func (j *joinedQuery) begin() {
	for _, sh := range j.shares {
		clear(sh.met)
		for _, s := range sh.subscribers {
			s.into.begin()
		}
	}
}

func (j *joinedQuery) allRefused() bool {
	for _, sh := range j.shares {
		for _, s := range sh.subscribers {
			if s.into.refused == nil {
				return false
			}
		}
	}
	return true
}

// end the answers.
func (j *joinedQuery) end() {
	lost := errors.Is(j.err, prom.ErrUnreachable)
	for _, sh := range j.shares {
		for _, s := range sh.subscribers {
			switch {
			case j.err != nil && !lost:
				s.into.begin()
				s.into.err, s.member.sharings[s.question] = nil, parted
				continue
			case j.err == nil:
				for name := range sh.met {
					if _, ours := s.ours[name]; !ours {
						s.into.meet(name)
					}
				}
			}
			s.into.end(s.q, j.err, s.ours)
			s.member.sharings[s.question] = together
		}
	}
}

// index whom names belong to.
func (sh *share) index() {
	sh.met = map[string]bool{}
	if len(sh.subscribers) < 2 || sh.of == ofAll {
		return
	}
	sh.owners = map[string][]int{}
	for i, s := range sh.subscribers {
		for name := range s.ours {
			sh.owners[name] = append(sh.owners[name], i)
		}
	}
}

// take gives a series to those that it is about; false if none of them keeps it.
func (sh *share) take(v *prom.Series) bool {
	r, ok := sh.read(v)
	if !ok {
		return true
	}
	if sh.owners == nil {
		kept := false
		for _, s := range sh.subscribers {
			s.into.take(s.q, r, s.ours)
			kept = kept || s.into.refused == nil
		}
		return kept
	}
	if len(sh.met) < 2*mostStrangers && r.name != "" && len(r.name) <= longName && !sh.met[r.name] {
		sh.met[strings.Clone(r.name)] = true
	}
	kept := true
	for _, i := range sh.owners[r.name] {
		s := &sh.subscribers[i]
		s.into.take(s.q, r, s.ours)
		kept = kept && s.into.refused == nil
	}
	return kept
}
