package policy

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
)

var plannerStart = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// shop is a front door that calls a backend twice. The application's model has no figures of
// CPU: the planner starts without any.
func shop(services int) *loadline.App {
	app := &loadline.App{Name: "shop"}
	for i := range services {
		app.Services = append(app.Services, loadline.Service{
			Name: "s" + string(rune('a'+i%26)) + string(rune('a'+i/26)), Replicas: 4, Workers: 100,
			Size:   loadline.Size{CPURequest: 0.2, CPULimit: 0.4},
			Bounds: loadline.Bounds{MinReplicas: 1, MaxReplicas: 500, MinCPU: 0.02, MaxCPU: 2},
		})
	}
	app.Kinds = []loadline.Kind{{Name: "get", Share: 1, SLO: loadline.SLO{Percentile: 99, Latency: 250 * time.Millisecond}}}
	return app
}

// shopRun is a synthetic application with known figures under a planner: service i has i+1 visits
// of a request, each of 5 ms of CPU, and 10m of idle CPU.
type shopRun struct {
	app    *loadline.App
	policy loadline.Policy
	alloc  []loadline.Allocation
	o      loadline.Observation
	now    time.Time
	over   float64

	announced   []loadline.Event
	constraints loadline.Constraints
}

const shopCost, shopIdle = 0.005, 0.01

func newShopRun(t testing.TB, spec string, services int) *shopRun {
	t.Helper()
	app := shop(services)
	policy, err := New(spec, app)
	if err != nil {
		t.Fatal(err)
	}
	r := &shopRun{app: app, policy: policy, now: plannerStart}
	for _, s := range app.Services {
		r.alloc = append(r.alloc, loadline.Allocation{Replicas: s.Replicas, Size: s.Size})
	}
	r.o = loadline.Observation{Services: make([]loadline.ServiceObservation, services), Kinds: make([]loadline.KindObservation, 1)}
	return r
}

// observe a load: pods follow the allocation at once.
func (r *shopRun) observe(load float64) *loadline.Observation {
	r.now = r.now.Add(15 * time.Second)
	sample := func(v float64) loadline.Sample { return loadline.Sample{Value: v, At: r.now} }
	r.o.At = r.now
	r.o.Kinds[0] = loadline.KindObservation{Rate: sample(load), OverSLO: sample(r.over), AtSLO: sample(0.2)}
	for i := range r.o.Services {
		s, rate := &r.o.Services[i], load*float64(i+1)
		pods := s.Pods[:0]
		for n := range r.alloc[i].Replicas {
			pods = append(pods, loadline.PodObservation{
				ID: int64(n), Phase: loadline.PodReady, Created: plannerStart.Add(-time.Hour), Ready: plannerStart.Add(-time.Hour),
				Size: r.alloc[i].Size,
			})
		}
		*s = loadline.ServiceObservation{
			Rate: sample(rate), CPU: sample(shopIdle*float64(len(pods)) + shopCost*rate), Concurrency: sample(rate * 0.02),
			Queue: sample(0), Throttled: sample(0), Own: loadline.Latency{Mean: sample(0.01)}, Pods: pods,
		}
	}
	return &r.o
}

func (r *shopRun) decide() (loadline.Proposal, error) {
	return r.policy.Decide(r.now, loadline.Situation{App: r.app, Window: []loadline.Observation{r.o}, Allocation: r.alloc, InFlight: r.alloc,
		Announced: r.announced, Constraints: r.constraints})
}

// step observes, decides and applies.
func (r *shopRun) step(t testing.TB, load float64) loadline.Proposal {
	t.Helper()
	r.observe(load)
	proposal, err := r.decide()
	if err != nil {
		t.Fatal(err)
	}
	for _, sp := range proposal.Services {
		r.alloc[sp.Service] = r.alloc[sp.Service].With(sp.Setting)
	}
	return proposal
}

