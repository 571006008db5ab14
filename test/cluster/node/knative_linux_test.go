package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/test/cluster"
	"github.com/loadline/loadline/test/cluster/binaries"
)

// function is a Knative Service whose pods take some CPU time for each request. The times are Knative's
// shortest.
const function = `
apiVersion: serving.knative.dev/v1
kind: Service
metadata: {name: hello}
spec:
  template:
    metadata:
      annotations:
        autoscaling.knative.dev/class: loadline.dev
        autoscaling.knative.dev/metric: concurrency
        autoscaling.knative.dev/target: "2"
        autoscaling.knative.dev/target-utilization-percentage: "100"
        autoscaling.knative.dev/window: 6s
        autoscaling.knative.dev/max-scale: "4"
    spec:
      containers:
        - image: %s
          args: [-app, single, -service, server]
          ports: [{containerPort: 8080}]
          readinessProbe: {httpGet: {path: /ready}}
          resources: {requests: {cpu: 50m}}
`

// knativeWorld is Knative Serving with one function, and a Loadline that scales it.
type knativeWorld struct {
	n     *Node
	k     *cluster.Knative
	ns    string
	admin client.Client
}

// TestKnativeService runs a Knative Service of the class loadline.dev with Knative's own controller,
// webhook, activator and queue-proxies: it becomes ready, goes to zero, comes back with a request that
// the activator holds, follows the load up and down, and outlives a Loadline that is killed.
func TestKnativeService(t *testing.T) {
	w := startKnative(t)
	run := func() *cluster.Product {
		return w.n.Run(t, cluster.ProductOptions{Namespaces: []string{w.ns}, Flags: []string{"--knative"}})
	}
	loadline := run()
	w.n.ApplyYAML(t, w.ns, fmt.Sprintf(function, AppImage))
	w.waitService(t, "True")
	stop := w.load(t, 1) // an idle revision would be at zero before a busy machine looks at it
	w.waitFor(t, "an active revision with a pod", func(s knativeState) bool {
		return s.active == "True" && s.initialized == "True" && s.ready == "True" && s.actual >= 1 && s.desired >= 1
	})
	stop()

	w.waitFor(t, "zero", func(s knativeState) bool {
		return s.active == "False/NoTraffic" && s.mode == "Proxy" && s.replicas == 0 && s.actual == 0 && s.desired == 0
	})
	w.waitService(t, "True") // a service at zero is ready

	began := time.Now()
	w.request(t)
	t.Logf("a request that found no pod took %v", time.Since(began).Round(time.Millisecond))
	stop = w.load(t, 8)
	w.waitFor(t, "four pods for eight requests at a time", func(s knativeState) bool {
		return s.active == "True" && s.replicas == 4 && s.actual == 4
	})
	loadline.Kill()
	cluster.Stays(t, 10*time.Second, "four pods without Loadline", func() error {
		if s := w.state(t); s.replicas != 4 || s.active != "True" {
			return fmt.Errorf("%+v", s)
		}
		return nil
	})
	loadline = run()
	answered, failed := stop()
	t.Logf("%d requests were answered, %d failed", answered, failed)
	if answered == 0 || failed > 0 {
		t.Error("requests failed, although there were pods at all times")
	}
	w.waitFor(t, "zero again", func(s knativeState) bool { return s.replicas == 0 && s.actual == 0 })

	// While Loadline is away the activator holds a request, and Loadline finds it when it is back.
	loadline.Kill()
	done := make(chan error, 1)
	go func() { done <- w.send(t.Context()) }()
	cluster.Stays(t, 5*time.Second, "a request that is held", func() error {
		select {
		case err := <-done:
			return fmt.Errorf("it was answered: %v", err)
		default:
			return nil
		}
	})
	run()
	if err := <-done; err != nil {
		t.Error(err)
	}

	// A LoadLine decides as soon as it acts: without metrics it raises the service to its floor.
	w.n.ApplyYAML(t, w.ns, fmt.Sprintf(functionsLine, "Act"))
	w.waitFor(t, "the LoadLine's floor", func(s knativeState) bool { return s.replicas == 3 && s.actual == 3 && s.desired == 3 })
	cluster.Stays(t, 10*time.Second, "three pods without a request", func() error {
		if s := w.state(t); s.replicas != 3 {
			return fmt.Errorf("%+v", s)
		}
		return nil
	})
	w.n.ApplyYAML(t, w.ns, fmt.Sprintf(functionsLine, "Recommend"))
	w.waitFor(t, "zero by the rule of the annotations", func(s knativeState) bool { return s.replicas == 0 && s.actual == 0 })
}

// functionsLine is a LoadLine whose Prometheus does not exist.
const functionsLine = `
apiVersion: loadline.dev/v1alpha1
kind: LoadLine
metadata: {name: functions}
spec:
  mode: %s
  objectives: [{kind: request, latency: 250ms, service: hello}]
  prometheus: {url: "http://127.0.0.1:1", timeout: 1s}
  interval: 1s
  services:
    - name: hello
      targetRef: {apiVersion: serving.knative.dev/v1, kind: Service, name: hello}
      movedBy: Knative
      bounds: {replicas: {min: 0, max: 4}}
      floor: {replicas: 3}
  guard: {data: {maxAge: 10s, holdFor: 1s, recovery: 5s, floorAfter: 5s}}
`

