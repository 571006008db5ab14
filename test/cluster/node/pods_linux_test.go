package node

import (
	"slices"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/lab/nodestudy"
	"github.com/loadline/loadline/lab/realapp"
)

// regular is a load of one request every so often.
func regular(requests int, every time.Duration) []realapp.Arrival {
	arrivals := make([]realapp.Arrival, requests)
	for i := range arrivals {
		arrivals[i].Due = time.Duration(i) * every
	}
	return arrivals
}

// Pods of an application model use the CPU time that the model says and the overhead that
// lab/nodestudy states, by the kernel's count, which hardly depends on what else runs.
func TestRealPodUsesTheCPUOfItsModel(t *testing.T) {
	n := Start(t)
	const requests, quota = 200, 0.5
	service := func(name string, cpu time.Duration) loadline.Service {
		return loadline.Service{
			Name: name, CPU: loadline.Dist{Mean: cpu}, Workers: 16, Backlog: requests, Replicas: 1,
			Memory: loadline.Memory{Base: 1 << 20, PerRequest: 64 << 10},
			Size:   loadline.Size{CPURequest: quota / 2, CPULimit: quota, MemoryRequest: 64 << 20, MemoryLimit: 128 << 20},
			Bounds: loadline.Bounds{MinReplicas: 1, MaxReplicas: 2, MinCPU: 0.05, MaxCPU: 1, MinMemory: 32 << 20, MaxMemory: 1 << 30},
		}
	}
	call := loadline.Call{Service: 1, Probability: 1, Times: 1, Work: 1}
	app := &loadline.App{
		Name: "two", Services: []loadline.Service{service("front", 5*time.Millisecond), service("db", 2*time.Millisecond)},
		Kinds: []loadline.Kind{{Name: "buy", Share: 1, SLO: loadline.SLO{Percentile: 99, Latency: time.Second},
			Root: loadline.Call{Probability: 1, Times: 1, Work: 1, Stages: [][]loadline.Call{{call}}}}},
		Nodes: []loadline.Node{{Name: Name, Cores: 2, Memory: 8 << 30}},
	}
	d := n.Deploy(t, n.Namespace(t), app)
	for i := range app.Services {
		if got := d.quotaOf(t, app.Services[i].Name)(); got != quota {
			t.Errorf("the quota of %s is %v cores, want %v", app.Services[i].Name, got, quota)
		}
	}
	containers := d.containers(t)
	before := countersOf(containers)
	answers := d.SendArrivals(t, regular(requests, 20*time.Millisecond), false, 1).Answers(t)
	after := countersOf(containers)
	var latencies []time.Duration
	for _, a := range answers {
		if a.Failed {
			t.Errorf("the request due at %v failed", a.Due)
		}
		latencies = append(latencies, a.Latency)
	}
	slices.Sort(latencies)
	t.Logf("%d answers; the fastest after %v, half of them within %v", len(answers), latencies[0], latencies[len(latencies)/2])
	overhead := []time.Duration{nodestudy.Measured.Visit + nodestudy.Measured.Call, nodestudy.Measured.Visit}
	for i := range app.Services {
		s := &app.Services[i]
		used, says := (after[s.Name].CPUSeconds-before[s.Name].CPUSeconds)/requests, s.CPU.Mean.Seconds()
		t.Logf("a visit of %s used %.3f ms of CPU, the model says %.3f and %v of overhead; %v of %v periods throttled", s.Name, 1e3*used,
			1e3*says, overhead[i], after[s.Name].Throttled-before[s.Name].Throttled, after[s.Name].Periods-before[s.Name].Periods)
		if most := says + 3*overhead[i].Seconds(); used < says || used > most {
			t.Errorf("a visit of %s used %.3f ms of CPU, want %.3f to %.3f", s.Name, 1e3*used, 1e3*says, 1e3*most)
		}
	}
}
