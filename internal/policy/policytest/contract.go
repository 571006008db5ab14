// Package policytest is the contract suite of all policies, in any package.
package policytest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/loop"
	"github.com/loadline/loadline/internal/policy"
)

var start = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// Contract tests the policy of a spec, for the application App.
func Contract(t *testing.T, spec string) {
	t.Run("has a name and a cadence", func(t *testing.T) { contractNeeds(t, spec) })
	t.Run("same situations give same proposals", func(t *testing.T) { contractDeterministic(t, spec) })
	t.Run("holds on absent data", func(t *testing.T) { contractAbsent(t, spec) })
	t.Run("stays within bounds after the clamp", func(t *testing.T) { contractBounds(t, spec) })
	t.Run("keeps and changes nothing it was shown", func(t *testing.T) { contractBorrowed(t, spec) })
}

// App is the application that policies are tested on.
func App() *loadline.App {
	app := &loadline.App{Name: "contract"}
	for i := range 3 {
		app.Services = append(app.Services, loadline.Service{
			Name: fmt.Sprintf("s%d", i), Replicas: 2, Workers: 8,
			Size:   loadline.Size{CPURequest: 0.5, CPULimit: 1, MemoryRequest: 1 << 28, MemoryLimit: 1 << 29},
			Bounds: loadline.Bounds{MinReplicas: 1, MaxReplicas: 20, MinCPU: 0.1, MaxCPU: 4, MinMemory: 1 << 26, MaxMemory: 1 << 32},
		})
	}
	app.Kinds = []loadline.Kind{{Name: "get", Share: 1, SLO: loadline.SLO{Percentile: 99, Latency: 250 * time.Millisecond}}}
	return app
}

// Modelled is App with the demands and calls that a twin knows: a chain of the services.
func Modelled() *loadline.App {
	app := App()
	var next [][]loadline.Call
	for i := len(app.Services) - 1; i >= 0; i-- {
		app.Services[i].CPU = loadline.Dist{Mean: 10 * time.Millisecond, CV: 1}
		call := loadline.Call{Service: i, Probability: 1, Times: 1, Work: 1, Stages: next}
		app.Kinds[0].Root, next = call, [][]loadline.Call{{call}}
	}
	return app
}

// player feeds a policy a random but repeatable sequence: a varying load, pods that follow,
// missing samples.
type player struct {
	app    *loadline.App
	policy loadline.Policy
	rng    *rand.Rand
	alloc  []loadline.Allocation
	window []loadline.Observation
	now    time.Time
	nextID int64

	present int // one sample in so many is missing
}

func newPlayer(t *testing.T, spec string) *player {
	t.Helper()
	return newPlayerOn(t, spec, App())
}

func newPlayerOn(t *testing.T, spec string, app *loadline.App) *player {
	t.Helper()
	decider, err := policy.New(spec, app)
	if err != nil {
		t.Fatal(err)
	}
	p := &player{app: app, policy: decider, rng: rand.New(rand.NewPCG(1, 2)), now: start, present: 10}
	for _, s := range app.Services {
		p.alloc = append(p.alloc, loadline.Allocation{Replicas: s.Replicas, Size: s.Size})
	}
	return p
}

// step makes the next observation; absent: with nothing measured.
func (p *player) step(absent bool) loadline.Situation {
	p.now = p.now.Add(p.policy.Needs().Period)
	o := loadline.Observation{At: p.now, Kinds: make([]loadline.KindObservation, len(p.app.Kinds))}
	for i := range p.app.Services {
		load := math.Exp(p.rng.NormFloat64())
		so := loadline.ServiceObservation{}
		sample := func(v float64) loadline.Sample {
			if absent || p.rng.IntN(p.present) == 0 {
				return loadline.Sample{}
			}
			return loadline.Sample{Value: v, At: p.now}
		}
		so.Rate, so.CPU, so.Concurrency = sample(100*load), sample(load), sample(5*load)
		so.Throttled, so.Memory, so.Restarts = sample(min(1, load/10)), sample(1<<28), sample(float64(p.nextID/50))
		so.Errors, so.Queue = sample(load/100), sample(load)
		so.Latency = loadline.Latency{Mean: sample(load / 50), P50: sample(load / 50), P90: sample(load / 20), P95: sample(load / 15),
			P99: sample(load / 10)}
		for range p.alloc[i].Replicas {
			p.nextID++
			pod := loadline.PodObservation{
				ID: p.nextID, Phase: loadline.PodPhase(p.rng.IntN(4)), Created: p.now.Add(-time.Hour), Size: p.alloc[i].Size,
				CPU: sample(load / 2), Memory: sample(1 << 27), Busy: sample(3 * load),
			}
			if pod.Phase == loadline.PodReady {
				pod.Ready = p.now.Add(-time.Minute)
			}
			so.Pods = append(so.Pods, pod)
		}
		o.Services = append(o.Services, so)
	}
	for k := range o.Kinds {
		if !absent {
			over := loadline.Sample{Value: p.rng.Float64() / 50, At: p.now}
			latency := loadline.Sample{Value: p.rng.Float64() / 2, At: p.now}
			o.Kinds[k] = loadline.KindObservation{Rate: loadline.Sample{Value: 100 * p.rng.Float64(), At: p.now}, OverSLO: over,
				AtSLO: latency}
		}
	}
	keep := max(p.policy.Needs().Keep, 1)
	p.window = append(p.window, o)
	p.window = p.window[max(0, len(p.window)-keep):]
	situation := loadline.Situation{App: p.app, Window: p.window, Allocation: p.alloc, InFlight: p.alloc}
	loop.Prepare(p.policy, p.now, &situation)
	return situation
}

