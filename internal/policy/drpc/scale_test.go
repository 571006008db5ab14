package drpc

import (
	"math"
	"testing"

	"github.com/loadline/loadline"
)

// TestAlgorithm2 has a case for every line of it.
func TestAlgorithm2(t *testing.T) {
	app := shop()
	desired := func(replicas int, brownout bool) loadline.Allocation {
		return loadline.Allocation{Replicas: replicas, Size: app.Services[0].Size, Brownout: brownout}
	}
	some := func(limit, request float64) loadline.Setting {
		return loadline.Setting{CPULimit: loadline.Some(limit), CPURequest: loadline.Some(request)}
	}
	nan := float32(math.NaN())
	for _, c := range []struct {
		name    string
		service int
		desired loadline.Allocation
		want    Action
		setting loadline.Setting
		done    Action
	}{
		{"the dead zone does nothing", 0, desired(2, false), Action{0.5, -0.5, 0.5}, loadline.Setting{}, Action{}},
		{"not a number does nothing", 0, desired(2, false), Action{nan, nan, nan}, loadline.Setting{}, Action{}},
		{"CPU moves by the action times the step, the request keeps its share", 0, desired(2, false), Action{0.75, 0, 0}, some(0.65, 0.26),
			Action{0.75, 0, 0}},
		{"actions are clipped", 0, desired(2, false), Action{-3, 0, 0}, some(0.3, 0.12), Action{-1, 0, 0}},
		{
			"memory moves likewise", 0, desired(2, false), Action{0, 1, 0},
			loadline.Setting{MemoryLimit: loadline.Some[int64](576 << 20), MemoryRequest: loadline.Some[int64](288 << 20)}, Action{0, 1,
				0},
		},
		{"a replica more", 0, desired(2, false), Action{0, 0, 0.51}, loadline.Setting{Replicas: loadline.Some(3)}, Action{0, 0, 0.51}},
		{"a replica less", 0, desired(2, false), Action{0, 0, -1}, loadline.Setting{Replicas: loadline.Some(1)}, Action{0, 0, -1}},
		{"never below one", 0, desired(1, false), Action{0, 0, -1}, loadline.Setting{}, Action{}},
		{"never above the bound", 0, desired(10, false), Action{0, 0, 1}, loadline.Setting{}, Action{}},
		{
			"a service that may brown out does so", 2, desired(1, false), Action{0, 0, -1},
			loadline.Setting{Brownout: loadline.Some(true), Replicas: loadline.Some(1)}, Action{0, 0, -1},
		},
		{"and stays there", 2, desired(1, true), Action{0, 0, -1}, loadline.Setting{}, Action{}},
		{
			"until it is wanted again", 2, desired(1, true), Action{0, 0, 1},
			loadline.Setting{Brownout: loadline.Some(false), Replicas: loadline.Some(1)}, Action{0, 0, 1},
		},
		{
			"all three at once", 1, desired(2, false), Action{1, -1, 1},
			loadline.Setting{
				Replicas: loadline.Some(3), CPULimit: loadline.Some(0.7), CPURequest: loadline.Some(0.28),
				MemoryLimit: loadline.Some[int64](448 << 20), MemoryRequest: loadline.Some[int64](224 << 20),
			}, Action{1, -1, 1},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			scaler := NewScaler(app, DefaultSteps())
			scaler.Pressed = true
			setting, done := scaler.Scale(c.service, c.desired, seen(100<<20), c.want)
			if setting != c.setting || done != c.done {
				t.Errorf("%+v, done %v; want %+v, done %v", setting, done, c.setting, c.done)
			}
		})
	}
}

