package policy

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/loadline/loadline"
)

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