func TestFeedbackDoesNotWindUp(t *testing.T) {
	burning, calm := attainment{known: true, over: 0.3, latency: 3}, attainment{known: true, latency: 0.2}
	var m margin
	for range 1000 {
		m.adjust(burning, limitCPU, true)
		m.adjust(burning, limitElsewhere, false)
		m.adjust(attainment{}, limitCPU, false)
	}
	if m != 0 {
		t.Errorf("margin %v while pods are on their way, where they would not help, or nothing is known", m)
	}
	for range 1000 {
		m.adjust(burning, limitCPU, false)
	}
	if m != mostMargin {
		t.Errorf("margin %v after burning for hours, want %v", m, mostMargin)
	}
	decisions := 0
	for ; m > 0; decisions++ {
		m.adjust(calm, limitElsewhere, false)
	}
	if decisions > 200 {
		t.Errorf("the margin took %d decisions to fade", decisions)
	}
	for range 1000 {
		m.adjust(calm, limitElsewhere, false)
	}
	if m != leastMargin {
		t.Errorf("margin %v after hours far from the SLO, want %v", m, leastMargin)
	}
	m.adjust(burning, limitCPU, false)
	if m <= 0 {
		t.Errorf("margin %v after a burn: the credit must be gone at once", m)
	}
}

func TestLimitOfAService(t *testing.T) {
	at := func(v float64) loadline.Sample { return loadline.Sample{Value: v, At: plannerStart} }
	pods := []loadline.PodObservation{{Phase: loadline.PodReady}, {Phase: loadline.PodReady}}
	service := &loadline.Service{Workers: 10}
	usual := serviceDemand{own: 0.01}
	for _, c := range []struct {
		name string
		seen loadline.ServiceObservation
		want limitation
	}{
		{"idle", loadline.ServiceObservation{CPU: at(0.1), Concurrency: at(2)}, limitElsewhere},
		{"waits for a slow callee", loadline.ServiceObservation{CPU: at(0.1), Concurrency: at(12),
			Own: loadline.Latency{Mean: at(0.011)}}, limitElsewhere},
		{"uses its CPU", loadline.ServiceObservation{CPU: at(0.39), Concurrency: at(2)}, limitCPU},
		{"is throttled", loadline.ServiceObservation{CPU: at(0.1), Throttled: at(0.2)}, limitCPU},
		{"is slow itself", loadline.ServiceObservation{CPU: at(0.1), Own: loadline.Latency{Mean: at(0.03)}}, limitCPU},
		{"has busy workers", loadline.ServiceObservation{CPU: at(0.1), Concurrency: at(19)}, limitWorkers},
		{"has a queue", loadline.ServiceObservation{CPU: at(0.1), Concurrency: at(10), Queue: at(4)}, limitWorkers},
	} {
		c.seen.Pods = pods
		if got := limitOf(service, &c.seen, &usual, 0.2); got != c.want {
			t.Errorf("%s: limit %v, want %v", c.name, got, c.want)
		}
	}
}

func TestPlannerGivesWorkersWhereTheyAreTheLimit(t *testing.T) {
	r := newShopRun(t, "planner:vertical=off,feedback=off,forecast=off", 1)
	r.app.Services[0].Workers = 4
	var proposal loadline.Proposal
	for range 40 {
		r.observe(100)
		r.o.Services[0].Concurrency.Value = 30 // 300 ms each
		p, err := r.decide()
		if err != nil {
			t.Fatal(err)
		}
		r.alloc[0] = r.alloc[0].With(p.Services[0].Setting)
		proposal = p
	}
	if want := whole(30 / (0.7 * 4)); r.alloc[0].Replicas != want {
		t.Errorf("%d replicas for 30 busy workers of 4 each, want %d", r.alloc[0].Replicas, want)
	}
	if reason := proposal.Services[0].Reason; !strings.Contains(reason, "by their workers") {
		t.Errorf("reason %q does not name the workers", reason)
	}
}

