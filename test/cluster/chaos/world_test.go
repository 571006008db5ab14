package chaos

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/test/cluster"
	"github.com/loadline/loadline/test/cluster/binaries"
)

// world is everything that a run has: applications under load, what measures and scales them,
// and what can be broken.
type world struct {
	t     testing.TB
	c     *cluster.Cluster
	admin client.Client
	plan  Plan
	apps  []*application
	prom  *cluster.Prometheus
	nats  *cluster.Server
	keda  *service
	slots []*slot
	watch *watcher
	fault proxyFault // of the proxies, in force

	began   time.Time
	record  *Record
	proxies []*Proxy // of all lives
	passes  map[string]float64
	sampled time.Time
}

// slot is the place of one Loadline process, which is started again whenever it has ended, as a
// kubelet does.
type slot struct {
	name      string
	dir       string
	keda      string // address that KEDA asks
	ownDisk   bool
	life      int
	down      bool // it shall not run now
	suspended bool
	killed    bool
	product   *cluster.Product
	proxy     *Proxy
	began     time.Time
}

// process is the name of the slot's present life.
func (s *slot) process() string { return fmt.Sprintf("%s#%d", s.name, s.life) }

func (w *world) app(role string) *application {
	for _, a := range w.apps {
		if a.role == role {
			return a
		}
	}
	w.t.Fatalf("no application is there as %q", role)
	return nil
}

// setUp deploys everything and waits until Loadline is there.
func setUp(t testing.TB, c *cluster.Cluster, plan Plan) *world {
	t.Helper()
	w := &world{t: t, c: c, admin: c.Client(t, cluster.Admin), plan: plan, passes: map[string]float64{}}
	w.apps = []*application{
		{role: "planner", app: shop(t), share: 1, spec: twoServices(planner)},
		{role: "rule", app: shop(t), share: 1, spec: twoServices(hpa)},
		{role: "deleted", app: single(t), share: 0.5, spec: oneService("")},
		{role: "keda", app: single(t), share: 0.5, spec: oneService("movedBy: KEDA, ")},
		{role: "fleet", app: single(t), share: 0.5, spec: students},
	}
	var namespaces []string
	var jobs []cluster.Job
	for _, a := range w.apps {
		a.ns = c.Namespace(t)
		namespaces = append(namespaces, a.ns)
		c.Deploy(t, a.ns, a.app)
		a.player = c.Play(t, cluster.PlayerOptions{App: a.app, Namespace: a.ns, Noise: true, Seed: plan.Seed})
		for _, j := range a.player.Jobs() {
			jobs = append(jobs, cluster.Job{Name: a.ns + "-" + j.Name, Address: j.Address, Path: j.Path})
		}
	}
	w.prom = c.Prometheus(t, cluster.PrometheusOptions{Jobs: jobs})
	w.startNATS()
	w.startRecorder(namespaces)
	w.startLoadlines(namespaces)
	for _, a := range w.apps {
		if a.role == "fleet" {
			c.ApplyYAML(t, a.ns, twinOf(t))
		}
		c.ApplyYAML(t, a.ns, a.loadLine(w.prom.URL))
		if a.role == "keda" {
			c.KEDA(t)
			c.ApplyYAML(t, a.ns, fmt.Sprintf(follower, w.keda.address))
		}
		a.player.SetRate(lowest * a.share)
	}
	w.waitDecisions()
	return w
}

// startNATS starts a server of its own for the students and their teacher, built from the module
// that the product embeds.
func (w *world) startNATS() {
	t := w.t
	root, err := binaries.Repository(".")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(w.c.Dir(), "nats-server")
	if _, err := os.Stat(program); err != nil {
		build := exec.Command("go", "build", "-o", program, "github.com/nats-io/nats-server/v2")
		build.Dir = root
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("build nats-server: %v\n%s", err, out)
		}
	}
	port, err := cluster.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	w.nats = w.c.Server(t, fmt.Sprintf("nats-%d", port), program, "-a", "127.0.0.1", "-p", fmt.Sprint(port), "-js",
		"-sd", filepath.Join(w.c.Dir(), fmt.Sprintf("nats-%d", port)))
	t.Cleanup(w.nats.Stop)
	natsURL = fmt.Sprintf("nats://127.0.0.1:%d", port)
}

// natsURL of the present run: runs follow each other.
var natsURL string

func (w *world) startRecorder(namespaces []string) {
	made, err := dynamic.NewForConfig(w.c.Config(cluster.Admin))
	if err != nil {
		w.t.Fatal(err)
	}
	w.watch = newWatcher(made, namespaces)
	ctx, cancel := context.WithCancel(context.Background())
	w.watch.start(ctx)
	w.t.Cleanup(func() { cancel(); w.watch.done.Wait() })
}