func (p *player) follow(proposal loadline.Proposal, s loadline.Situation) {
	for _, sp := range proposal.Services {
		setting, _ := guard.Clamp{}.Check(p.now, s, sp.Service, sp.Setting)
		p.alloc[sp.Service] = p.alloc[sp.Service].With(setting)
	}
}

func contractNeeds(t *testing.T, spec string) {
	p := newPlayer(t, spec)
	n := p.policy.Needs()
	if p.policy.Name() == "" || n.Period <= 0 || n.Scrape <= 0 || n.Window < n.Scrape || n.Delay < 0 || n.Lag < 0 {
		t.Errorf("%q needs %+v", p.policy.Name(), n)
	}
}

func contractDeterministic(t *testing.T, spec string) {
	a, b := newPlayer(t, spec), newPlayer(t, spec)
	for i := range 100 {
		sa, sb := a.step(false), b.step(false)
		pa, errA := a.policy.Decide(a.now, sa)
		pb, errB := b.policy.Decide(b.now, sb)
		if !reflect.DeepEqual(pa, pb) || (errA == nil) != (errB == nil) {
			t.Fatalf("step %d: %+v, %v and %+v, %v", i, pa, errA, pb, errB)
		}
		a.follow(pa, sa)
		b.follow(pb, sb)
	}
}

// contractAbsent: without data a policy returns an error, proposes nothing, or repeats its
// initial proposal; it never assumes a load of zero.
func contractAbsent(t *testing.T, spec string) {
	p := newPlayer(t, spec)
	for range 30 {
		s := p.step(false)
		proposal, _ := p.policy.Decide(p.now, s)
		p.follow(proposal, s)
	}
	for range 100 {
		s := p.step(true)
		proposal, err := p.policy.Decide(p.now, s)
		if err != nil && !errors.Is(err, loadline.ErrNoData) {
			t.Fatalf("%v is not ErrNoData", err)
		}
		before := append([]loadline.Allocation(nil), p.alloc...)
		p.follow(proposal, s)
		if !reflect.DeepEqual(before, p.alloc) {
			t.Fatalf("changed %+v to %+v without data", before, p.alloc)
		}
	}
}

func contractBounds(t *testing.T, spec string) {
	p := newPlayer(t, spec)
	for range 300 {
		s := p.step(false)
		proposal, _ := p.policy.Decide(p.now, s)
		p.follow(proposal, s)
		for i, a := range p.alloc {
			b := p.app.Services[i].Bounds
			if a.Replicas < b.MinReplicas || a.Replicas > b.MaxReplicas || a.Size.CPURequest < b.MinCPU || a.Size.CPULimit > b.MaxCPU {
				t.Fatalf("service %d at %+v, bounds %+v", i, a, b)
			}
		}
	}
}

// contractBorrowed overwrites each situation after use: a policy that kept a slice of it would
// decide differently from one whose situations are kept.
func contractBorrowed(t *testing.T, spec string) {
	a, b := newPlayer(t, spec), newPlayer(t, spec)
	for i := range 100 {
		sa, sb := a.step(false), b.step(false)
		pa, _ := a.policy.Decide(a.now, sa)
		shown := clone(sb)
		pb, _ := b.policy.Decide(b.now, shown)
		if !reflect.DeepEqual(shown, clone(sb)) {
			t.Fatalf("step %d: the policy changed what it was shown", i)
		}
		spoil(shown)
		if !reflect.DeepEqual(pa, pb) {
			t.Fatalf("step %d: %+v and %+v", i, pa, pb)
		}
		a.follow(pa, sa)
		b.follow(pb, sb)
	}
}

func clone(s loadline.Situation) loadline.Situation {
	c := s
	c.Allocation = append([]loadline.Allocation(nil), s.Allocation...)
	c.InFlight = append([]loadline.Allocation(nil), s.InFlight...)
	c.Window = nil
	for _, o := range s.Window {
		o.Kinds = append([]loadline.KindObservation(nil), o.Kinds...)
		o.Services = append([]loadline.ServiceObservation(nil), o.Services...)
		for i := range o.Services {
			o.Services[i].Pods = append([]loadline.PodObservation(nil), o.Services[i].Pods...)
		}
		c.Window = append(c.Window, o)
	}
	return c
}

func spoil(s loadline.Situation) {
	for i := range s.Window {
		for j := range s.Window[i].Services {
			clear(s.Window[i].Services[j].Pods)
		}
		clear(s.Window[i].Services)
		clear(s.Window[i].Kinds)
	}
	clear(s.Allocation)
	clear(s.InFlight)
}
