package fluid

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/event"
)

// Calls and requests add up to the visits, as in the event engine; visits still in service have
// not ended.
func TestCallsAndRequestsAreTheArrivals(t *testing.T) {
	for name, load := range map[string]sim.Arrivals{"steady": constant{5, 5, 5, 5}, "overload": constant{60, 5, 60, 5}} {
		t.Run(name, func(t *testing.T) {
			app := station40()
			edges := sim.Edges(app)
			e := New(sim.Config{App: app, Load: load}, 15*time.Second)
			for i := range 40 {
				e.AdvanceTo(time.Duration(i+1) * 15 * time.Second)
				e.Apply(set(i, loadline.Setting{Replicas: loadline.Some(i % 4)}))
			}
			var r sim.Reading
			e.Read(&r)
			came := make([]float64, len(app.Services))
			for k, root := range e.p.roots {
				came[app.Kinds[k].Root.Service] += e.meter.Kinds[k].Arrived - e.pop[root]
			}
			failed := 0.0
			for i, c := range r.Calls {
				came[edges[i].To] += c.Count
				failed += c.Failed
				if c.Failed > c.Count*(1+1e-9) {
					t.Errorf("calls %v: %+v", edges[i], c)
				}
			}
			if failed == 0 {
				t.Error("no call failed: this test no longer tests that")
			}
			for i := range app.Services {
				near(t, app.Services[i].Name+": calls and requests that ended", came[i], r.Services[i].Ended, 1e-9)
			}
		})
	}
}

// Both engines report the same calls: their number, duration and failures.
func TestTheEnginesAgreeOnCalls(t *testing.T) {
	for _, c := range []struct {
		name     string
		cell     cell
		places   int // of the last service; 0 = plenty
		failures float64
	}{
		{"a chain", cell{load: .6, limit: .5, demand: 10, cv: 1, replicas: 2, depth: 3}, 0, 0},
		{"a fan-out", cell{load: .7, limit: 1, demand: 5, cv: .5, replicas: 1, depth: 1, fan: 3}, 0, 0},
		{"a chain whose end is too small", cell{load: .5, limit: .5, demand: 10, cv: 1, replicas: 2, depth: 3}, 20, .3},
	} {
		for _, model := range []sim.CPUModel{sim.Quota, sim.Shared} {
			t.Run(fmt.Sprintf("%s, model %d", c.name, model), func(t *testing.T) {
				app, rate := c.cell.app()
				if c.places > 0 {
					last := &app.Services[len(app.Services)-1]
					last.Workers, last.Backlog = c.places, 0
					last.Size.CPULimit /= 3 // at 1.5 times its capacity
				}
				cfg := sim.Config{App: app, Load: constant{rate}, Seed: 5, CPU: model}
				var truth, fluid sim.Reading
				for _, run := range []struct {
					e sim.Engine
					r *sim.Reading
				}{{event.New(cfg), &truth}, {New(cfg, 15*time.Second), &fluid}} {
					run.e.AdvanceTo(10 * time.Minute)
					run.e.Read(run.r)
				}
				for i, want := range truth.Calls {
					got := fluid.Calls[i]
					what := fmt.Sprintf("calls %v", sim.Edges(app)[i])
					near(t, what, got.Count, want.Count, .03)
					if math.Abs(got.Failed/got.Count-want.Failed/want.Count) > .03 || want.Failed/want.Count < c.failures {
						t.Errorf("%s: %.3f of them failed, the event engine says %.3f", what, got.Failed/got.Count, want.Failed/want.Count)
					}
					if c.places == 0 { // failed visits are as slow as successful ones here, refused ones immediate there
						near(t, what+": mean seconds", got.SumSeconds/got.Count, want.SumSeconds/want.Count, .12)
					}
					t.Logf("%s: %.0f (event %.0f), failed %.3f (%.3f), mean %.4f s (%.4f)", what, got.Count, want.Count,
						got.Failed/got.Count, want.Failed/want.Count, got.SumSeconds/got.Count, want.SumSeconds/want.Count)
				}
			})
		}
	}
}
