package node

import (
	"encoding/json"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/lab/realapp"
)

// A pod of an application model uses the CPU time that the model says, by the kernel's count, which
// does not depend on what else runs.
func TestRealPodUsesTheCPUOfItsModel(t *testing.T) {
	n := Start(t)
	ns := n.Namespace(t)
	const each, requests = 5 * time.Millisecond, 200
	app := &loadline.App{
		Name: "one",
		Services: []loadline.Service{{
			Name: "front", CPU: loadline.Dist{Mean: each}, Workers: 16, Backlog: requests, Replicas: 1,
			Memory: loadline.Memory{Base: 1 << 20, PerRequest: 64 << 10},
			Size:   loadline.Size{CPURequest: 0.25, CPULimit: 0.5, MemoryRequest: 64 << 20, MemoryLimit: 128 << 20},
			Bounds: loadline.Bounds{MinReplicas: 1, MaxReplicas: 2, MinCPU: 0.05, MaxCPU: 1, MinMemory: 32 << 20, MaxMemory: 1 << 30},
		}},
		Kinds: []loadline.Kind{{Name: "buy", Share: 1, SLO: loadline.SLO{Percentile: 99, Latency: time.Second},
			Root: loadline.Call{Probability: 1, Times: 1, Work: 1}}},
		Nodes: []loadline.Node{{Name: Name, Cores: 2, Memory: 8 << 30}},
	}
	objects, err := realapp.Objects(app, realapp.ObjectsSettings{Namespace: ns, Image: AppImage, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		text, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		n.ApplyYAML(t, ns, string(text))
	}
	n.WaitReady(t, ns, "front", 1)
	pod := n.Pods(t, ns, "front")[0]
	_, id, _ := strings.Cut(pod.Status.ContainerStatuses[0].ContainerID, "://")
	before, err := Cgroup(id)
	if err != nil {
		t.Fatal(err)
	}
	if before.QuotaCores != 0.5 {
		t.Errorf("the quota is %v cores, want 0.5", before.QuotaCores)
	}
	arrivals := make([]realapp.Arrival, requests)
	for i := range arrivals {
		arrivals[i].Due = time.Duration(i) * 20 * time.Millisecond
	}
	g := &realapp.Generator{App: app, Client: &http.Client{}, Entry: func(string) string {
		return net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(realapp.Port))
	}}
	for _, a := range g.Send(t.Context(), time.Now(), arrivals) {
		if a.Failed {
			t.Errorf("the request due at %v failed", a.Due)
		}
	}
	after, err := Cgroup(id)
	if err != nil {
		t.Fatal(err)
	}
	used, want := after.CPUSeconds-before.CPUSeconds, requests*each.Seconds()
	t.Logf("%d requests used %.3f CPU-s, the model says %.3f; %v of %v periods throttled", requests, used, want,
		after.Throttled-before.Throttled, after.Periods-before.Periods)
	if used < want || used > 2*want {
		t.Errorf("they used %.3f CPU-s, want %.3f to %.3f", used, want, 2*want)
	}
}
