package node

import (
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/lab/realapp"
)

// containerOf a pod that runs; "" if it does not.
func containerOf(pod *corev1.Pod) string {
	for _, c := range pod.Status.ContainerStatuses {
		if c.State.Running != nil {
			_, id, _ := strings.Cut(c.ContainerID, "://")
			return id
		}
	}
	return ""
}

// containers of each service that run. The API server may take its time, so counters are read without
// it.
func (d *Deployed) containers(t testing.TB) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for i := range d.App.Services {
		name := d.App.Services[i].Name
		for _, pod := range d.node.Pods(t, d.Namespace, name) {
			if id := containerOf(&pod); id != "" {
				all[name] = append(all[name], id)
			}
		}
	}
	return all
}

// countersOf containers: the sum for each service over those that are still there.
func countersOf(containers map[string][]string) map[string]Counters {
	all := map[string]Counters{}
	for name, ids := range containers {
		var sum Counters
		for _, id := range ids {
			c, err := Cgroup(id)
			if err != nil {
				continue // it has ended
			}
			sum.CPUSeconds, sum.Periods, sum.Throttled = sum.CPUSeconds+c.CPUSeconds, sum.Periods+c.Periods, sum.Throttled+c.Throttled
		}
		all[name] = sum
	}
	return all
}

// apply a change as a user would: replicas by the scale, sizes by the subresource resize of each pod.
// It reports what the API server refuses.
func (d *Deployed) apply(t testing.TB, service string, s loadline.Setting) error {
	t.Helper()
	if s.Replicas.Set {
		d.node.Scale(t, d.Namespace, service, s.Replicas.Value)
	}
	if !s.CPURequest.Set {
		return nil
	}
	patch := fmt.Appendf(nil, `{"spec":{"containers":[{"name":"app","resources":{"requests":{"cpu":"%.0fm"},"limits":{"cpu":"%.0fm"}}}]}}`,
		1000*s.CPURequest.Value, 1000*s.CPULimit.Value)
	for _, pod := range d.node.Pods(t, d.Namespace, service) {
		err := d.node.admin.SubResource("resize").Patch(t.Context(), &pod, client.RawPatch(types.StrategicMergePatchType, patch))
		if err != nil {
			return err
		}
	}
	return nil
}

// quotaOf the only pod of a service, in its cgroup.
func (d *Deployed) quotaOf(t testing.TB, service string) (read func() float64) {
	t.Helper()
	pod := d.node.Pods(t, d.Namespace, service)[0]
	id := containerOf(&pod)
	return func() float64 {
		c, err := Cgroup(id)
		if err != nil {
			return math.NaN()
		}
		return c.QuotaCores
	}
}

// isReady reports whether a pod is.
func isReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// served is how many requests each pod of a service has answered, by its name.
func (d *Deployed) served(t testing.TB, service string) map[string]float64 {
	t.Helper()
	all := map[string]float64{}
	for _, pod := range d.node.Pods(t, d.Namespace, service) {
		if !isReady(&pod) {
			continue
		}
		n, err := servedBy(t.Context(), pod.Status.PodIP)
		if err != nil {
			t.Logf("pod %s: %v", pod.Name, err)
			continue
		}
		all[pod.Name] = n
	}
	return all
}

func servedBy(ctx context.Context, ip string) (float64, error) {
	url := "http://" + net.JoinHostPort(ip, strconv.Itoa(realapp.Port)) + "/metrics"
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "http_server_request_duration_seconds_count{") {
			_, value, _ := strings.Cut(line, "} ")
			v, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				return 0, err
			}
			sum += v
		}
	}
	return sum, nil
}

// others is a count of the CPU seconds that processes outside these namespaces have used.
func others(t testing.TB) float64 {
	t.Helper()
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	fields := strings.Fields(first) // cpu user nice system idle iowait irq softirq steal ...
	if len(fields) < 8 {
		t.Fatalf("read /proc/stat: %q", first)
	}
	busy, err := ticks(fields[1], fields[2], fields[3], fields[6], fields[7])
	if err != nil {
		t.Fatalf("read /proc/stat: %v", err)
	}
	processes, err := filepath.Glob("/proc/[0-9]*/stat") // those of these namespaces
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range processes {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		// PID (NAME) STATE ...: user and system time are fields 14 and 15, those of ended children 16 and 17.
		fields := strings.Fields(string(text)[strings.LastIndexByte(string(text), ')')+1:])
		if len(fields) < 15 {
			t.Fatalf("read %s: %d fields after the name", path, len(fields))
		}
		ours, err := ticks(fields[11], fields[12])
		if err != nil {
			t.Fatalf("read %s: %v", path, err)
		}
		busy -= ours
	}
	return busy
}

func ticks(fields ...string) (float64, error) {
	const perSecond = 100 // USER_HZ, on all architectures that Kubernetes runs on
	sum := 0.0
	for _, field := range fields {
		v, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return 0, err
		}
		sum += v / perSecond
	}
	return sum, nil
}

// sleepUntil an instant, or the end of the test.
func sleepUntil(t testing.TB, due time.Time) {
	t.Helper()
	select {
	case <-time.After(time.Until(due)):
	case <-t.Context().Done():
		t.Fatal(t.Context().Err())
	}
}
