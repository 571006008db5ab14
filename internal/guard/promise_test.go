package guard_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/loop"
)

// These tests hold the guards to what docs/guard.md promises: whatever happens, what
// they allow is never below what one process would have allowed that was never
// interrupted and saw every sample.

const promiseTick = 15 * time.Second

// history is one random case: an application under a load, with faults.
type history struct {
	t    *testing.T
	seed uint64
	rng  *rand.Rand
	calm int  // one pass in so many has a fault of each kind
	deaf bool // Prometheus never answers about the past; then nothing burns, since that would not be known
	bare bool // few pods, without CPU limits, some far busier than others
	app  *loadline.App
	set  guard.Settings

	now   time.Time     // the true time
	skew  time.Duration // of the subject's clock and its Prometheus
	alloc []loadline.Allocation
	pods  [][]histPod // by service
	ticks []histTick  // all of them, as Prometheus has stored them
	next  int64       // ID of a pod

	load []histLoad // by service
	over float64    // share over the SLO
	hot  int        // ticks for which the SLO still burns

	unscraped map[int64]int // by pod: ticks for which it is not scraped

	shadow  *guard.Guarded // sees everything, always
	subject *guard.Guarded // nil = its process is down
	saved   guard.Memory   // of the subject, as the status has it
	down    int            // ticks until it starts again

	steppedAt time.Time // when the clock was last set

	faults map[string]int
	falls  int // reductions that took place
}

type histPod struct {
	loadline.PodObservation
	weight float64 // share of the load relative to the others
}

type histLoad struct{ cores, step float64 }

// histTick is what Prometheus has stored of one scrape.
type histTick struct {
	at       time.Time
	services []loadline.ServiceObservation // with all pods of the time
	missing  []map[int64]bool              // by service: pods that were not scraped
	kinds    []loadline.KindObservation
}

func newHistory(t *testing.T, seed uint64) *history {
	rng := rand.New(rand.NewPCG(seed, 15))
	h := &history{t: t, seed: seed, rng: rng, now: start, unscraped: map[int64]int{}, faults: map[string]int{}}
	h.app = &loadline.App{Name: "shop", Kinds: []loadline.Kind{{Name: "buy", SLO: loadline.SLO{Percentile: 99, Latency: time.Second}}}}
	h.calm = []int{25, 60, 150}[rng.IntN(3)]
	h.deaf, h.bare = rng.IntN(4) == 0, rng.IntN(4) == 0
	h.set = guard.Defaults()
	h.set.CoolDown.Up = time.Duration(rng.IntN(2)) * time.Minute
	h.set.Gray.Span = time.Duration(1+rng.IntN(4)) * time.Minute
	h.set.Observed.Window = time.Duration(1+rng.IntN(4)) * time.Minute
	h.set.Burn.ScaleInWindow = time.Duration(1+rng.IntN(3)) * time.Minute
	for i := range 1 + rng.IntN(2) {
		s := loadline.Service{Name: fmt.Sprintf("s%d", i), Replicas: 4, Workers: rng.IntN(2) * 8,
			Bounds: loadline.Bounds{MinReplicas: rng.IntN(2), MaxReplicas: 40, MinCPU: 0.05, MaxCPU: 4, MinMemory: 1 << 20, MaxMemory: 1 << 33}}
		n := 1 + rng.IntN(30)
		if h.bare {
			n, s.Bounds.MaxReplicas = 1+rng.IntN(9), 9
		}
		h.alloc = append(h.alloc, loadline.Allocation{Replicas: n, Size: loadline.Size{CPURequest: 0.5, CPULimit: float64(1 + rng.IntN(2)),
			MemoryRequest: 100 << 20, MemoryLimit: 200 << 20}})
		if h.bare {
			h.alloc[i].Size.CPULimit = 0
		}
		h.app.Services = append(h.app.Services, s)
		h.pods = append(h.pods, nil)
		h.load = append(h.load, histLoad{cores: float64(n) * (0.1 + 0.5*rng.Float64())})
		h.fitPods(i, true)
	}
	h.shadow, h.subject = h.reference(), h.guards(h.set)
	return h
}

