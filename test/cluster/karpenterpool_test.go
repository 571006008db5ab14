package cluster

import (
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/pool"
)

// simulatePool gives the simulated control plane the same sequence of replicas at the same
// times, without load.
func simulatePool(scene poolScene, as *poolTrace) *poolTrace {
	app := &loadline.App{}
	for _, s := range scene.services {
		app.Services = append(app.Services, loadline.Service{Size: s, Startup: loadline.Dist{Mean: time.Second}})
	}
	types := make([]pool.Type, len(scene.types))
	for i, t := range scene.types {
		types[i] = pool.Type{
			Name: t.Name, Cores: float64(t.Cores), Memory: t.Memory, Price: t.Price,
			Reserved: &pool.Amount{Cores: 0.1, Memory: 10 << 20}, // as Karpenter's KWOK provider
		}
	}
	cfg := sim.Config{
		App: app, Grace: 500 * time.Millisecond, PodStart: &sim.PodStart{},
		Cluster: pool.Cluster{Pools: []pool.Pool{{
			Types: types, Elastic: true, BatchIdle: batchIdle, ConsolidateAfter: consolidateAfter,
			Start:  loadline.Dist{Mean: nodeStart, CV: 0.02}, // nodes come one after the other
			Budget: scene.budget, EvictLast: !scene.keepLast, Spread: scene.spread,
		}}},
	}.WithDefaults()
	meter := sim.NewMeter(app, 0)
	cp := sim.NewControlPlane(cfg, meter, noLoad{})
	cp.Start()
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	trace := &poolTrace{Seconds: as.Seconds}
	for i, replicas := range scene.steps {
		var plan loadline.Plan
		for service, n := range replicas {
			plan.Services = append(plan.Services, loadline.ServicePlan{Service: service, Setting: loadline.Setting{Replicas: loadline.Some(n)}})
		}
		step := poolStep{At: as.Steps[i].At}
		cp.Apply(plan, seconds(step.At))
		for next := cp.Next(); next < seconds(as.end(i)); next = cp.Next() {
			cp.Run(next)
			step.Most = max(step.Most, int(meter.NodesAdded-meter.NodesRemoved))
		}
		step.Nodes = int(meter.NodesAdded - meter.NodesRemoved)
		for _, n := range cp.Nodes() {
			if n.Up {
				step.Hourly += scene.types[n.Type].Price
			}
		}
		trace.Steps = append(trace.Steps, step)
	}
	cp.Settle(seconds(as.Seconds))
	trace.NodeSeconds, trace.Cost, trace.Bought = meter.NodeSeconds, meter.Bill, int(meter.NodesAdded)
	return trace
}

// noLoad is an engine without requests.
type noLoad struct{}

func (noLoad) PodStarting(int)                                {}
func (noLoad) PodReady(int)                                   {}
func (noLoad) PodDraining(int)                                {}
func (noLoad) PodStopped(int)                                 {}
func (noLoad) PodResized(int)                                 {}
func (noLoad) PodLost(int)                                    {}
func (noLoad) PodUsage(int, time.Duration) (float64, float64) { return 0, 0 }
func (noLoad) PodMemory(int) float64                          { return 0 }
func (noLoad) NodeChanged(int)                                {}
