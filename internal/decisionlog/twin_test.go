package decisionlog

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

func TestMoreReplicasAreQuickerAndDearer(t *testing.T) {
	twin := &Twin{App: app()}
	few, ok := twin.Outlook([]float64{150}, desired(2, 1, 1))
	many, also := twin.Outlook([]float64{150}, desired(5, 1, 1))
	if !ok || !also {
		t.Fatal("no outlook")
	}
	if few.Latency <= many.Latency || few.OverSLO <= many.OverSLO || few.Cores >= many.Cores {
		t.Errorf("two replicas %+v, five %+v", few, many)
	}
	if float64(few.Cores) < 1.99 || float64(few.Cores) > 2.01 || few.Kind != "get" || few.Percentile != 99 {
		t.Errorf("two replicas of one core each: %+v", few)
	}
	// A low request is not free: 150 requests/s of 10 ms use 1.5 cores.
	if low, _ := twin.Outlook([]float64{150}, desired(5, 0.1, 1)); float64(low.Cores) < 1.4 || float64(low.Cores) > 1.6 {
		t.Errorf("%v cores, want the usage", low.Cores)
	}
}

func TestOverloadBreaksTheSLO(t *testing.T) {
	o, ok := (&Twin{App: app()}).Outlook([]float64{150}, desired(1, 1, 1))
	if !ok || o.OverSLO < 2 || o.Failed < 0.05 {
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
		if o, ok := twin.Outlook(rates, desired(1, 1, 1)); ok {
			t.Errorf("%s: %+v", name, o)
		}
	}
	now := time.Unix(0, 0)
	slow := &Twin{App: app(), Budget: time.Second, Now: func() time.Time { now = now.Add(400 * time.Millisecond); return now }}
	if o, ok := slow.Outlook([]float64{10}, desired(1, 1, 1)); ok {
		t.Errorf("over its time: %+v", o)
	}
	if _, ok := (&Twin{App: app(), Budget: time.Hour, Now: time.Now}).Outlook([]float64{10}, desired(1, 1, 1)); !ok {
		t.Error("within its time: no answer")
	}
}

func inf() float64 { zero := 0.0; return 1 / zero }

func TestTheApplicationIsLeftAlone(t *testing.T) {
	a := app()
	if _, ok := (&Twin{App: a}).Outlook([]float64{10}, desired(7, 0.5, 0.5)); !ok || a.Services[0].Replicas != 1 ||
		a.Services[0].Size.CPULimit != 1 {
		t.Errorf("changed to %+v", a.Services[0])
	}
}

func BenchmarkExpect(b *testing.B) {
	twin, rates, at := &Twin{App: app()}, []float64{150}, desired(3, 1, 1)
	for b.Loop() {
		if _, ok := twin.Outlook(rates, at); !ok {
			b.Fatal("no outlook")
		}
	}
}