// reference is the guards of the uninterrupted process. Windows are made of buckets, so
// that the guards look back up to a sixth further than they are set to; the reference
// looks back that far at most. A burn over a shorter window is diluted less, by a pass
// more or less in it too, which its higher limit makes up for.
func (h *history) reference() *guard.Guarded {
	set := h.set
	set.Observed.Window = set.Observed.Window * 6 / 7
	set.Burn.ScaleInWindow = set.Burn.ScaleInWindow * 6 / 7
	set.Burn.ScaleInRate *= 2
	set.Gray.Retreat -= 2 * h.set.Burn.ScaleInWindow // it may begin that much later
	return h.guards(set)
}

func (h *history) guards(set guard.Settings) *guard.Guarded {
	g, err := guard.Around(set, h.app, nil, fixedRule{})
	if err != nil {
		h.t.Fatal(err)
	}
	return g
}

// fixedRule proposes nothing: what is wanted comes from the history.
type fixedRule struct{}

func (fixedRule) Name() string          { return "fixed" }
func (fixedRule) Needs() loadline.Needs { return loadline.Needs{Period: promiseTick, Keep: 1} }
func (fixedRule) Decide(time.Time, loadline.Situation) (loadline.Proposal, error) {
	return loadline.Proposal{}, nil
}

// fitPods creates and removes pods as the allocation says.
func (h *history) fitPods(service int, settled bool) {
	want := h.alloc[service].Replicas
	if h.alloc[service].Brownout {
		want = 0
	}
	pods := &h.pods[service]
	for len(*pods) < want {
		h.next++
		p := histPod{weight: 0.7 + 0.6*h.rng.Float64()}
		if h.bare {
			p.weight = 0.1 + 3*h.rng.Float64()
		}
		p.ID, p.Created, p.Phase = h.next, h.now, loadline.PodStarting
		if settled {
			p.Created, p.Ready, p.Phase = h.now.Add(-time.Hour), h.now.Add(-time.Hour), loadline.PodReady
		}
		*pods = append(*pods, p)
	}
	*pods = (*pods)[:want]
	for i := range *pods {
		(*pods)[i].Size = h.alloc[service].Size
	}
}

// advance the load, the pods and the clock by a tick.
func (h *history) advance() {
	h.now = h.now.Add(promiseTick)
	for i := range h.load {
		l := &h.load[i]
		switch h.rng.IntN(30) {
		case 0:
			l.step = 0.1 * l.cores * (h.rng.Float64() - 0.4) // it rises or falls for a while
		case 1:
			l.cores *= 2 + h.rng.Float64() // a burst
		case 2, 3:
			l.cores *= 0.5
		case 4:
			l.step = 0
		}
		l.cores = min(max(l.cores+l.step, 0), 60)
		for j := range h.pods[i] {
			if p := &h.pods[i][j]; p.Phase == loadline.PodStarting && h.rng.IntN(3) == 0 {
				p.Phase, p.Ready = loadline.PodReady, h.now
			}
		}
		if n := len(h.pods[i]); n > 0 && h.rng.IntN(40) == 0 { // a node is drained: a pod is replaced
			h.next++
			h.pods[i][h.rng.IntN(n)] = histPod{weight: 1, PodObservation: loadline.PodObservation{ID: h.next, Created: h.now,
				Phase: loadline.PodStarting, Size: h.alloc[i].Size}}
		}
	}
	if h.hot--; h.hot < 0 {
		h.over = 0
		if h.rng.IntN(60) == 0 && !h.deaf {
			h.over, h.hot = 0.3*h.rng.Float64(), h.rng.IntN(12)
		}
	}
	for pod, left := range h.unscraped {
		if left == 0 {
			delete(h.unscraped, pod)
		} else {
			h.unscraped[pod] = left - 1
		}
	}
	h.scrape()
}

// scrape stores what there is to be measured, and which pods were not.
func (h *history) scrape() {
	at := func(v float64) loadline.Sample { return loadline.Sample{Value: v, At: h.now} }
	tick := histTick{at: h.now, kinds: []loadline.KindObservation{{Rate: at(100), OverSLO: at(h.over)}}}
	for i := range h.app.Services {
		var o loadline.ServiceObservation
		missing := map[int64]bool{}
		weights := 0.0
		for _, p := range h.pods[i] {
			if p.Phase == loadline.PodReady {
				weights += p.weight
			}
		}
		for _, p := range h.pods[i] {
			pod := p.PodObservation
			if pod.Phase == loadline.PodReady {
				used := min(h.load[i].cores*p.weight/weights, none(pod.Size.CPULimit))
				pod.CPU, pod.Memory, pod.Busy = at(used), at(50<<20+used*(20<<20)), at(used*4)
			}
			missing[pod.ID] = h.unscraped[pod.ID] > 0
			o.Pods = append(o.Pods, pod)
		}
		tick.services = append(tick.services, o)
		tick.missing = append(tick.missing, missing)
	}
	h.ticks = append(h.ticks, tick)
	if keep := 100; len(h.ticks) > keep {
		h.ticks = slices.Delete(h.ticks, 0, len(h.ticks)-keep)
	}
}