func TestPlannerDoesNotScaleDownOnMissingData(t *testing.T) {
	for _, c := range []struct {
		name string
		lose func(o *loadline.Observation)
	}{
		{"a service's rate is absent", func(o *loadline.Observation) { o.Services[1].Rate = loadline.Sample{} }},
		{"a service's CPU is absent", func(o *loadline.Observation) { o.Services[1].CPU = loadline.Sample{} }},
		{"a service's rate is NaN", func(o *loadline.Observation) { o.Services[1].Rate.Value = math.NaN() }},
		{"a service's CPU is NaN", func(o *loadline.Observation) { o.Services[1].CPU.Value = math.NaN() }},
		{"users' rate is absent", func(o *loadline.Observation) { o.Kinds[0].Rate = loadline.Sample{} }},
		{"users' rate is NaN", func(o *loadline.Observation) { o.Kinds[0].Rate.Value = math.NaN() }},
	} {
		r := newShopRun(t, "planner:down-window=0s", 2)
		for range 40 {
			r.step(t, 400)
		}
		before := r.alloc[1]
		for range 20 {
			r.observe(20)
			c.lose(&r.o)
			proposal, err := r.decide()
			if err != nil && !errors.Is(err, loadline.ErrNoData) {
				t.Fatal(err)
			}
			for _, sp := range proposal.Services {
				if sp.Service == 1 && sp.Setting.Replicas.Or(before.Replicas) < before.Replicas {
					t.Fatalf("%s: %d replicas, were %d: %s", c.name, sp.Setting.Replicas.Value, before.Replicas, sp.Reason)
				}
			}
		}
		for range 20 {
			r.step(t, 20)
		}
		if r.alloc[1].Replicas >= before.Replicas/4 {
			t.Errorf("%s: %d replicas once everything is measured again, were %d", c.name, r.alloc[1].Replicas, before.Replicas)
		}
	}
}

// plannerIn is the planner within its settings.
func plannerIn(p loadline.Policy) *Planner {
	if around, ok := p.(*setUp); ok {
		return plannerIn(around.Policy)
	}
	return p.(*Planner)
}

func TestPlannerStatesItsArithmetic(t *testing.T) {
	r := newShopRun(t, "planner:vertical=off,feedback=off,lead=1m", 1)
	var proposal loadline.Proposal
	for range 100 {
		proposal = r.step(t, 100)
	}
	r.observe(300)
	proposal, _ = r.decide()
	reason := proposal.Services[0].Reason
	if e := proposal.Services[0].Expects; e.Within != time.Minute || e.Rate < 300 {
		t.Errorf("it is for %+v", e)
	}
	for _, part := range []string{"forecast ", " req/s in 60 s (now 300), capacity of ", " replicas "} {
		if !strings.Contains(reason, part) {
			t.Errorf("reason %q lacks %q", reason, part)
		}
	}
}

func TestPlannerModelsDoNotAllocate(t *testing.T) {
	r := newShopRun(t, "planner:reserve=on", 50) // with limits that are lifted, as by default
	for range 200 {
		r.step(t, 100)
	}
	p := plannerIn(r.policy)
	r.observe(100)
	if n := testing.AllocsPerRun(100, func() {
		r.now = r.now.Add(time.Second)
		p.load.learn(r.now, 100)
		for i := range p.services {
			seen := &r.o.Services[i]
			p.services[i].demand.learn(r.now, seen, 100, 15, false)
			p.services[i].starts.learn(r.now, seen.Pods)
			p.services[i].margin.adjust(attainment{known: true}, limitCPU, false)
		}
	}); n > 0.1 { // a moment is kept once a minute, in a slice that grows up to a week's
		t.Errorf("the models allocate %.2f times in a decision", n)
	}
	if n := testing.AllocsPerRun(100, func() {
		r.now = r.now.Add(15 * time.Second)
		if _, err := r.decide(); err != nil {
			t.Fatal(err)
		}
	}); n > 3 { // the proposal and its reasons, which belong to the caller, and the window of this test
		t.Errorf("a decision for 50 services allocates %.0f times, want twice", n)
	}
}

// BenchmarkPlannerRound is one decision for 50 services with a week of moments; the limit is 1 ms.
func BenchmarkPlannerRound(b *testing.B) {
	r := newShopRun(b, "planner:limits=keep", 50)
	series := growthSeries(1, 1000)
	p := r.policy.(*Planner)
	for i := range mostAnalogs {
		r.now = r.now.Add(time.Minute)
		p.load.learn(r.now, series[i%len(series)])
	}
	for i := range 100 {
		r.step(b, series[i])
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		r.now = r.now.Add(15 * time.Second)
		r.o.Kinds[0].Rate.Value = series[i%len(series)]
		if _, err := r.decide(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(100*float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(time.Millisecond), "%-of-limit")
}
