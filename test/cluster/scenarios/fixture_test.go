// Package scenarios runs Loadline itself in a real cluster: the product as a process with the
// permissions of deploy/, real workloads, a real Prometheus; only the behaviour of pods under
// load is simulated (cluster.Player).
package scenarios

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/test/cluster"
)

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

// fixture is one application under load, with Prometheus beside it.
type fixture struct {
	c      *cluster.Cluster
	admin  client.Client
	ns     string
	app    *loadline.App
	player *cluster.Player
	prom   *cluster.Prometheus
}

// setUp deploys an application in a namespace of its own, puts it under load and
// measures it.
func setUp(t *testing.T, app *loadline.App, perSecond float64, disturbances ...sim.Disturbance) *fixture {
	t.Helper()
	c := cluster.Shared(t)
	c.InstallLoadline(t)
	return setUpIn(t, c, c.Namespace(t), app, perSecond, disturbances...)
}

func setUpIn(t *testing.T, c *cluster.Cluster, ns string, app *loadline.App, perSecond float64, disturbances ...sim.Disturbance) *fixture {
	t.Helper()
	s := &fixture{c: c, admin: c.Client(t, cluster.Admin), ns: ns, app: app}
	c.Deploy(t, s.ns, app)
	s.player = c.Play(t, cluster.PlayerOptions{App: app, Namespace: s.ns, Disturbances: disturbances})
	s.player.SetRate(perSecond)
	s.prom = c.Prometheus(t, cluster.PrometheusOptions{Jobs: s.player.Jobs()})
	return s
}

// run starts a Loadline for the fixture's namespace alone: scenarios run in parallel.
func (s *fixture) run(t *testing.T, o cluster.ProductOptions) *cluster.Product {
	t.Helper()
	o.Namespaces = []string{s.ns}
	return s.c.Run(t, o)
}

// staysFor fails the test if a Deployment's replicas change during some passes of the
// controller.
func (s *fixture) staysFor(t *testing.T, p *cluster.Product, passes float64, name string, replicas int) {
	t.Helper()
	began := metric(t, p, passCount)
	cluster.StaysUntil(t, fmt.Sprintf("%d replicas of %s during %v passes", replicas, name, passes), func() error {
		if n := s.replicas(t, name); n != replicas {
			return fmt.Errorf("%d replicas; status: %s", n, s.why(t))
		}
		return nil
	}, func() error {
		if n := metric(t, p, passCount) - began; n < passes {
			return fmt.Errorf("%v of %v passes", n, passes)
		}
		return nil
	})
}

// passCount is how many passes a controller has made.
const passCount = "loadline_pass_seconds_count"

// settles waits until a Deployment has had a number of ready replicas during some
// passes of the controller.
func (s *fixture) settles(t *testing.T, p *cluster.Product, passes float64, name string, replicas int) {
	t.Helper()
	began := metric(t, p, passCount)
	cluster.Eventually(t, fmt.Sprintf("%d ready replicas of %s during %v passes", replicas, name, passes), func() error {
		now := metric(t, p, passCount)
		if d := s.deployment(t, name); int(*d.Spec.Replicas) != replicas || int(d.Status.ReadyReplicas) != replicas {
			began = now
			return fmt.Errorf("%d replicas, %d ready; status: %s", *d.Spec.Replicas, d.Status.ReadyReplicas, s.why(t))
		}
		if now-began < passes {
			return fmt.Errorf("%v of %v passes", now-began, passes)
		}
		return nil
	})
}

// single is the smallest application: one service, 10 ms of CPU a request.
func single(t *testing.T) *loadline.App {
	t.Helper()
	m, err := apps.Load("single")
	if err != nil {
		t.Fatal(err)
	}
	return m.App
}

// quick are guard settings for tests that cannot wait minutes: the same guards, with short
// windows.
const quick = `
  guard:
    data: {maxAge: 10s, holdFor: 5s, recovery: 5s, floorAfter: 30s}
    burn: {windows: [{short: 10s, long: 20s, rate: 20}], recovery: 20s, longestRecovery: 1m, scaleInWindow: 10s}
    coolDown: {up: 0s, down: 6s}
    observed: {window: 10s}
    starting: {patience: 20s, settle: 1s}
    gray: {part: "0.5", span: 4s, retreat: 20s}
`

// loadLine of the fixture's one service, with lines of the spec that a test adds or replaces by
// key.
func (s *fixture) loadLine(t *testing.T, mode v1alpha1.Mode, spec string) {
	t.Helper()
	s.c.ApplyYAML(t, s.ns, s.text(mode, spec))
}