// observe a tick, with everything or as it was scraped: a sum is one over the pods
// that were.
func (tick *histTick) observe(everything bool, skew time.Duration) loadline.Observation {
	o := loadline.Observation{At: tick.at.Add(skew), Kinds: slices.Clone(tick.kinds)}
	for i := range o.Kinds {
		shift(skew, &o.Kinds[i].Rate, &o.Kinds[i].OverSLO)
	}
	for i := range tick.services {
		s := loadline.ServiceObservation{Pods: slices.Clone(tick.services[i].Pods)}
		sum := func(v *loadline.Sample, from loadline.Sample, factor float64) {
			if from.Present() {
				*v = loadline.Sample{Value: v.Value + from.Value*factor, At: from.At}
			}
		}
		for j := range s.Pods {
			p := &s.Pods[j]
			*p = shifted(*p, skew)
			if !everything && tick.missing[i][p.ID] {
				p.CPU, p.Memory, p.Busy = loadline.Sample{}, loadline.Sample{}, loadline.Sample{}
			}
			sum(&s.CPU, p.CPU, 1)
			sum(&s.Memory, p.Memory, 1)
			sum(&s.Concurrency, p.Busy, 1)
			sum(&s.Rate, p.Busy, 10)
		}
		o.Services = append(o.Services, s)
	}
	return o
}

// shifted is a pod by another clock.
func shifted(p loadline.PodObservation, skew time.Duration) loadline.PodObservation {
	p.Created, p.Ready = p.Created.Add(skew), p.Ready.Add(skew)
	shift(skew, &p.CPU, &p.Memory, &p.Busy)
	return p
}

func shift(skew time.Duration, samples ...*loadline.Sample) {
	for _, v := range samples {
		if v.Present() {
			v.At = v.At.Add(skew)
		}
	}
}

// disturb does what goes wrong in a tick.
func (h *history) disturb() {
	switch h.rng.IntN(h.calm) {
	case 0: // a kubelet is not scraped for a while
		h.faults["pods not scraped"]++
		share := h.rng.Float64()
		for i := range h.pods {
			for _, p := range h.pods[i] {
				if h.rng.Float64() < share {
					h.unscraped[p.ID] = 1 + h.rng.IntN(12)
				}
			}
		}
	case 1: // one pod is not
		h.faults["one pod not scraped"]++
		for i := range h.pods {
			if n := len(h.pods[i]); n > 0 {
				h.unscraped[h.pods[i][h.rng.IntN(n)].ID] = 1 + h.rng.IntN(4)
			}
		}
	case 2:
		if h.clockHolds() {
			h.faults["restart"]++
			h.subject = nil
		}
	case 3: // another process takes over after a while
		if h.clockHolds() {
			h.faults["leader change"]++
			h.subject, h.down = nil, 1+h.rng.IntN(8)
		}
	case 4:
		h.edit()
	case 5: // the clocks of all machines are set
		h.faults["clock step"]++
		if h.subject == nil {
			return // see docs/guard.md: not while the process is down
		}
		h.skew += []time.Duration{-time.Hour, -40 * time.Second, 70 * time.Second, 10 * time.Minute}[h.rng.IntN(4)]
		h.steppedAt = h.now
	}
}

// clockHolds reports whether the clock has not been set for so long that a new process
// finds everything in Prometheus that it looks for. See docs/guard.md: a restart soon
// after may miss a burn.
func (h *history) clockHolds() bool {
	return h.steppedAt.IsZero() || h.now.Sub(h.steppedAt) > 6*time.Minute
}

// edit changes the resource: the process starts its guards anew and hands on what they
// know.
func (h *history) edit() {
	if h.subject == nil {
		return
	}
	h.faults["edit"]++
	switch h.rng.IntN(4) {
	case 0:
		if !h.bare {
			h.app.Services[0].Bounds.MaxReplicas = 5 + h.rng.IntN(40)
		}
	case 1:
		h.set.Step.DownPercent = float64(5 + h.rng.IntN(50))
	case 2:
		h.set.Gray.Part = 0.2 + 0.7*h.rng.Float64()
	case 3:
		h.set.CoolDown.Down = time.Duration(1+h.rng.IntN(5)) * time.Minute
	}
	m := h.shadow.Memory(h.now)
	h.shadow = h.reference()
	h.shadow.Resume(m, h.now, h.now)
	now := h.now.Add(h.skew)
	m = h.subject.Memory(now)
	h.subject = h.guards(h.set)
	h.subject.Resume(m, now, now)
}