func startKnative(t *testing.T) *knativeWorld {
	t.Helper()
	n := Start(t)
	files, err := binaries.Knative(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(n.Dir(), "queue.tar")
	image, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer image.Close()
	if err := writeImage(image, queueImage, filepath.Join(files.Programs, "queue")); err != nil {
		t.Fatal(err)
	}
	n.Import(t, path)
	k := n.Knative(t, cluster.KnativeOptions{Address: nodeAddress, QueueImage: queueImage, Autoscaler: map[string]string{
		"scale-to-zero-grace-period": "6s", "stable-window": "6s",
	}})
	n.InstallLoadline(t, "optional/knative.yaml")
	return &knativeWorld{n: n, k: k, ns: n.Namespace(t), admin: n.Client(t, cluster.Admin)}
}

const queueImage = "loadline.dev/queue:1"

// knativeState is what is seen of the function's revision.
type knativeState struct {
	active, initialized, ready, mode string
	actual, desired                  int64
	replicas                         int32
}

func (w *knativeWorld) get(t *testing.T, version, kind, name string) (map[string]any, error) {
	t.Helper()
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(version)
	o.SetKind(kind)
	err := w.admin.Get(t.Context(), types.NamespacedName{Namespace: w.ns, Name: name}, o)
	return o.Object, err
}

func (w *knativeWorld) state(t *testing.T) knativeState {
	t.Helper()
	const revision = "hello-00001"
	var s knativeState
	pa, err := w.get(t, "autoscaling.internal.knative.dev/v1alpha1", "PodAutoscaler", revision)
	if err != nil {
		return s
	}
	s.active, s.initialized, s.ready = condition(pa, "Active"), condition(pa, "ScaleTargetInitialized"), condition(pa, "Ready")
	s.actual, _, _ = unstructured.NestedInt64(pa, "status", "actualScale")
	s.desired, _, _ = unstructured.NestedInt64(pa, "status", "desiredScale")
	if sks, err := w.get(t, "networking.internal.knative.dev/v1alpha1", "ServerlessService", revision); err == nil {
		s.mode, _, _ = unstructured.NestedString(sks, "spec", "mode")
	}
	var d appsv1.Deployment
	if err := w.admin.Get(t.Context(), types.NamespacedName{Namespace: w.ns, Name: revision + "-deployment"}, &d); err == nil {
		s.replicas = *d.Spec.Replicas
	}
	return s
}

// condition of an object: True, or False/REASON.
func condition(o map[string]any, kind string) string {
	all, _, _ := unstructured.NestedSlice(o, "status", "conditions")
	for _, each := range all {
		c := each.(map[string]any)
		if c["type"] != kind {
			continue
		}
		if reason, _ := c["reason"].(string); reason != "" {
			return fmt.Sprintf("%s/%s", c["status"], reason)
		}
		return c["status"].(string)
	}
	return ""
}

func (w *knativeWorld) waitFor(t *testing.T, what string, is func(knativeState) bool) {
	t.Helper()
	began := time.Now()
	cluster.Eventually(t, what, func() error {
		if s := w.state(t); !is(s) {
			return fmt.Errorf("%+v", s)
		}
		return nil
	})
	t.Logf("%s: after %v", what, time.Since(began).Round(100*time.Millisecond))
}

// waitService until Knative says that the service is ready.
func (w *knativeWorld) waitService(t *testing.T, ready string) {
	t.Helper()
	cluster.Eventually(t, "the Knative Service to be ready", func() error {
		o, err := w.get(t, "serving.knative.dev/v1", "Service", "hello")
		if err != nil {
			return err
		}
		if is := condition(o, "Ready"); is != ready {
			return fmt.Errorf("it is %s: %v", is, o["status"])
		}
		return nil
	})
}

// send one request by the activator, as an ingress does with a revision in mode Proxy.
func (w *knativeWorld) send(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+w.k.Activator+"/request", nil)
	if err != nil {
		return err
	}
	request.Header.Set("Knative-Serving-Namespace", w.ns)
	request.Header.Set("Knative-Serving-Revision", "hello-00001")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		return errors.Join(err, fmt.Errorf("%s: %s", answer.Status, text))
	}
	return nil
}

func (w *knativeWorld) request(t *testing.T) {
	t.Helper()
	if err := w.send(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// load sends so many requests at a time until it is stopped, and tells then how many were answered.
func (w *knativeWorld) load(t *testing.T, atOnce int) (stop func() (answered, failed int)) {
	t.Helper()
	var mu sync.Mutex
	var wait sync.WaitGroup
	var good, bad int
	end := make(chan struct{})
	for range atOnce {
		wait.Go(func() {
			for {
				select {
				case <-end:
					return
				default:
				}
				err := w.send(context.Background())
				mu.Lock()
				if err != nil {
					bad++
				} else {
					good++
				}
				mu.Unlock()
			}
		})
	}
	return func() (int, int) {
		close(end)
		wait.Wait()
		return good, bad
	}
}
