package drpc

import (
	"time"

	"github.com/loadline/loadline"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func seen(v float64) loadline.Sample { return loadline.Sample{Value: v, At: noon} }

// shop has a front end, a service that it needs and an optional one, on two machines.
func shop() *loadline.App {
	app := &loadline.App{Name: "shop", Nodes: []loadline.Node{{Name: "a", Cores: 8, Memory: 8 << 30},
		{Name: "b", Cores: 8, Memory: 8 << 30}}}
	for _, name := range []string{"front", "cart", "ads"} {
		app.Services = append(app.Services, loadline.Service{
			Name: name, CPU: loadline.Dist{Mean: 10 * time.Millisecond, CV: 1}, Workers: 16, Backlog: 16, Replicas: 2,
			Memory: loadline.Memory{Base: 100 << 20,
				PerRequest: 1 << 18}, Startup: loadline.Dist{Mean: 5 * time.Second}, OptionalPrice: 0.5,
			Size:   loadline.Size{CPURequest: 0.2, CPULimit: 0.5, MemoryRequest: 256 << 20, MemoryLimit: 512 << 20},
			Bounds: loadline.Bounds{MinReplicas: 1, MaxReplicas: 10, MinCPU: 0.05, MaxCPU: 2, MinMemory: 64 << 20, MaxMemory: 1 << 30},
		})
	}
	call := func(service int, optional bool) loadline.Call {
		return loadline.Call{Service: service, Probability: 1, Times: 1, Work: 1, Optional: optional}
	}
	buy := call(0, false)
	buy.Stages = [][]loadline.Call{{call(1, false)}, {call(2, true)}}
	app.Kinds = []loadline.Kind{
		{Name: "buy", Share: 3, SLO: loadline.SLO{Percentile: 99, Latency: 200 * time.Millisecond}, Timeout: time.Second, Root: buy},
		{Name: "look", Share: 1, SLO: loadline.SLO{Percentile: 99, Latency: 100 * time.Millisecond}, Root: call(0, false)},
	}
	return app
}

// calm is a situation in which everything is measured and the SLO is met.
func calm(app *loadline.App) loadline.Situation {
	o := loadline.Observation{
		At:    noon,
		Kinds: make([]loadline.KindObservation, len(app.Kinds)), Nodes: make([]loadline.NodeObservation, len(app.Nodes)),
	}
	for k := range o.Kinds {
		o.Kinds[k] = loadline.KindObservation{Rate: seen(10), Failed: seen(0), AtSLO: seen(app.Kinds[k].SLO.Latency.Seconds() / 2)}
	}
	s := loadline.Situation{App: app}
	for i := range app.Services {
		so := loadline.ServiceObservation{
			Rate: seen(30), Errors: seen(0), CPU: seen(0.24), Memory: seen(2 * 192 << 20), Concurrency: seen(0.5), Dropped: seen(0),
			Latency: loadline.Latency{P99: seen(0.02)},
		}
		for j := range app.Services[i].Replicas {
			so.Pods = append(so.Pods, loadline.PodObservation{
				ID: int64(10*i + j), Node: j % len(app.Nodes), Phase: loadline.PodReady, Size: app.Services[i].Size, CPU: seen(0.12),
				Memory: seen(192 << 20),
			})
		}
		o.Services = append(o.Services, so)
		s.Allocation = append(s.Allocation, loadline.Allocation{Replicas: app.Services[i].Replicas, Size: app.Services[i].Size})
	}
	for n := range o.Nodes { // three pods of 0.2 cores and 256 MiB each
		o.Nodes[n] = loadline.NodeObservation{CPU: seen(0.36), Memory: seen(3 * 192 << 20)}
	}
	s.Window = []loadline.Observation{o}
	s.InFlight = append([]loadline.Allocation(nil), s.Allocation...)
	return s
}