// want is what some policy proposes: often far too little.
func (h *history) want(service int) loadline.Setting {
	var set loadline.Setting
	is := &h.alloc[service]
	switch h.rng.IntN(6) {
	case 0:
		set.Replicas = loadline.Some(is.Replicas + h.rng.IntN(10))
	case 1, 2, 3:
		set.Replicas = loadline.Some(h.rng.IntN(is.Replicas + 1))
	}
	if h.rng.IntN(4) == 0 && !h.bare {
		set.CPULimit = loadline.Some(is.Size.CPULimit * (0.3 + h.rng.Float64()))
		set.MemoryLimit = loadline.Some(int64(float64(is.Size.MemoryLimit) * (0.3 + h.rng.Float64())))
	}
	return set
}

// revive starts the subject's process again: it has the status and what Prometheus
// has stored.
func (h *history) revive() {
	m := guard.Memory{At: h.saved.At, Services: h.saved.Services, Kinds: h.saved.Kinds, Brownout: h.saved.Brownout}
	h.subject = h.guards(h.set)
	now := h.now.Add(h.skew)
	from := h.subject.ReplayFrom(m, now)
	h.subject.Resume(m, from, now)
	for i := range h.ticks[:len(h.ticks)-1] {
		tick := &h.ticks[i]
		at := tick.at.Add(h.skew)
		if h.deaf || at.Before(from) || !at.Before(now) || tick.at.Before(h.steppedAt) {
			continue // samples with the time of another clock are not found
		}
		then := tick.observe(false, h.skew)
		o := loadline.Observation{At: at, Kinds: then.Kinds}
		for s := range h.app.Services {
			seen := then.Services[s] // the sums have all pods of the time
			seen.Pods = nil
			for _, p := range h.pods[s] { // the API has those of now
				pod := shifted(p.PodObservation, h.skew)
				for _, old := range then.Services[s].Pods {
					if old.ID == p.ID {
						pod.CPU, pod.Memory, pod.Busy = old.CPU, old.Memory, old.Busy
					}
				}
				seen.Pods = append(seen.Pods, pod)
			}
			guard.AsOf(&seen, at, m.ReducedSince(h.app.Services[s].Name, at))
			o.Services = append(o.Services, seen)
		}
		h.subject.Replay(at, &o, h.alloc)
	}
}

// decide asks one process's guards about a situation.
func decide(g *guard.Guarded, now time.Time, app *loadline.App, o loadline.Observation, is []loadline.Allocation,
	want []loadline.Setting) (s loadline.Situation, got []loadline.Setting, said [][]string) {
	o.Services = slices.Clone(o.Services)
	g.Filter(now, &o)
	s = loadline.Situation{App: app, Window: []loadline.Observation{o}, Allocation: is, InFlight: is}
	for _, guard := range g.Guards {
		if w, ok := guard.(loop.Watcher); ok {
			w.Watch(now, s)
		}
	}
	got, said = slices.Clone(want), make([][]string, len(want))
	for i := range got {
		for _, guard := range g.Guards {
			to, why := guard.Check(now, s, i, got[i])
			if to != got[i] {
				said[i] = append(said[i], guard.Name()+": "+why)
			}
			got[i] = to
		}
	}
	return s, got, said
}

// watching reports whether the uninterrupted process watches a reduction of the service
// or has taken one back. At other times the two may be at different steps: one may take
// a short first step where the other takes the rest of a planned one.
func (h *history) watching(service int) bool {
	w := h.shadow.Memory(h.now).Services[h.app.Services[service].Name].Watch
	return w != nil && (w.Stage == "first" || w.Stage == "second" || w.Stage == "reverted")
}

// ungraded is what is allowed if a whole reduction may follow in one step.
func ungraded(g *guard.Guarded, now time.Time, s loadline.Situation, service int, want loadline.Setting) loadline.Setting {
	for _, guard := range g.Guards {
		if guard.Name() != "gray" {
			want, _ = guard.Check(now, s, service, want)
		}
	}
	return want
}