func TestServicesMayHaveNoReplicasWhereTheirBoundsSaySo(t *testing.T) {
	app := shop()
	app.Services[2].Bounds.MinReplicas = 0
	scaler := NewScaler(app, DefaultSteps())
	desired := loadline.Allocation{Replicas: 1, Size: app.Services[2].Size}
	if setting, done := scaler.Scale(2, desired, seen(1), Action{0, 0, -1}); !setting.Empty() || done != (Action{}) {
		t.Errorf("%+v, done %v without a reason", setting, done)
	}
	out := desired
	out.Brownout, out.Replicas = true, 0
	back, done := scaler.Scale(2, out, seen(1), Action{0, 0, -1})
	if want := (loadline.Setting{Brownout: loadline.Some(false), Replicas: loadline.Some(1)}); back != want || done != (Action{}) {
		t.Errorf("%+v, done %v when the reason is gone, want %+v", back, done, want)
	}
	scaler.Pressed = true
	setting, _ := scaler.Scale(2, desired, seen(1), Action{0, 0, -1})
	if want := (loadline.Setting{Brownout: loadline.Some(true), Replicas: loadline.Some(0)}); setting != want {
		t.Errorf("%+v, want %+v", setting, want)
	}
}

// TestMemoryInUseIsNotTakenAway: a limit below the usage kills, and unmeasured memory may
// be in use.
func TestMemoryInUseIsNotTakenAway(t *testing.T) {
	app := shop()
	desired := loadline.Allocation{Replicas: 2, Size: app.Services[0].Size}
	s := NewScaler(app, DefaultSteps())
	for name, used := range map[string]loadline.Sample{"all of it": seen(500 << 20), "unknown": {}} {
		if setting, done := s.Scale(0, desired, used, Action{0, -1, 0}); !setting.Empty() || done != (Action{}) {
			t.Errorf("%s is used: %+v, done %v", name, setting, done)
		}
	}
	setting, _ := s.Scale(0, desired, seen(410<<20), Action{0, -1, 0})
	if limit := setting.MemoryLimit.Or(0); limit != 471<<20 {
		t.Errorf("the limit becomes %d MiB with 410 in use, want 471", limit>>20)
	}
}

// TestScaleStaysWithinBounds takes a long random walk.
func TestScaleStaysWithinBounds(t *testing.T) {
	app := shop()
	s := NewScaler(app, Steps{CPU: 0.37, Memory: 0.41})
	desired := loadline.Allocation{Replicas: 2, Size: app.Services[0].Size}
	b := app.Services[0].Bounds
	x := uint32(1)
	next := func() float32 { x = x*1664525 + 1013904223; return float32(x>>8)/(1<<23) - 1 }
	for range 2_000 {
		setting, _ := s.Scale(0, desired, seen(80<<20), Action{3 * next(), 3 * next(), 3 * next()})
		desired = desired.With(setting)
		size := desired.Size
		if desired.Replicas < b.MinReplicas || desired.Replicas > b.MaxReplicas || size.CPURequest < b.MinCPU ||
			size.CPULimit > b.MaxCPU ||
			size.CPURequest > size.CPULimit ||
			size.MemoryRequest < b.MinMemory || size.MemoryLimit > b.MaxMemory || size.MemoryRequest > size.MemoryLimit {
			t.Fatalf("%+v leaves %+v", desired, b)
		}
	}
}

func TestPressed(t *testing.T) {
	app := shop()
	for _, c := range []struct {
		name string
		over float64
		rate float64
		pod  loadline.PodPhase
		want bool
	}{
		{"all is well", 0.001, 10, loadline.PodReady, false},
		{"as many are late as may", 0.01, 10, loadline.PodReady, false},
		{"more are", 0.02, 10, loadline.PodReady, true},
		{"no requests", 1, 0, loadline.PodReady, false},
		{"a replica finds no room", 0, 10, loadline.PodPending, true},
	} {
		o := loadline.Observation{
			Kinds:    make([]loadline.KindObservation, len(app.Kinds)),
			Services: []loadline.ServiceObservation{{Pods: []loadline.PodObservation{{Phase: c.pod}}}},
		}
		o.Kinds[0].Rate, o.Kinds[0].OverSLO = seen(c.rate), seen(c.over)
		if got := Pressed(app, &o); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
