package policy

import (
	"errors"
	"math"
	"math/rand/v2"
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

func TestCPUModelRecoversCostAndIdleCPU(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var m cpuModel
	m.begin(0, 0)
	for range 400 {
		pods, rate := float64(2+rng.IntN(20)), 20+180*rng.Float64()
		m.learn(pods, rate, (0.015*pods+0.004*rate)*(1+0.02*rng.NormFloat64()), 15)
	}
	if math.Abs(m.cost/0.004-1) > 0.05 || math.Abs(m.idle/0.015-1) > 0.2 {
		t.Errorf("cost %.5f, want 0.004; idle %.4f, want 0.015", m.cost, m.idle)
	}
	for range 60 { // a release that costs twice as much: 15 minutes
		pods, rate := float64(2+rng.IntN(20)), 20+180*rng.Float64()
		m.learn(pods, rate, 0.015*pods+0.008*rate, 15)
	}
	if math.Abs(m.cost/0.008-1) > 0.1 {
		t.Errorf("cost %.5f 15 minutes after it became 0.008", m.cost)
	}
}

func TestDemandIsFrozenWhileWorkPilesUp(t *testing.T) {
	at := func(v float64) loadline.Sample { return loadline.Sample{Value: v, At: plannerStart} }
	calm := loadline.ServiceObservation{Rate: at(200), CPU: at(1), Concurrency: at(4), Throttled: at(0), Queue: at(0),
		Pods: []loadline.PodObservation{{Phase: loadline.PodReady}}}
	throttled, queued := calm, calm
	throttled.Throttled, throttled.CPU = at(0.3), at(0.5)
	queued.Queue, queued.CPU = at(3), at(0.5)
	saturated := calm
	saturated.CPU, saturated.Rate = at(0.3), at(80)
	for _, c := range []struct {
		name    string
		seen    loadline.ServiceObservation
		burning bool
	}{
		{"pods are throttled", throttled, false}, {"visits wait for workers", queued, false}, {"the SLO is not met", saturated, true},
	} {
		var d serviceDemand
		d.cpu.begin(0, 0)
		now := plannerStart
		for range 100 {
			now = now.Add(15 * time.Second)
			d.learn(now, &calm, 100, 15, false)
		}
		before := d
		for range 60 {
			now = now.Add(15 * time.Second)
			d.learn(now, &c.seen, 100, 15, c.burning)
		}
		if d.cpu != before.cpu || d.visits != before.visits || d.stay != before.stay {
			t.Errorf("%s: learned cost %v, was %v; visits %v, were %v", c.name, d.cpu.cost, before.cpu.cost, d.visits, before.visits)
		}
		dearer := c.seen
		dearer.CPU, dearer.Rate = at(4), at(200)
		d = before
		for i := range 60 {
			now = now.Add(15 * time.Second)
			d.learn(now, &dearer, 100, 15, true)
			if i == 5 && d.cpu != before.cpu {
				t.Errorf("%s: a backlog that is worked off was learned", c.name)
			}
		}
		if d.cpu.predict(1, 200) < 3 {
			t.Errorf("%s: 4 cores for 15 minutes, %.2f learned", c.name, d.cpu.predict(1, 200))
		}
	}
}

func TestVisitsOfTheFrontDoorScaleTheWholeGraphAtOnce(t *testing.T) {
	r := newShopRun(t, "planner:vertical=off,feedback=off,forecast=off", 3)
	for range 40 {
		r.step(t, 100)
	}
	for i := range r.app.Services {
		// 5 ms * visits / (0.2 * 0.9 - 0.01) cores
		if want := whole(100 * float64(i+1) * shopCost / 0.17); r.alloc[i].Replicas != want {
			t.Errorf("service %d: %d replicas at 100 req/s, want %d", i, r.alloc[i].Replicas, want)
		}
	}
	r.observe(400)
	for i := 1; i < 3; i++ { // the visits have not arrived yet: the front door is saturated
		r.o.Services[i].Rate.Value /= 4
	}
	proposal, err := r.decide()
	if err != nil {
		t.Fatal(err)
	}
	for i := range proposal.Services {
		got, want := proposal.Services[i].Setting.Replicas.Value, whole(400*float64(i+1)*shopCost/0.17)
		if math.Abs(float64(got-want)) > 1+0.06*float64(want) {
			t.Errorf("service %d: %d replicas at 400 req/s, want %d", i, got, want)
		}
	}
}

// TestPlannerFollowsAMixThatMoves: requests of kind buy visit the second service ten times, at twice
// the CPU, those of kind get once. Their share rises from a tenth to a half.
func TestPlannerFollowsAMixThatMoves(t *testing.T) {
	r := newShopRun(t, "planner:vertical=off,feedback=off,forecast=off,limits=keep,down-window=0s", 2)
	cheap := loadline.Call{Service: 1, Probability: 1, Times: 1, Work: 1}
	dear := loadline.Call{Service: 1, Probability: 1, Times: 10, Work: 2}
	slo := r.app.Kinds[0].SLO
	r.app.Services[0].CPU.Mean, r.app.Services[1].CPU.Mean = 5*time.Millisecond, 5*time.Millisecond
	r.app.Kinds = []loadline.Kind{
		{Name: "get", Share: 0.9, SLO: slo, Root: loadline.Call{Probability: 1, Times: 1, Work: 1, Stages: [][]loadline.Call{{cheap}}}},
		{Name: "buy", Share: 0.1, SLO: slo, Root: loadline.Call{Probability: 1, Times: 1, Work: 1, Stages: [][]loadline.Call{{dear}}}},
	}
	var err error
	if r.policy, err = New("planner:vertical=off,feedback=off,forecast=off,limits=keep,down-window=0s", r.app); err != nil {
		t.Fatal(err)
	}
	r.o.Kinds = make([]loadline.KindObservation, 2)
	step := func(buy float64, arrived bool) {
		r.observe(100)
		sample := func(v float64) loadline.Sample { return loadline.Sample{Value: v, At: r.now} }
		r.o.Kinds[0].Rate, r.o.Kinds[1] = sample(100*(1-buy)), r.o.Kinds[0]
		r.o.Kinds[1].Rate = sample(100 * buy)
		if !arrived { // the second service still shows the mix of before
			buy = 0.1
		}
		visits, work := 100*(1-buy)+1000*buy, 100*(1-buy)+2000*buy
		pods := float64(len(r.o.Services[1].Pods))
		r.o.Services[1].Rate, r.o.Services[1].CPU = sample(visits), sample(shopIdle*pods+shopCost*work)
		proposal, err := r.decide()
		if err != nil {
			t.Fatal(err)
		}
		for _, sp := range proposal.Services {
			r.alloc[sp.Service] = r.alloc[sp.Service].With(sp.Setting)
		}
	}
	near := func(what string, work float64) {
		t.Helper()
		if got, want := r.alloc[1].Replicas, whole(work*shopCost/0.17); math.Abs(float64(got-want)) > 1+0.15*float64(want) {
			t.Errorf("%s: %d replicas, want %d", what, got, want)
		}
	}
	for range 60 {
		step(0.1, true)
	}
	near("a tenth", 290)
	for range 6 {
		step(0.5, false)
	}
	if got, least := r.alloc[1].Replicas, whole(580*shopCost/0.17); got < least {
		t.Errorf("90 s after the mix moved, before its visits are seen: %d replicas, want at least %d", got, least)
	}
	for range 60 {
		step(0.5, true)
	}
	near("a half", 1050)
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

func TestPlannerSizesPodsForTheirIdleCPU(t *testing.T) {
	r := newShopRun(t, "planner:feedback=off,forecast=off", 1)
	r.alloc[0].Size.CPURequest, r.alloc[0].Size.MemoryLimit = 0.05, 100<<20
	resized := 0
	for range 480 {
		for _, sp := range r.step(t, 400).Services {
			if sp.Setting.CPURequest.Set {
				resized++
			}
		}
	}
	// Pods have 0.9 of their request less 0.01 cores for 2 cores of demand, and half of one is spare.
	cost := func(request float64) float64 { return (2/(request*0.9-0.01) + 0.5) * request }
	least := math.Inf(1)
	for request := 0.02; request < 0.5; request += 0.01 {
		least = min(least, cost(request))
	}
	if got := r.alloc[0].Size.CPURequest; cost(got) > 1.05*least || cost(0.05) < 1.05*least {
		t.Errorf("request %.3f costs %.2f cores, want at most 5 %% more than %.2f", got, cost(got), least)
	}
	if got, want := r.alloc[0].Size.MemoryLimit>>20, int64(100*r.alloc[0].Size.CPURequest/0.05); math.Abs(float64(got-want)) > 8 {
		t.Errorf("memory limit %d MiB with %v cores, was 100 MiB with 0.05", got, r.alloc[0].Size.CPURequest)
	}
	if resized > 8 {
		t.Errorf("%d resizes within two hours of constant load, at most every 15 minutes", resized)
	}
	if got, want := r.alloc[0].Replicas, whole(2/(r.alloc[0].Size.CPURequest*0.9-0.01)); math.Abs(float64(got-want)) > 1 {
		t.Errorf("%d replicas of that size, want %d", got, want)
	}
}

func TestPlannerGivesUpResizesThatAreNotApplied(t *testing.T) {
	r := newShopRun(t, "planner:feedback=off,forecast=off", 1)
	r.alloc[0].Size.CPURequest = 0.05
	proposed := 0
	for range 400 {
		size := r.alloc[0].Size
		for _, sp := range r.step(t, 400).Services {
			if sp.Setting.CPURequest.Set {
				proposed++
			}
		}
		r.alloc[0].Size = size // the axes allow replicas only
	}
	if proposed != 1 {
		t.Errorf("%d resizes proposed, want one", proposed)
	}
	if got, want := r.alloc[0].Replicas, whole(2/(0.05*0.9-0.01)); math.Abs(float64(got-want)) > 0.1*float64(want) {
		t.Errorf("%d replicas at the present size, want %d", got, want)
	}
}

// TestPlannerReservesRoomForTheLoadUntilANodeHasCome: pods start within 5 s, and loads of 100 req/s
// have risen by 50 in each 15 s before, up to 400.
func TestPlannerReservesRoomForTheLoadUntilANodeHasCome(t *testing.T) {
	for _, spec := range []string{"planner:reserve=on,vertical=off,feedback=off", "planner:vertical=off,feedback=off", "planner:reserve=3"} {
		r := newShopRun(t, spec, 2)
		p := plannerIn(r.policy)
		at := plannerStart.Add(-4 * time.Hour)
		for i := range 4 * 240 {
			load := 100.0
			if in := i % 40; in >= 28 {
				load = 100 + 50*float64(min(in-27, 6))
			}
			p.load.learn(at.Add(time.Duration(i)*15*time.Second), load)
		}
		for i := range p.services {
			for range 400 {
				p.services[i].starts.add(plannerStart, 5)
			}
		}
		var proposal loadline.Proposal
		for range 18 { // the replicas of the start are gone after the down-window
			proposal = r.step(t, 100)
		}
		if spec != "planner:reserve=on,vertical=off,feedback=off" {
			if proposal.Reserve.Set || r.policy.Needs().Reserve != 3 && spec == "planner:reserve=3" {
				t.Errorf("%s: reserve %+v, constant %v", spec, proposal.Reserve, r.policy.Needs().Reserve)
			}
			continue
		}
		// 5 ms * visits / (0.2 * 0.9 - 0.01) cores, at 350 req/s for both services: within 75 s.
		needed, have := 0.0, 0.0
		for i := range r.alloc {
			needed += 0.2 * float64(whole(350*float64(i+1)*shopCost/0.17))
			have += 0.2 * float64(r.alloc[i].Replicas)
		}
		room := proposal.Reserve.Value.Cores
		if !proposal.Reserve.Set || room < needed-have-0.5 || room > 1.3*needed-have || room < 1 {
			t.Errorf("%s: %.1f cores in reserve beside %.1f of pods, want %.1f together", spec, room, have, needed)
		}
	}
}

// TestPlannerProposesAReserveWhereOneIsHeld: without the setting reserve it is up to the cluster.
func TestPlannerProposesAReserveWhereOneIsHeld(t *testing.T) {
	for _, c := range []struct {
		spec       string
		held, want bool
	}{
		{"planner", false, false}, {"planner", true, true}, {"planner:limits=keep", true, true}, {"planner:reserve=off", true, false},
		{"planner:reserve=on", false, true}, {"planner:reserve=3", true, false},
	} {
		r := newShopRun(t, c.spec, 2)
		proposer, ok := r.policy.(interface{ ProposeReserve(held bool) })
		if !ok {
			t.Fatalf("%s: %T cannot be told of a reserve", c.spec, r.policy)
		}
		if got := r.step(t, 100).Reserve.Set; got != (c.spec == "planner:reserve=on") {
			t.Errorf("%s: a reserve is proposed before one is held: %v", c.spec, got)
		}
		proposer.ProposeReserve(c.held)
		if got := r.step(t, 100).Reserve.Set; got != c.want {
			t.Errorf("%s, held: %v: a reserve is proposed: %v", c.spec, c.held, got)
		}
		proposer.ProposeReserve(false)
		if got := r.step(t, 100).Reserve.Set; got != (c.spec == "planner:reserve=on") {
			t.Errorf("%s: a reserve is proposed that nobody holds: %v", c.spec, got)
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

// TestPlannerDoesNotTakeStartsForLoad: while a pod starts, and until its start has left the window,
// CPU is not learned; visits are.
func TestPlannerDoesNotTakeStartsForLoad(t *testing.T) {
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	at := func(v float64) loadline.Sample { return loadline.Sample{Value: v, At: now} }
	pod := func(phase loadline.PodPhase, ready time.Time) loadline.PodObservation {
		return loadline.PodObservation{Phase: phase, Created: now.Add(-time.Hour), Ready: ready}
	}
	for _, c := range []struct {
		name   string
		pod    loadline.PodObservation
		learns bool
	}{
		{"a pod starts", pod(loadline.PodStarting, time.Time{}), false},
		{"a pod has just started", pod(loadline.PodReady, now.Add(-5*time.Second)), false},
		{"all pods are ready for long", pod(loadline.PodReady, now.Add(-time.Minute)), true},
	} {
		d := serviceDemand{cpu: cpuModel{cost: 0.01, known: true}}
		seen := &loadline.ServiceObservation{
			Rate: at(100), CPU: at(3),
			Pods: []loadline.PodObservation{pod(loadline.PodReady, now.Add(-time.Hour)), c.pod},
		}
		before := d.cpu
		d.learn(now, seen, 50, 15, false)
		if learned := d.cpu != before; learned != c.learns {
			t.Errorf("%s: CPU is learned: %v", c.name, learned)
		}
		if ratio, known := d.visits.of(); !known || math.Abs(ratio-2) > 0.01 {
			t.Errorf("%s: visits %v, %v", c.name, ratio, known)
		}
	}
}
