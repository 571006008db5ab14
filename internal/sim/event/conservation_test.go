package event

import (
	"fmt"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/pool"
)

// inTree counts the users' requests that the engine still holds.
func (e *Engine) inTree(kind int) float64 {
	n := 0.0
	for i := range e.visits {
		v := &e.visits[i]
		if v.state != free && v.state != dead && v.parent == none && !v.abandoned && int(e.calls[v.call].kind) == kind {
			n++
		}
	}
	return n
}

// At every instant, arrivals = completed + failed + in flight, whatever happens to the cluster,
// and the requests in flight are really present.
func TestEveryRequestIsAccountedFor(t *testing.T) {
	for _, cpu := range []sim.CPUModel{sim.Quota, sim.Shared} {
		for seed := range uint64(9) {
			t.Run(fmt.Sprintf("model %d seed %d", cpu, seed), func(t *testing.T) {
				t.Parallel()
				app := shop()
				app.Services[1].Size.MemoryLimit = 65 << 20 // cart is killed now and then
				app.Services[1].Backlog = 30
				app.Kinds[0].Timeout = 150 * time.Millisecond
				if seed >= 6 { // the first ones refuse instead of holding
					app.Services[0].Hold, app.Services[1].Hold = 50, 10
				}
				app.Routing = loadline.Routing(seed % 2)
				node := 1
				var cluster pool.Cluster
				if seed%3 == 2 { // on nodes that come and go
					cluster.Pools = []pool.Pool{{Name: "p", Types: []pool.Type{{Cores: 2, Memory: 8 << 30}}, Elastic: true, EvictLast: true,
						Start: loadline.Dist{Mean: 3 * time.Second}, ConsolidateAfter: time.Second, Budget: 0.5}}
				}
				e := New(sim.Config{App: app, Load: constant{90, 40}, Seed: seed, CPU: cpu, Grace: 2 * time.Second,
					Cluster: cluster, NodeGrace: 20 * time.Second, Toleration: 10 * time.Second,
					Disturbances: []sim.Disturbance{
						{At: 70 * time.Second, Version: &sim.VersionChange{Service: 1, Weights: []float64{0, 1}, CPUFactor: 2}},
						{At: 100 * time.Second, LoseNode: &node},
					}})
				rng := sim.Stream(seed, sim.StreamPolicy, 0)
				for s := range 400 {
					e.AdvanceTo(time.Duration(s) * 500 * time.Millisecond)
					if s%4 == 0 {
						e.Apply(loadline.Plan{Services: []loadline.ServicePlan{{Service: rng.IntN(4), Setting: loadline.Setting{
							Replicas: loadline.Some(rng.IntN(5)),
							CPULimit: loadline.Some(0.2 + rng.Float64()),
							Brownout: loadline.Some(rng.IntN(2) == 0),
						}}}})
					}
					for k := range app.Kinds {
						m := &e.Meter().Kinds[k]
						if got := m.InFlight(); got != e.inTree(k) {
							t.Fatalf("at %v: %v requests arrived, %v completed, %v failed, so %v should be in flight; %v are", e.time(),
								m.Arrived, m.Completed, m.Failed, got, e.inTree(k))
						}
					}
					checkReplicas(t, e)
				}
				m := e.Meter()
				if m.Services[1].Restarts == 0 {
					t.Error("cart was never killed: this test no longer tests that")
				}
				if cluster.Pools != nil && (m.NodesRemoved == 0 || m.Drained == 0 || m.Bill == 0) {
					t.Errorf("%v nodes removed, %v pods moved, bill %v: this test no longer tests that", m.NodesRemoved, m.Drained, m.Bill)
				}
				if m.Kinds[0].TimedOut == 0 || m.Services[1].Refused == 0 {
					t.Error("no timeouts or no refusals: this test no longer tests that")
				}
			})
		}
	}
}

// checkReplicas compares every replica's counts with its visits.
func checkReplicas(t *testing.T, e *Engine) {
	t.Helper()
	inside := make([]int32, len(e.replicas))
	queuedIn := make([]int32, len(e.replicas))
	heldBy := make([]int32, len(e.services))
	for i := range e.visits {
		v := &e.visits[i]
		if v.state == free || v.state == dead {
			continue
		}
		if v.state == held {
			heldBy[e.calls[v.call].service]++
			continue
		}
		inside[v.slot]++
		if v.state == queued {
			queuedIn[v.slot]++
		}
	}
	for i := range e.services {
		if got := e.services[i].held.count; got != heldBy[i] {
			t.Fatalf("at %v: service %d holds %d, there are %d", e.time(), i, got, heldBy[i])
		}
	}
	for slot := range e.replicas {
		r := &e.replicas[slot]
		if r.inside != inside[slot] || r.inside-r.holding != queuedIn[slot] {
			t.Fatalf("at %v: replica %d counts %d inside and %d holding; there are %d and %d queued", e.time(), slot, r.inside,
				r.holding, inside[slot], queuedIn[slot])
		}
		if !r.serving && !r.lost && r.inside > 0 {
			t.Fatalf("at %v: replica %d is stopped and has %d visits", e.time(), slot, r.inside)
		}
	}
	for i := range e.nodes {
		want := 0.0
		for _, slot := range e.nodes[i].slots {
			want += e.replicas[slot].want
		}
		if d := want - e.nodes[i].want; d > 1e-6 || d < -1e-6 {
			t.Fatalf("at %v: node %d adds up to %v and has %v", e.time(), i, want, e.nodes[i].want)
		}
	}
}
