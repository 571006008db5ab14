package guard_test

import (
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/loop"
)

var start = time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)

const maxAge = 2 * time.Minute

func webApp() *loadline.App {
	return &loadline.App{
		Name: "shop",
		Services: []loadline.Service{{
			Name: "web", Replicas: 4, Workers: 10,
			Bounds: loadline.Bounds{MinReplicas: 1, MaxReplicas: 40, MinCPU: 0.1, MaxCPU: 8, MinMemory: 1 << 20, MaxMemory: 1 << 33},
		}},
		Kinds: []loadline.Kind{{Name: "buy", SLO: loadline.SLO{Percentile: 99, Latency: time.Second}}},
	}
}

// fixture is a situation that tests change: ten replicas of web, half in use, and
// an SLO that is kept.
type fixture struct {
	loadline.Situation
	now time.Time
}

func newFixture() *fixture {
	is := loadline.Allocation{Replicas: 10, Size: loadline.Size{CPURequest: 0.5, CPULimit: 1, MemoryRequest: 100 << 20,
		MemoryLimit: 200 << 20}}
	sc := &fixture{now: start, Situation: loadline.Situation{
		App: webApp(), Window: make([]loadline.Observation, 1),
		Allocation: []loadline.Allocation{is}, InFlight: []loadline.Allocation{is},
	}}
	sc.observe(100, 5, 0)
	return sc
}

// observe the service and its SLO anew.
func (sc *fixture) observe(rate, cores, over float64) {
	o := sc.Now()
	*o = loadline.Observation{At: sc.now, Services: make([]loadline.ServiceObservation, 1), Kinds: make([]loadline.KindObservation, 1)}
	web := &o.Services[0]
	web.Rate, web.CPU, web.Concurrency = sc.sample(rate), sc.sample(cores), sc.sample(10)
	n := sc.Allocation[0].Replicas
	for i := range n {
		web.Pods = append(web.Pods, loadline.PodObservation{
			ID: int64(i), Phase: loadline.PodReady, Created: start.Add(-2 * time.Hour), Ready: start.Add(-time.Hour),
			CPU: sc.sample(cores / float64(n)), Memory: sc.sample(50 << 20),
		})
	}
	o.Kinds[0].Rate, o.Kinds[0].OverSLO = sc.sample(rate), sc.sample(over)
}

func (sc *fixture) sample(v float64) loadline.Sample { return loadline.Sample{Value: v, At: sc.now} }

func (sc *fixture) web() *loadline.ServiceObservation { return &sc.Now().Services[0] }

// blind takes everything away that can be seen.
func (sc *fixture) blind() { *sc.Now() = loadline.Observation{At: sc.now} }

// set is what the service has been told to be.
func (sc *fixture) set(replicas int) {
	sc.Allocation[0].Replicas, sc.InFlight[0].Replicas = replicas, replicas
}

// later goes on in time.
func (sc *fixture) later(d time.Duration) { sc.now = sc.now.Add(d) }

func toReplicas(n int) loadline.Setting { return loadline.Setting{Replicas: loadline.Some(n)} }

// pass asks a guard as the loop does, applies what it says, and returns it with
// the reason.
func (sc *fixture) pass(g loop.Guard, want loadline.Setting) (loadline.Setting, string) {
	w, watches := g.(loop.Watcher)
	if watches {
		w.Watch(sc.now, sc.Situation)
	}
	got, why := g.Check(sc.now, sc.Situation, 0, want)
	var plan loadline.Plan
	if change := sc.InFlight[0].Changes(got); !change.Empty() {
		plan.Services = []loadline.ServicePlan{{Service: 0, Setting: change}}
	}
	if watches {
		w.Decided(sc.now, sc.Situation, plan)
	}
	sc.InFlight[0] = sc.InFlight[0].With(got)
	sc.Allocation[0] = sc.InFlight[0]
	return got, why
}

// expect checks what a guard makes of a setting, and that it gives a reason where
// it changes something and only there.
func (sc *fixture) expect(t *testing.T, g loop.Guard, want, expected loadline.Setting, reason string) {
	t.Helper()
	got, why := sc.pass(g, want)
	if got != expected {
		t.Errorf("%s makes %+v of %+v, want %+v (%s)", g.Name(), got, want, expected, why)
	}
	if (got != want) != (why != "") || !strings.Contains(why, reason) {
		t.Errorf("%s gives the reason %q, want %q", g.Name(), why, reason)
	}
}

// watch lets a guard see the situation for some time, pass by pass, so that its windows
// are filled.
func (sc *fixture) watch(g loop.Guard, d time.Duration) {
	o := *sc.Now()
	for until := sc.now.Add(d); sc.now.Before(until); sc.later(15 * time.Second) {
		sc.restamp()
		sc.pass(g, loadline.Setting{})
	}
	*sc.Now() = o
	sc.restamp()
}

// restamp gives all samples the present time.
func (sc *fixture) restamp() {
	fresh := func(samples ...*loadline.Sample) {
		for _, v := range samples {
			if v.Present() {
				v.At = sc.now
			}
		}
	}
	o := sc.Now()
	o.At = sc.now
	for i := range o.Services {
		s := &o.Services[i]
		fresh(&s.Rate, &s.CPU, &s.Concurrency)
		for j := range s.Pods {
			fresh(&s.Pods[j].CPU, &s.Pods[j].Memory, &s.Pods[j].Busy)
		}
	}
	for i := range o.Kinds {
		fresh(&o.Kinds[i].Rate, &o.Kinds[i].OverSLO)
	}
}
