package event

import (
	"fmt"
	"math"
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
		for seed := range uint64(12) {
			t.Run(fmt.Sprintf("model %d seed %d", cpu, seed), func(t *testing.T) {
				t.Parallel()
				app := shop()
				app.Services[1].Size.MemoryLimit = 65 << 20 // cart is killed now and then
				app.Services[1].Backlog = 30
				app.Kinds[0].Timeout = 150 * time.Millisecond
				if seed >= 6 { // the first ones refuse instead of holding
					app.Services[0].Hold, app.Services[1].Hold = 50, 10
				}
				if seed%3 == 2 { // crowded nodes
					app.Services[0].IdleCPU, app.Services[3].IdleCPU = 0.05, 0.5
					app.Services[1].StartupCPU, app.Services[2].StartupCPU = 2, 0.7
				}
				app.Routing = loadline.Routing(seed % 2)
				if seed >= 9 {
					impatient(app)
				}
				node := 1
				cluster := crowd(seed)
				if seed%3 == 1 { // on nodes that come and go
					cluster.Pools = []pool.Pool{{Name: "p", Types: []pool.Type{{Cores: 2, Memory: 8 << 30}}, Elastic: true, EvictLast: true,
						Start: loadline.Dist{Mean: 3 * time.Second}, ConsolidateAfter: time.Second, Budget: 1}}
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
					if s == 220 { // a smaller node in the place of the lost one
						bring(e, 1)
					}
					switch {
					case s == 260 || s == 280: // up and down, and then calm enough for nodes to be consolidated
						var all loadline.Plan
						for service := range app.Services {
							all.Services = append(all.Services, loadline.ServicePlan{Service: service, Setting: loadline.Setting{
								Replicas: loadline.Some(1 + (280-s)/4),
							}})
						}
						e.Apply(all)
					case s%4 == 0 && (s < 260 || s > 360):
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
				if seed < 9 {
					return
				}
				if k := m.Kinds[0]; k.Retried == 0 || k.Left == 0 || m.Services[1].Retried == 0 || m.Services[2].Retried == 0 {
					t.Errorf("users %+v, retries of calls %v and %v: this test no longer tests them", k, m.Services[1].Retried,
						m.Services[2].Retried)
				}
			})
		}
	}
}

// crowd is neighbours for every third seed: random, and steady.
func crowd(seed uint64) pool.Cluster {
	if seed%3 != 2 {
		return pool.Cluster{}
	}
	n := pool.Neighbours{Use: 0.8, Request: 0.2, Shape: pool.Shape{Step: 10 * time.Second, Factor: []float64{0.4, 1.6}}}
	if seed == 5 {
		n.Burst = -1
	}
	return pool.Cluster{Neighbours: n}
}

// bring puts a new node in the place of one that is gone.
func bring(e *Engine, slot int) {
	n := &e.cp.Nodes()[slot]
	n.Up, n.Lost, n.Cores, n.Offered.Cores = true, false, 2, 2
	n.Others = e.cfg.Cluster.Neighbours.On(n.Offered, e.time())
	n.Requested = n.Others.Request
	e.NodeChanged(slot)
}

// checkReplicas compares every replica's counts with its visits.
func checkReplicas(t *testing.T, e *Engine) {
	t.Helper()
	inside := make([]int32, len(e.replicas))
	queuedIn := make([]int32, len(e.replicas))
	heldBy := make([]int32, len(e.services))
	for i := range e.visits {
		v := &e.visits[i]
		if v.state == free || v.state == dead || v.state == backingOff {
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
	checkNodes(t, e)
}

// checkNodes checks that a node's sums are right, that it hands out no more cores than it has,
// and all of them if anything on it wants more than it gets.
func checkNodes(t *testing.T, e *Engine) {
	t.Helper()
	for i := range e.nodes {
		n := &e.nodes[i]
		work, base, used, active, short := 0.0, 0.0, n.others.got, 0, n.others.want-n.others.got
		for _, slot := range n.slots {
			r := &e.replicas[slot]
			if r.node != int32(i) || !r.joined || !r.serving && !r.starting {
				t.Fatalf("at %v: node %d lists replica %d, which is not on it", e.time(), i, slot)
			}
			work += r.work
			base += r.base
			used += r.got + r.baseGot
			short = max(short, r.work+r.base-r.got-r.baseGot)
			if r.active {
				active++
			}
		}
		if math.Abs(work-n.work) > 1e-6 || math.Abs(base-n.base) > 1e-9 || active != len(n.active) {
			t.Fatalf("at %v: node %d has sums %v and %v and %d active, want %v, %v and %d", e.time(), i, n.work, n.base, len(n.active),
				work, base, active)
		}
		if used > n.cores+1e-6 {
			t.Fatalf("at %v: node %d has %v cores and hands out %v", e.time(), i, n.cores, used)
		}
		if short > 1e-6 && used < n.cores-1e-6 {
			t.Fatalf("at %v: node %d has %v cores and hands out %v, though %v more are wanted", e.time(), i, n.cores, used, short)
		}
		if n.crowded != (short > 1e-6) {
			t.Fatalf("at %v: node %d: crowded is %v, and %v cores are missing", e.time(), i, n.crowded, short)
		}
	}
}
