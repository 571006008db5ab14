package cluster

import (
	"os"
	"testing"
	"time"

	"github.com/loadline/loadline"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(spawnDir); dir != "" {
		spawnAndWait(dir)
	}
	os.Exit(Main(m))
}

// shop is a small application: a front that calls a back once.
func shop() *loadline.App {
	service := func(name string, cpu time.Duration, replicas int) loadline.Service {
		return loadline.Service{
			Name: name, CPU: loadline.Dist{Mean: cpu, CV: 1}, Workers: 32, Backlog: 320,
			Memory: loadline.Memory{Base: 50 << 20, PerRequest: 64 << 10}, Startup: loadline.Dist{Mean: time.Second},
			Replicas: replicas,
			Size:     loadline.Size{CPURequest: 0.5, CPULimit: 1, MemoryRequest: 64 << 20, MemoryLimit: 128 << 20},
			Bounds:   loadline.Bounds{MinReplicas: 1, MaxReplicas: 20, MinCPU: 0.1, MaxCPU: 4, MinMemory: 32 << 20, MaxMemory: 1 << 30},
		}
	}
	return &loadline.App{
		Name:     "shop",
		Services: []loadline.Service{service("front", 10*time.Millisecond, 2), service("back", 5*time.Millisecond, 1)},
		Kinds: []loadline.Kind{{
			Name: "buy", Share: 1, SLO: loadline.SLO{Percentile: 99, Latency: 250 * time.Millisecond},
			Root: loadline.Call{Probability: 1, Times: 1, Work: 1,
				Stages: [][]loadline.Call{{{Service: 1, Probability: 1, Times: 1, Work: 1}}}},
		}},
	}
}
