package event

import (
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
)

func TestCallsToALostNodeFailUntilTheLossIsNoticed(t *testing.T) {
	app := station(loadline.Dist{Mean: ms(1), CV: 1}, 1, many, 0, 2)
	app.Nodes = []loadline.Node{{Name: "a", Cores: 2, Memory: 1 << 30}, {Name: "b", Cores: 2, Memory: 1 << 30}}
	node := 0
	e := New(sim.Config{App: app, Load: constant{100}, Disturbances: []sim.Disturbance{{At: time.Minute, LoseNode: &node}}})
	failed := func(until time.Duration) float64 {
		before := e.Meter().Kinds[0].Failed
		e.AdvanceTo(until)
		return e.Meter().Kinds[0].Failed - before
	}
	if n := failed(60 * time.Second); n > 0 {
		t.Errorf("%v calls fail before the loss", n)
	}
	if n := failed(109 * time.Second); n < 2200 || n > 2600 { // half of 100/s for 49 s, the first after 1 s
		t.Errorf("%v calls fail before the loss is noticed, want 2400", n)
	}
	if n := failed(112 * time.Second); n < 50 || n > 150 { // those of the last second end with the pod
		t.Errorf("%v calls fail when the loss is noticed, want 100", n)
	}
	if n := failed(5 * time.Minute); n > 0 {
		t.Errorf("%v calls fail after the loss was noticed", n)
	}
}
