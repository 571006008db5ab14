package bench

import (
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/workload"
)

// smallApp runs ten minutes in a few milliseconds.
func smallApp() App {
	service := func(name string, cpu time.Duration) loadline.Service {
		return loadline.Service{
			Name: name, CPU: loadline.Dist{Mean: cpu, CV: 1}, Workers: 32, Backlog: 64,
			Memory: loadline.Memory{Base: 50 << 20}, Startup: loadline.Dist{Mean: 5 * time.Second, CV: 0.2}, Replicas: 2,
			Size:   loadline.Size{CPURequest: 0.2, CPULimit: 0.5, MemoryRequest: 64 << 20, MemoryLimit: 128 << 20},
			Bounds: loadline.Bounds{MinReplicas: 1, MaxReplicas: 10, MinCPU: 0.1, MaxCPU: 1, MinMemory: 32 << 20, MaxMemory: 1 << 30},
		}
	}
	slo := loadline.SLO{Percentile: 99, Latency: 250 * time.Millisecond}
	web := loadline.Call{Service: 0, Probability: 1, Times: 1, Work: 1}
	buy := web
	buy.Stages = [][]loadline.Call{{{Service: 1, Probability: 1, Times: 1, Work: 1}}}
	return App{Name: "small", Model: &loadline.App{
		Name:     "small",
		Services: []loadline.Service{service("web", 10*time.Millisecond), service("db", 20*time.Millisecond)},
		Kinds:    []loadline.Kind{{Name: "get", Share: 3, SLO: slo, Root: web}, {Name: "buy", Share: 1, SLO: slo, Root: buy}},
		Nodes:    []loadline.Node{{Name: "n1", Cores: 8, Memory: 16 << 30}, {Name: "n2", Cores: 8, Memory: 16 << 30}},
	}}
}

func smallLoad(spec string, duration time.Duration) Workload {
	return Workload{Name: spec, Spec: spec, Options: workload.Options{Duration: duration}}
}

const smallBursts = "bursty:low=15,high=50,calm=2m,burst=1m+noise:cv=0.05"

func smallMatrix(policies ...string) Matrix {
	m := Matrix{Apps: []App{smallApp()}, Workloads: []Workload{smallLoad(smallBursts, 6*time.Minute)}, Seeds: 3}
	for _, p := range policies {
		m.Policies = append(m.Policies, ParsePolicy(p))
	}
	return m
}
