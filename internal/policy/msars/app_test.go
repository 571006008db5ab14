package msars

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/forecast"
	"github.com/loadline/loadline/internal/nn"
	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/profile"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

const window = 30 * time.Second

func seen(v float64) loadline.Sample { return loadline.Sample{Value: v, At: noon} }

// shop has a front end, and a cart and a search behind it for different requests, on two
// machines.
func shop() *loadline.App {
	app := &loadline.App{Name: "shop", Nodes: []loadline.Node{{Name: "a", Cores: 8, Memory: 8 << 30},
		{Name: "b", Cores: 8, Memory: 8 << 30}}}
	for _, name := range []string{"front", "cart", "search"} {
		app.Services = append(app.Services, loadline.Service{
			Name: name, CPU: loadline.Dist{Mean: 10 * time.Millisecond, CV: 1}, Workers: 16, Backlog: 16, Replicas: 2,
			Memory: loadline.Memory{Base: 100 << 20,
				PerRequest: 1 << 18}, Startup: loadline.Dist{Mean: 5 * time.Second}, OptionalPrice: 0.5,
			Size:   loadline.Size{CPURequest: 0.5, CPULimit: 0.5, MemoryRequest: 256 << 20, MemoryLimit: 512 << 20},
			Bounds: loadline.Bounds{MinReplicas: 1, MaxReplicas: 10, MinCPU: 0.1, MaxCPU: 2, MinMemory: 64 << 20, MaxMemory: 1 << 30},
		})
	}
	call := func(service int, stages ...[]loadline.Call) loadline.Call {
		return loadline.Call{Service: service, Probability: 1, Times: 1, Work: 1, Stages: stages}
	}
	app.Kinds = []loadline.Kind{
		{Name: "buy", Share: 3, SLO: loadline.SLO{Percentile: 99, Latency: 600 * time.Millisecond}, Timeout: 5 * time.Second,
			Root: call(0, []loadline.Call{call(1)})},
		{Name: "find", Share: 1, SLO: loadline.SLO{Percentile: 99, Latency: 500 * time.Millisecond},
			Root: call(0, []loadline.Call{call(2)})},
	}
	return app
}

// profileOf is the profile of an M/M/1 queue at a share of a core: everything is a power of
// that share, so that values between two sizes are known exactly.
func profileOf(service string, cores, percentile float64) profile.Profile {
	p := profile.Profile{
		Service: service, Percentile: percentile,
		Size: profile.Size{CPURequest: cores, CPULimit: cores, MemoryRequest: 256 << 20, MemoryLimit: 512 << 20},
	}
	for _, part := range []float64{0.1, 0.3, 0.5, 0.7, 0.9} {
		latency := 0.030 / cores / (1 - part)
		p.Points = append(p.Points, profile.Point{Load: part * cores / 0.010, Latency: latency, Error: latency / 100})
	}
	p.Points = append(p.Points, profile.Point{Load: cores / 0.010, Saturated: true})
	return p
}

// profiles of every service at three sizes.
func profiles(app *loadline.App) *profile.Set {
	set := &profile.Set{App: app.Name}
	for i := range app.Services {
		for _, cores := range []float64{0.25, 0.5, 1} {
			set.Profiles = append(set.Profiles, profileOf(app.Services[i].Name, cores, 99))
		}
	}
	return set
}

// calm is a situation in which everything is measured and matches the profiles.
func calm(app *loadline.App) loadline.Situation {
	o := loadline.Observation{At: noon, Kinds: make([]loadline.KindObservation, len(app.Kinds)),
		Nodes: make([]loadline.NodeObservation, len(app.Nodes))}
	for k := range o.Kinds {
		o.Kinds[k] = loadline.KindObservation{Rate: seen(20), Failed: seen(0), AtSLO: seen(app.Kinds[k].SLO.Latency.Seconds() / 2)}
	}
	s := loadline.Situation{App: app}
	rates := []float64{40, 20, 20}
	for i := range app.Services {
		each := rates[i] / float64(app.Services[i].Replicas)
		own := fits(&app.Services[i], each)
		so := loadline.ServiceObservation{
			Rate: seen(rates[i]), Errors: seen(0), CPU: seen(rates[i] * 0.01), Memory: seen(2 * 192 << 20), Concurrency: seen(0.5),
			Dropped: seen(0),
			Latency: loadline.Latency{P99: seen(1.5 * own)}, Own: loadline.Latency{P99: seen(own)},
		}
		for j := range app.Services[i].Replicas {
			so.Pods = append(so.Pods, loadline.PodObservation{
				ID: int64(10*i + j), Node: j % len(app.Nodes), Phase: loadline.PodReady, Size: app.Services[i].Size,
				CPU: seen(each * 0.01), Memory: seen(192 << 20),
			})
		}
		o.Services = append(o.Services, so)
		s.Allocation = append(s.Allocation, loadline.Allocation{Replicas: app.Services[i].Replicas, Size: app.Services[i].Size})
	}
	for n := range o.Nodes {
		o.Nodes[n] = loadline.NodeObservation{CPU: seen(0.4), Memory: seen(3 * 192 << 20)}
	}
	s.Window = []loadline.Observation{o}
	s.InFlight = append([]loadline.Allocation(nil), s.Allocation...)
	return s
}

// fits is the latency of a service's profile at a load.
func fits(s *loadline.Service, load float64) float64 {
	p := profileOf(s.Name, s.Size.CPULimit, 99)
	curve, _ := p.Curve()
	return curve.At(load)
}

// later is the same situation after some windows.
func later(s loadline.Situation, windows int) (time.Time, loadline.Situation) {
	now := noon.Add(time.Duration(windows) * window)
	o := s.Window[0]
	o.At = now
	s.Window = []loadline.Observation{o}
	return now, s
}

// single is an agent that always wants the same action for each service: the last row of its
// input does not distinguish services.
func single(t testing.TB, app *loadline.App, want drpc.Action) *Model {
	t.Helper()
	e, err := newEncoder(app)
	if err != nil {
		t.Fatal(err)
	}
	net, err := nn.MLP{Inputs: []int{e.width()}, Hidden: []int{8}, Outputs: drpc.Axes, Output: nn.Tanh}.Design().Build(nn.HeUniform,
		rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	clear(net.Params())
	for _, tensor := range net.Tensors() {
		if len(tensor.Data) == drpc.Axes { // the last biases
			for axis, x := range want {
				tensor.Data[axis] = 3 * x
			}
		}
	}
	m := &Model{
		App: app.Name, Actor: net, Division: Division{Way: "parslo", Profiles: profiles(app), Factors: map[string]float64{"buy": 1.2}},
		Period: window, Steps: drpc.DefaultSteps(), Reward: drpc.PrintedReward(), Forecasts: make([]*forecast.GRU, len(app.Services)),
	}
	for i := range app.Services {
		m.Services = append(m.Services, app.Services[i].Name)
	}
	return m
}
