package outlook

import (
	"testing"
	"time"

	"github.com/loadline/loadline"
)

func app() *loadline.App {
	return &loadline.App{
		Services: []loadline.Service{{
			Name: "web", CPU: loadline.Dist{Mean: 10 * time.Millisecond, CV: 1}, Workers: 32, Backlog: 320, Replicas: 1,
			Size:   loadline.Size{CPURequest: 0.2, CPULimit: 1},
			Bounds: loadline.Bounds{MinReplicas: 1, MaxReplicas: 10},
		}},
		Kinds: []loadline.Kind{{
			Name: "get", Share: 1, SLO: loadline.SLO{Percentile: 99, Latency: 250 * time.Millisecond},
			Root: loadline.Call{Service: 0, Probability: 1, Times: 1, Work: 1},
		}},
		Nodes: []loadline.Node{{Name: "n", Cores: 16, Memory: 1 << 34}},
	}
}

func desired(replicas int, request, limit float64) []loadline.Allocation {
	return []loadline.Allocation{{Replicas: replicas, Size: loadline.Size{CPURequest: request, CPULimit: limit}}}
}

// users is what the twin expects at a load; false = nothing.
func users(twin *Twin, perSecond []float64, at []loadline.Allocation) (loadline.Outlook, bool) {
	var o loadline.Outlook
	now := loadline.Observation{At: noon, Services: make([]loadline.ServiceObservation, 1)}
	for _, r := range perSecond {
		now.Kinds = append(now.Kinds, loadline.KindObservation{Rate: loadline.Sample{Value: r, At: noon}})
	}
	s := loadline.Situation{App: twin.App, Window: []loadline.Observation{now}, Allocation: at, InFlight: at}
	twin.foreseeUsers(&o, loadline.Plan{}, s)
	return o, len(o.Users) > 0
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestMoreReplicasAreQuickerAndDearer(t *testing.T) {
	twin := &Twin{App: app()}
	few, ok := users(twin, []float64{150}, desired(2, 1, 1))
	many, also := users(twin, []float64{150}, desired(5, 1, 1))
	if !ok || !also {
		t.Fatal("no outlook")
	}
	if few.Users[0].Latency <= many.Users[0].Latency || few.Users[0].OverSLO <= many.Users[0].OverSLO || few.Cores >= many.Cores {
		t.Errorf("two replicas %+v, five %+v", few, many)
	}
	if few.Cores < 1.99 || few.Cores > 2.01 {
		t.Errorf("two replicas of one core each: %+v", few)
	}
	// A low request is not free: 150 requests/s of 10 ms use 1.5 cores.
	if low, _ := users(twin, []float64{150}, desired(5, 0.1, 1)); low.Cores < 1.4 || low.Cores > 1.6 {
		t.Errorf("%v cores, want the usage", low.Cores)
	}
}

func TestOverloadBreaksTheSLO(t *testing.T) {
	o, ok := users(&Twin{App: app()}, []float64{150}, desired(1, 1, 1))
	if !ok || o.Users[0].OverSLO < 2 || o.Failed < 0.05 {
		t.Errorf("%+v, %v", o, ok)
	}
}

func TestWhatCannotBeForeseenIsNot(t *testing.T) {
	twin := &Twin{App: app()}
	for name, rates := range map[string][]float64{
		"no load":          {0},
		"a negative load":  {-1},
		"a kind too many":  {1, 1},
		"an infinite load": {inf()},
	} {
		if o, ok := users(twin, rates, desired(1, 1, 1)); ok {
			t.Errorf("%s: %+v", name, o)
		}
	}
	now := time.Unix(0, 0)
	slow := &Twin{App: app(), Budget: time.Second, Now: func() time.Time { now = now.Add(400 * time.Millisecond); return now }}
	if o, ok := users(slow, []float64{10}, desired(1, 1, 1)); ok {
		t.Errorf("over its time: %+v", o)
	}
	if _, ok := users(&Twin{App: app(), Budget: time.Hour, Now: time.Now}, []float64{10}, desired(1, 1, 1)); !ok {
		t.Error("within its time: no answer")
	}
}

func inf() float64 { zero := 0.0; return 1 / zero }

func TestTheApplicationIsLeftAlone(t *testing.T) {
	a := app()
	if _, ok := users(&Twin{App: a}, []float64{10}, desired(7, 0.5, 0.5)); !ok || a.Services[0].Replicas != 1 ||
		a.Services[0].Size.CPULimit != 1 {
		t.Errorf("changed to %+v", a.Services[0])
	}
}
