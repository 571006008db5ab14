package scale

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/test/cluster"
)

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

// layout of the services of a run.
type layout struct {
	name                string
	loadlines, services int // LoadLines, and services of each
	shards              int
}

// layouts of a nightly run, and the one of CI.
var (
	nightly = []layout{
		{"500 LoadLines of one service", 500, 1, 1}, // beside 500 HPAs and 500 ScaledObjects
		{"200 LoadLines of 10 services", 200, 10, 1},
		{"2,000 LoadLines of one service", 2000, 1, 1},
		{"1,000 LoadLines of 10 services, two shards", 1000, 10, 2},
	}
	smoke = []layout{{"6 LoadLines of 3 services", 6, 3, 1}}
)

// TestScale measures the product with many services: the time of a pass, CPU time, memory, queries and writes;
// and beside it what Kubernetes' HPA controller and KEDA use. SCALE=nightly runs the large layouts, SCALE_ONLY one
// of them by a part of its name, SCALE_FOR is the time of one.
func TestScale(t *testing.T) {
	list, rivals, measured, interval := smoke, 6, 20*time.Second, 5*time.Second
	if os.Getenv("SCALE") == "nightly" {
		list, rivals, measured, interval = nightly, 500, 90*time.Second, 15*time.Second
	}
	if text := os.Getenv("SCALE_FOR"); text != "" {
		var err error
		if measured, err = time.ParseDuration(text); err != nil {
			t.Fatalf("SCALE_FOR: %v", err)
		}
	}
	run := func(name string, of func(*testing.T)) {
		if only := os.Getenv("SCALE_ONLY"); strings.Contains(name, only) {
			t.Run(name, of)
		}
	}
	for _, l := range list {
		run(l.name, func(t *testing.T) { measure(t, l, measured, interval.String()) })
	}
	run(fmt.Sprintf("%d HPAs", rivals), func(t *testing.T) { measureHPAs(t, rivals, measured, interval) })
	run(fmt.Sprintf("%d ScaledObjects", rivals), func(t *testing.T) { measureScaledObjects(t, rivals, measured, interval) })
}

func measure(t *testing.T, l layout, measured time.Duration, interval string) {
	c := cluster.Start(t, cluster.Options{
		// No pods: nothing of this run is about them.
		ControllerManager: []string{"--controllers=*,-deployment,-replicaset"},
	})
	c.InstallLoadline(t)
	metrics := &answers{}
	metrics.services.Store(int64(l.services))
	server := httptest.NewServer(metrics)
	defer server.Close()
	admin := c.Client(t, cluster.Admin)
	began := time.Now()
	each(t, l.loadlines, func(ctx context.Context, i int) error { return deploy(ctx, admin, l, i, server.URL, interval) })
	t.Logf("%d LoadLines of %d services deployed in %v", l.loadlines, l.services, time.Since(began).Round(time.Second))

	var processes []*cluster.Product
	for shard := range l.shards {
		flags := []string{"--log-level", "warn"}
		if l.shards > 1 {
			flags = append(flags, "--shards", fmt.Sprint(l.shards), "--shard", fmt.Sprint(shard))
		}
		processes = append(processes, c.Run(t, cluster.ProductOptions{All: true, LeaderElect: l.shards > 1, LeaseNamespace: "loadline-system",
			Flags: flags}))
	}
	passes := func() (n float64) {
		for _, p := range processes {
			n += metric(t, p, "loadline_pass_seconds_count")
		}
		return n
	}
	cluster.Eventually(t, "three passes of every LoadLine", func() error {
		if n := passes(); n < float64(3*l.loadlines) {
			return fmt.Errorf("%v passes", n)
		}
		return nil
	})
	before, beforeQueries, beforeWrites := make([]cluster.Usage, len(processes)), metrics.queries.Load(), c.Writes(t)
	var beforePasses []histogram
	for i, p := range processes {
		before[i] = p.Usage(t)
		beforePasses = append(beforePasses, passSeconds(t, p))
	}
	time.Sleep(measured)
	seconds := measured.Seconds()
	writes := c.Writes(t).Sub(beforeWrites)
	queries := float64(metrics.queries.Load()-beforeQueries) / seconds
	for i, p := range processes {
		now := p.Usage(t)
		all := passSeconds(t, p).minus(beforePasses[i])
		if all.count() == 0 {
			t.Error("no pass was made")
		}
		t.Logf("process %d: %.3f cores, %.0f MB resident (%.0f MB at most); %.1f passes/s; a pass takes %s at the median, %s at the 99th percentile",
			i, (now.CPU-before[i].CPU).Seconds()/seconds, float64(now.Resident)/1e6, float64(now.Peak)/1e6, all.count()/seconds,
			all.quantile(0.5), all.quantile(0.99))
	}
	t.Logf("%.1f Prometheus queries/s; API writes/s: %s", queries, writes.PerSecond(seconds))
	healthy(t, admin, l)
}

// healthy fails unless every LoadLine decides on fresh data.
func healthy(t *testing.T, admin client.Client, l layout) {
	t.Helper()
	var list v1alpha1.LoadLineList
	if err := admin.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	bad := 0
	for i := range list.Items {
		for _, c := range list.Items[i].Status.Conditions {
			if c.Type == v1alpha1.ConditionReady && c.Status != "True" || c.Type == v1alpha1.ConditionStale && c.Status != "False" {
				if bad++; bad < 4 {
					t.Errorf("%s: %s is %s: %s", list.Items[i].Namespace, c.Type, c.Status, c.Message)
				}
			}
		}
	}
	if len(list.Items) != l.loadlines || bad > 0 {
		t.Errorf("%d LoadLines of %d, %d conditions are not as they should be", len(list.Items), l.loadlines, bad)
	}
}

// each runs something for many at once.
func each(t *testing.T, n int, do func(ctx context.Context, i int) error) {
	t.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	next := 0
	for range 16 {
		wg.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				mu.Unlock()
				if i >= n || t.Context().Err() != nil {
					return
				}
				if err := do(t.Context(), i); err != nil {
					t.Error(i, err)
					return
				}
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// deploy one LoadLine with its Deployments, in a namespace of its own.
func deploy(ctx context.Context, admin client.Client, l layout, i int, url, interval string) error {
	ns := fmt.Sprintf("app-%d", i)
	if err := admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}); err != nil {
		return err
	}
	for j := range l.services {
		if err := deployment(ctx, admin, ns, serviceName(j)); err != nil {
			return err
		}
	}
	return admin.Create(ctx, loadLine(ns, l.services, url, interval))
}

// deployment without pods, which says of itself that it has two.
func deployment(ctx context.Context, admin client.Client, ns, name string) error {
	labels := map[string]string{"app": name}
	replicas := int32(2)
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: labels},
		Spec: appsv1.DeploymentSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "app", Image: "app:1", Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{"cpu": quantity("500m"), "memory": quantity("256Mi")}}}}}}},
	}
	if err := admin.Create(ctx, d); err != nil {
		return err
	}
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: replicas, UpdatedReplicas: replicas,
		ReadyReplicas: replicas, AvailableReplicas: replicas}
	return admin.Status().Update(ctx, d)
}