func (s *fixture) text(mode v1alpha1.Mode, spec string) string {
	service := s.app.Services[0].Name
	lines := map[string]string{
		"objectives": "  objectives: [{kind: request, latency: 250ms, service: " + service + "}]\n",
		"prometheus": fmt.Sprintf("  prometheus: {url: %q, timeout: 2s}\n", s.prom.URL),
		"interval":   "  interval: 2s\n",
		"policy":     "  policy: {baseline: \"hpa:target=60,period=2s,down-window=4s,init-period=1s\"}\n",
		"fallback":   "  fallback: \"hpa:target=60,period=2s,down-window=4s,init-period=1s\"\n",
		"guard":      strings.TrimPrefix(quick, "\n"),
		"services": fmt.Sprintf("  services: [{name: %s, targetRef: {name: %s}, bounds: {replicas: {min: 1, max: 12}}}]\n", service,
			service),
	}
	for key := range lines {
		if strings.HasPrefix(spec, "  "+key+":") || strings.Contains(spec, "\n  "+key+":") {
			delete(lines, key)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: loadline.dev/v1alpha1\nkind: LoadLine\nmetadata: {name: shop}\nspec:\n  mode: %s\n", mode)
	for _, key := range []string{"objectives", "prometheus", "interval", "policy", "fallback", "guard", "services"} {
		b.WriteString(lines[key])
	}
	b.WriteString(spec)
	return b.String()
}

// get the LoadLine as it is now.
func (s *fixture) get(t *testing.T) *v1alpha1.LoadLine {
	t.Helper()
	var l v1alpha1.LoadLine
	if err := s.admin.Get(t.Context(), types.NamespacedName{Namespace: s.ns, Name: "shop"}, &l); err != nil {
		t.Fatal(err)
	}
	return &l
}

// waitCondition until it is as wanted, such as "Ready=True" or "Conflict=True/HorizontalPodAutoscaler".
func (s *fixture) waitCondition(t *testing.T, want ...string) {
	t.Helper()
	cluster.Eventually(t, strings.Join(want, " and "), func() error {
		l := s.get(t)
		for _, w := range want {
			kind, rest, _ := strings.Cut(w, "=")
			status, reason, _ := strings.Cut(rest, "/")
			c := meta.FindStatusCondition(l.Status.Conditions, kind)
			if c == nil || string(c.Status) != status || reason != "" && c.Reason != reason {
				return fmt.Errorf("%s is %+v", kind, c)
			}
		}
		return nil
	})
}

// replicas that a Deployment asks for.
func (s *fixture) replicas(t *testing.T, name string) int {
	t.Helper()
	var d appsv1.Deployment
	if err := s.admin.Get(t.Context(), types.NamespacedName{Namespace: s.ns, Name: name}, &d); err != nil {
		t.Fatal(err)
	}
	return int(*d.Spec.Replicas)
}

// waitReplicas until a Deployment asks for a number within bounds.
func (s *fixture) waitReplicas(t *testing.T, name string, low, high int) {
	t.Helper()
	cluster.Eventually(t, fmt.Sprintf("%d to %d replicas of %s", low, high, name), func() error {
		if n := s.replicas(t, name); n < low || n > high {
			return fmt.Errorf("%d replicas; status: %s", n, s.why(t))
		}
		return nil
	})
}

// why the services are as they are, by the status.
func (s *fixture) why(t *testing.T) string {
	t.Helper()
	l := s.get(t)
	var b strings.Builder
	fmt.Fprintf(&b, "policy %s", l.Status.Policy)
	if l.Status.Ladder != nil {
		fmt.Fprintf(&b, ", rung %s (%s)", l.Status.Ladder.Rung, l.Status.Ladder.Why)
	}
	for _, st := range l.Status.Services {
		fmt.Fprintf(&b, "; %s %s: %s", st.Name, st.State, st.Why)
	}
	return b.String()
}

// service's status.
func (s *fixture) service(t *testing.T, name string) v1alpha1.ServiceStatus {
	t.Helper()
	l := s.get(t)
	for _, st := range l.Status.Services {
		if st.Name == name {
			return st
		}
	}
	return v1alpha1.ServiceStatus{}
}

// over is the share of requests over the SLO in a stretch that a test waits for.
func (s *fixture) over(t *testing.T, stretch func()) float64 {
	t.Helper()
	read := func() (ended, over float64) {
		s.player.Look(func(m *sim.Meter) {
			for i := range m.Kinds {
				ended += m.Kinds[i].Ended
				over += m.Kinds[i].Over
			}
		})
		return ended, over
	}
	ended, over := read()
	stretch()
	endedThen, overThen := read()
	if endedThen <= ended {
		t.Fatalf("no request ended in the stretch")
	}
	return (overThen - over) / (endedThen - ended)
}

// events of the LoadLine, by reason.
func (s *fixture) events(t *testing.T, reason string) []corev1.Event {
	t.Helper()
	var list corev1.EventList
	if err := s.admin.List(t.Context(), &list, client.InNamespace(s.ns)); err != nil {
		t.Fatal(err)
	}
	var found []corev1.Event
	for _, e := range list.Items {
		if e.InvolvedObject.Kind == "LoadLine" && e.Reason == reason {
			found = append(found, e)
		}
	}
	return found
}

// loadlineCommand runs a command of the product and returns what it printed.
func loadlineCommand(t *testing.T, args ...string) string {
	t.Helper()
	out, err := loadlineTry(t, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func loadlineTry(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(cluster.Binary(t), args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("loadline %s: %w\n%s%s", strings.Join(args, " "), err, out.String(), errs.String())
	}
	return out.String(), nil
}

func keyOf(o client.Object) types.NamespacedName { return client.ObjectKeyFromObject(o) }
