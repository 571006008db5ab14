package policy

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
)

var scenarioStart = time.Date(2000, 1, 3, 12, 0, 0, 0, time.UTC)

// scenarioSize is the default size of a pod.
var scenarioSize = loadline.Size{CPURequest: 0.5, MemoryRequest: 1 << 30}

func readService(t *testing.T, text string, s *loadline.Service, a *loadline.Allocation) {
	for _, field := range strings.Fields(text) {
		key, value, _ := strings.Cut(field, "=")
		request, limit, _ := strings.Cut(value, "/")
		n := readNumber(t, field, request)
		switch key {
		case "replicas":
			a.Replicas = int(n)
		case "min":
			s.Bounds.MinReplicas = int(n)
		case "max":
			s.Bounds.MaxReplicas = int(n)
		case "hold":
			s.Hold = int(n)
		case "cpu":
			a.Size.CPURequest, a.Size.CPULimit = n, readNumber(t, field, limit)
		case "mem":
			a.Size.MemoryRequest, a.Size.MemoryLimit = int64(n)<<20, int64(readNumber(t, field, limit))<<20
		case "mincpu":
			s.Bounds.MinCPU = n
		case "maxcpu":
			s.Bounds.MaxCPU = n
		case "minmem":
			s.Bounds.MinMemory = int64(n) << 20
		case "maxmem":
			s.Bounds.MaxMemory = int64(n) << 20
		default:
			t.Fatalf("a service's %q", field)
		}
	}
	s.Size = a.Size
}

// podNames keeps the identity of pods from line to line, as long as their number is the same.
type podNames struct{ first, count int }

func (n *podNames) name(pods []loadline.PodObservation) {
	if len(pods) != n.count {
		n.first, n.count = n.first+n.count, len(pods)
	}
	for i := range pods {
		pods[i].ID = int64(n.first + i + 1)
	}
}

// readSeen reads "4 ready 90%, 1 pending, rate=120".
func readSeen(t *testing.T, now time.Time, text string, size loadline.Size, names *podNames) loadline.ServiceObservation {
	if size == (loadline.Size{}) {
		size = scenarioSize
	}
	var seen loadline.ServiceObservation
	for _, group := range strings.Split(text, ",") {
		fields := strings.Fields(group)
		if len(fields) == 0 {
			continue
		}
		if key, value, own := strings.Cut(fields[0], "="); own {
			sample := loadline.Sample{Value: readNumber(t, group, value), At: now}
			switch key {
			case "rate":
				seen.Rate = sample
			case "cpu":
				seen.CPU = sample
			case "messages":
				seen.Concurrency = sample
			case "waiting":
				seen.Queue = sample
			case "held":
				seen.Held = sample
			case "throttled":
				seen.Throttled = sample
			case "restarts":
				seen.Restarts = sample
			default:
				t.Fatalf("a sample of %q", key)
			}
			continue
		}
		pod := readPod(t, now, fields[1:], size)
		for range int(readNumber(t, group, fields[0])) {
			seen.Pods = append(seen.Pods, pod)
		}
	}
	names.name(seen.Pods)
	return seen
}

// readPod reads "ready 90% mem=50%".
func readPod(t *testing.T, now time.Time, fields []string, size loadline.Size) loadline.PodObservation {
	long := now.Add(-time.Hour)
	pod := loadline.PodObservation{Phase: loadline.PodReady, Created: long, Ready: long, Size: size}
	switch fields[0] {
	case "ready", "missing":
	case "pending":
		pod.Phase, pod.Ready = loadline.PodPending, time.Time{}
	case "starting":
		pod.Phase, pod.Created, pod.Ready = loadline.PodStarting, now.Add(-20*time.Second), time.Time{}
	case "unready":
		pod.Phase, pod.Created, pod.Ready = loadline.PodStarting, now.Add(-time.Minute), time.Time{}
	case "fresh":
		pod.Created, pod.Ready = now.Add(-time.Minute), now.Add(-10*time.Second)
	case "draining":
		pod.Phase = loadline.PodDraining
	default:
		t.Fatalf("pods that are %q", fields[0])
	}
	for _, field := range fields[1:] {
		key, value, named := strings.Cut(field, "=")
		if !named {
			key, value = "cpu", field
		}
		if key == "age" {
			age, err := time.ParseDuration(value)
			if err != nil {
				t.Fatal(err)
			}
			pod.Created, pod.Ready = now.Add(-age), now.Add(-age)
			continue
		}
		n := readNumber(t, field, strings.TrimSuffix(value, "%"))
		switch key {
		case "cpu":
			pod.CPU = loadline.Sample{Value: n / 100 * size.CPURequest, At: now}
		case "cores":
			pod.CPU = loadline.Sample{Value: n, At: now}
		case "mem":
			pod.Memory = loadline.Sample{Value: n / 100 * float64(size.MemoryRequest), At: now}
		case "MiB":
			pod.Memory = loadline.Sample{Value: n * (1 << 20), At: now}
		case "busy":
			pod.Busy = loadline.Sample{Value: n, At: now}
		default:
			t.Fatalf("a pod's %q", field)
		}
	}
	return pod
}

func readNumber(t *testing.T, where, text string) float64 {
	if text == "" {
		return 0
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatalf("%q: %v", where, err)
	}
	return n
}

func sampleAt(value float64, since time.Duration) loadline.Sample {
	return loadline.Sample{Value: value, At: scenarioStart.Add(since)}
}