// startLoadlines starts two processes, of which one holds the lease.
func (w *world) startLoadlines(namespaces []string) {
	t := w.t
	var addresses []string
	for _, name := range []string{"a", "b"} {
		s := &slot{name: name, dir: filepath.Join(w.c.Dir(), fmt.Sprintf("chaos-%d-%s", w.plan.Seed, name))}
		logs := filepath.Join(s.dir, "decisions")
		if err := os.MkdirAll(logs, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := mountDisk(logs); err != nil {
			t.Logf("the decision logs of %s have no file system of their own, and it is not filled: %v", name, err)
		} else {
			s.ownDisk = true
			t.Cleanup(func() { unmountDisk(logs) })
			cluster.AtInterrupt(func() { unmountDisk(logs) })
		}
		promoteStudents(t, filepath.Join(s.dir, "models", "registry"))
		port, err := cluster.FreePort()
		if err != nil {
			t.Fatal(err)
		}
		s.keda = fmt.Sprintf("127.0.0.1:%d", port)
		addresses = append(addresses, s.keda)
		w.slots = append(w.slots, s)
	}
	w.keda = newService(t, addresses...)
	for _, s := range w.slots {
		w.start(s, namespaces, false)
	}
}

// start begins another life of a slot.
func (w *world) start(s *slot, namespaces []string, noWait bool) {
	s.life++
	s.killed, s.down, s.suspended = false, false, false
	proxy, err := NewProxy(s.process(), w.c.Config(cluster.Loadline))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(proxy.Close)
	proxy.Set(w.fault)
	s.proxy = proxy
	w.proxies = append(w.proxies, proxy)
	s.began = time.Now()
	s.product = w.c.Run(w.t, cluster.ProductOptions{
		Namespaces: namespaces, LeaderElect: true, Dir: s.dir, Server: proxy.URL, NoWait: noWait,
		Flags: []string{"--keda-address", s.keda, "--nats", natsURL, "--controllers", "2"},
	})
}

// waitDecisions until Loadline decides about every application.
func (w *world) waitDecisions() {
	w.t.Helper()
	cluster.Eventually(w.t, "decisions about every application", func() error {
		w.supervise()
		for _, a := range w.apps {
			l, err := w.loadLineOf(a)
			if err != nil {
				return err
			}
			if l.Status.LastDecisionTime == nil || len(l.Status.Services) == 0 {
				return fmt.Errorf("%s: none yet; conditions %+v", a.role, l.Status.Conditions)
			}
		}
		return nil
	})
}

// students is a LoadLine whose policy is a teacher and its students, which need NATS.
const students = head + `  policy: {model: {folder: registry, application: single}}
  twin: {name: twin, key: twin.yaml}
  objectives: [{latency: 250ms}]
  fallback: "` + hpa + `"
  services: [{name: server, targetRef: {name: server}, bounds: {replicas: {min: 1, max: 12}}}]
` + guards

// twinOf is the model that the students' LoadLine names, and the right to read it.
func twinOf(t testing.TB) string {
	t.Helper()
	path, err := binaries.Repository("internal/apps/single.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: loadline-sources}
rules: [{apiGroups: [""], resources: [configmaps], resourceNames: [twin], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: loadline-sources}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: loadline-sources}
subjects: [{kind: ServiceAccount, name: loadline, namespace: loadline-system}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: twin}
data:
  twin.yaml: |
    ` + strings.ReplaceAll(string(text), "\n", "\n    ")
}

var trained struct {
	sync.Once
	file string
	err  error
}

// promoteStudents trains a model once, shortly: the guards make up for what it has not learned.
func promoteStudents(t testing.TB, registry string) {
	t.Helper()
	run := func(args ...string) error {
		if out, err := exec.Command(cluster.Binary(t), args...).CombinedOutput(); err != nil {
			return fmt.Errorf("loadline %s: %w\n%s", strings.Join(args, " "), err, out)
		}
		return nil
	}
	trained.Do(func() {
		dir, err := os.MkdirTemp("", "loadline-chaos-")
		if err != nil {
			trained.err = err
			return
		}
		trained.file = filepath.Join(dir, "drpc.safetensors")
		trained.err = run("train", "--formulation", "drpc", "--app", "single", "--workload", "diurnal:low=100,high=1200,peak=15h",
			"--duration", "1d", "--steps", "1000", "--evaluate-every", "500", "--episodes", "1", "--acting-steps", "50", "--price", "0",
			"--seed", "1", "-o", trained.file)
	})
	if trained.err != nil {
		t.Fatal(trained.err)
	}
	if err := run("promote", trained.file, "--force", "--registry", registry); err != nil {
		t.Fatal(err)
	}
}