func decided(g *guard.Guarded, now time.Time, s loadline.Situation, plan loadline.Plan) {
	for _, guard := range g.Guards {
		if w, ok := guard.(loop.Watcher); ok {
			w.Decided(now, s, plan)
		}
	}
}

// pass makes one pass of both processes and compares what they allow.
func (h *history) pass() {
	tick := &h.ticks[len(h.ticks)-1]
	if h.subject == nil {
		if h.down > 0 {
			h.down--
			s, _, _ := decide(h.shadow, h.now, h.app, tick.observe(true, 0), h.alloc, nil)
			decided(h.shadow, h.now, s, loadline.Plan{})
			return
		}
		h.revive()
	}
	now := h.now.Add(h.skew)
	want := make([]loadline.Setting, len(h.app.Services))
	for i := range want {
		want[i] = h.want(i)
	}
	whole, reference, theirs := decide(h.shadow, h.now, h.app, tick.observe(true, 0), h.alloc, want)
	partial, allowed, ours := decide(h.subject, now, h.app, tick.observe(false, h.skew), h.alloc, want)
	var plan loadline.Plan
	for i := range want {
		is := h.alloc[i]
		least := is.With(reference[i])
		if below(is.With(allowed[i]), least) && !h.watching(i) {
			least = is.With(ungraded(h.shadow, h.now, whole, i, want[i]))
		}
		h.compare(i, want[i], is.With(allowed[i]), least, ours[i], theirs[i])
		if change := h.alloc[i].Changes(allowed[i]); !change.Empty() {
			plan.Services = append(plan.Services, loadline.ServicePlan{Service: i, Setting: change})
		}
	}
	decided(h.subject, now, partial, plan)
	if len(plan.Services) > 0 || h.rng.IntN(2) == 0 {
		h.saved = h.subject.Memory(now) // before anything is applied
	}
	if h.rng.IntN(50) == 0 && h.clockHolds() {
		h.faults["killed before applying"]++
		h.subject = nil
		decided(h.shadow, h.now, whole, loadline.Plan{})
		return
	}
	decided(h.shadow, h.now, whole, plan)
	for _, p := range plan.Services {
		was := h.alloc[p.Service]
		h.alloc[p.Service] = was.With(p.Setting)
		if less(was, h.alloc[p.Service]) {
			h.falls++
		}
		h.fitPods(p.Service, false)
	}
}

// compare what is allowed with what an uninterrupted, fully informed process allows.
func (h *history) compare(service int, want loadline.Setting, allowed, reference loadline.Allocation, ours, theirs []string) {
	is := h.alloc[service]
	if below(allowed, reference) {
		h.t.Fatalf("case %d at %v: service %d has %+v, %+v is wanted, and %+v is allowed, below the %+v of an uninterrupted process "+
			"(faults so far: %v)\nits guards: %q\nthose of the uninterrupted process: %q", h.seed, h.now.Sub(start), service, is, want,
			allowed, reference, h.faults, ours, theirs)
	}
}

// below reports whether an allocation is less than another on any axis.
func below(a, than loadline.Allocation) bool {
	return a.Replicas < than.Replicas ||
		a.Size.CPURequest < than.Size.CPURequest-1e-9 || none(a.Size.CPULimit) < none(than.Size.CPULimit)-1e-9 ||
		a.Size.MemoryRequest < than.Size.MemoryRequest || none(a.Size.MemoryLimit) < none(than.Size.MemoryLimit) ||
		a.Brownout && !than.Brownout
}

// TestPromise: over thousands of random histories of faults, nothing is allowed that an
// uninterrupted process with all samples would not have allowed.
func TestPromise(t *testing.T) {
	cases, ticks := 2000, 75
	if n, err := strconv.Atoi(os.Getenv("LOADLINE_PROMISE_CASES")); err == nil {
		cases = n
	}
	faults, falls := map[string]int{}, 0
	for seed := range uint64(cases) {
		h := newHistory(t, seed)
		for range ticks {
			h.advance()
			h.disturb()
			h.pass()
		}
		for name, n := range h.faults {
			faults[name] += n
		}
		falls += h.falls
		if t.Failed() {
			return
		}
	}
	t.Logf("%d histories with %d reductions and these faults: %v", cases, falls, faults)
	if falls < cases || len(faults) < 7 {
		t.Errorf("too little happened to prove anything: %d reductions, faults %v", falls, faults)
	}
}
