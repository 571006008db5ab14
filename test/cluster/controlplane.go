package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/test/cluster/binaries"
)

// Options of a cluster. The zero value is usable.
type Options struct {
	Nodes []Node // fake ones; default: three of 16 cores and 64 GiB
	// NoNodes leaves out fake nodes and KWOK: the test has nodes of its own.
	NoNodes bool
	Users   []User // besides Admin and Loadline

	PodStart time.Duration // from a container's start to ready; default 1 s; a pod's annotation StartAnnotation overrides it
	PodStop  time.Duration // from deletion to gone; default 0.5 s
	Resize   time.Duration // until an in-place resize is in effect; default 0.5 s

	HPASync      time.Duration // sync period of the HPA controller; default 2 s (Kubernetes' own: 15 s)
	HPADownscale time.Duration // downscale stabilisation of HPAs without a behaviour; default 10 s (Kubernetes' own: 5 min)

	// Further flags, which come last and so take precedence.
	APIServer, ControllerManager, Scheduler []string
}

func (o Options) withDefaults() Options {
	if len(o.Nodes) == 0 {
		for _, name := range []string{"node-0", "node-1", "node-2"} {
			o.Nodes = append(o.Nodes, Node{Name: name, Cores: 16, Memory: 64 << 30})
		}
	}
	for _, d := range []struct {
		field *time.Duration
		usual time.Duration
	}{
		{&o.PodStart, time.Second}, {&o.PodStop, 500 * time.Millisecond}, {&o.Resize, 500 * time.Millisecond},
		{&o.HPASync, 2 * time.Second}, {&o.HPADownscale, 10 * time.Second},
	} {
		if *d.field == 0 {
			*d.field = d.usual
		}
	}
	return o
}

// Cluster is a control plane with fake nodes, all on the loopback interface.
type Cluster struct {
	options Options
	bin     string // folder of the programs
	dir     string // of everything that is written
	pki     *pki
	tokens  map[string]string
	ports   map[string]int
	http    *http.Client // trusts the cluster's authority

	etcd, apiServer *process
	kubelets        *kubelets

	mu          sync.Mutex // tests run in parallel
	others      []*process // in the order of their start
	kubeconfigs map[string]string
	installing  sync.Mutex

	client              client.Client
	metricsServer, keda once
	karpenter           *process
	kedaOperator        *Server
}

// once runs a function the first time, and returns its result each time.
type once struct {
	sync.Once
	err error
}

func (o *once) do(f func() error) error {
	o.Do(func() { o.err = f() })
	return o.err
}

// Start runs a cluster for one test and stops it at its end. It skips the test if etcd is not
// installed. If the test fails, the ends of all logs are printed and the folder is kept.
func Start(t testing.TB, o Options) *Cluster {
	t.Helper()
	needEtcd(t)
	c, err := start(t.Context(), o)
	if c != nil {
		t.Cleanup(func() { c.stop(t.Failed(), t.Logf) })
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func needEtcd(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("etcd"); err != nil {
		t.Skip("etcd is not installed: apt-get install --no-install-recommends etcd-server, or put it on the PATH")
	}
}

// start returns the cluster with the error, so that what was started can be stopped.
func start(ctx context.Context, o Options) (*Cluster, error) {
	bin, err := binaries.Dir(ctx, os.Stderr)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "loadline-cluster-")
	if err != nil {
		return nil, err
	}
	c := &Cluster{options: o.withDefaults(), bin: bin, dir: dir}
	for _, step := range []func(context.Context) error{
		c.prepare, c.startEtcd, c.startAPIServer, c.connect, c.startControllers, c.startNodes,
	} {
		if err := step(ctx); err != nil {
			return c, err
		}
	}
	return c, nil
}

// prepare makes keys, tokens and ports.
func (c *Cluster) prepare(context.Context) (err error) {
	if c.pki, err = newPKI(filepath.Join(c.dir, "pki")); err != nil {
		return err
	}
	if err = c.writeTokens(); err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(c.pki.caText)
	c.http = &http.Client{
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}},
		Timeout:   5 * time.Second,
	}
	c.ports, err = freePorts("etcd", "etcd-peer", "apiserver", "controller-manager", "scheduler", "kwok",
		"metrics-server", "keda-adapter", "keda-adapter-metrics", "keda-operator", "keda-operator-metrics", "keda-operator-health",
		"karpenter-metrics", "karpenter-health")
	return err
}

// The range of ports for servers is below the kernel's range for outgoing connections, so that
// no connection can occupy a port between its choice and the start of its server.
const firstPort, lastPort = 12000, 31999

// givenPorts are those that this process has used for a server before.
var givenPorts struct {
	sync.Mutex
	next int
}

// freePorts finds a port for each name. No port is used twice, also by tests that run in
// parallel; different test binaries begin at random ports.
func freePorts(names ...string) (map[string]int, error) {
	givenPorts.Lock()
	defer givenPorts.Unlock()
	if givenPorts.next == 0 {
		givenPorts.next = firstPort + rand.IntN(lastPort-firstPort)
	}
	ports := map[string]int{}
	for _, name := range names {
		for tries := 0; ports[name] == 0; tries++ {
			port := givenPorts.next
			if givenPorts.next++; givenPorts.next > lastPort {
				givenPorts.next = firstPort
			}
			l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
			switch {
			case err == nil:
				l.Close()
				ports[name] = port
			case tries > lastPort-firstPort:
				return nil, fmt.Errorf("no free port between %d and %d: %w", firstPort, lastPort, err)
			}
		}
	}
	return ports, nil
}

func (c *Cluster) address(name string) string { return fmt.Sprintf("127.0.0.1:%d", c.ports[name]) }

func (c *Cluster) url() string { return "https://" + c.address("apiserver") }

func (c *Cluster) program(name string) string { return filepath.Join(c.bin, name) }

func (c *Cluster) startEtcd(ctx context.Context) (err error) {
	client, peer := "http://"+c.address("etcd"), "http://"+c.address("etcd-peer")
	c.etcd, err = spawn(c.dir, "etcd", nil, "etcd",
		"--name=test", "--data-dir="+filepath.Join(c.dir, "etcd"), "--log-level=warn",
		"--listen-client-urls="+client, "--advertise-client-urls="+client,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=test="+peer,
		"--unsafe-no-fsync", // the data of a test need not survive a power failure
		// Idle watches must not fall behind for ten minutes: readers wait for them to catch up.
		"--experimental-watch-progress-notify-interval=100ms",
	)
	if err != nil {
		return err
	}
	return c.waitHealthy(ctx, c.etcd, client+"/health", "")
}

// startAPIServer starts it at the same port and with the same data each time.
func (c *Cluster) startAPIServer(ctx context.Context) (err error) {
	p := c.pki
	c.apiServer, err = spawn(c.dir, "kube-apiserver", nil, c.program("kube-apiserver"), slices.Concat([]string{
		"--etcd-servers=http://" + c.address("etcd"),
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", c.ports["apiserver"]), "--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none", // a loopback address may not be an endpoint
		"--service-cluster-ip-range=10.96.0.0/16", "--allow-privileged=true",
		"--authorization-mode=Node,RBAC", "--token-auth-file=" + filepath.Join(p.dir, "tokens.csv"),
		"--tls-cert-file=" + p.cert("server"), "--tls-private-key-file=" + p.key("server"), "--client-ca-file=" + p.cert("ca"),
		"--kubelet-client-certificate=" + p.cert("kubelet-client"), "--kubelet-client-key=" + p.key("kubelet-client"),
		"--kubelet-preferred-address-types=InternalIP",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + filepath.Join(p.dir, "service-account.pub"), "--service-account-signing-key-file=" +
			p.key("service-account"),
		"--requestheader-client-ca-file=" + p.cert("front-proxy-ca"), "--requestheader-allowed-names=front-proxy-client",
		"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + p.cert("front-proxy-client"), "--proxy-client-key-file=" + p.key("front-proxy-client"),
		"--max-requests-inflight=2000", "--max-mutating-requests-inflight=1000",
		"--feature-gates=WatchList=false", // it needs etcd 3.4.31 or later
	}, c.options.APIServer)...)
	if err != nil {
		return err
	}
	return c.waitHealthy(ctx, c.apiServer, c.url()+"/readyz", c.tokens[Admin.Name])
}

// connect makes the harness's own client, as Admin.
func (c *Cluster) connect(context.Context) error {
	scheme, err := Scheme()
	if err != nil {
		return err
	}
	c.client, err = client.New(c.Config(Admin), client.Options{Scheme: scheme})
	return err
}

// Scheme has Kubernetes' own types, CustomResourceDefinitions and LoadLines.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, errors.Join(clientgoscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme))
}

func (c *Cluster) startControllers(ctx context.Context) error {
	manager, err := c.Kubeconfig(controllerManager)
	if err != nil {
		return err
	}
	sched, err := c.Kubeconfig(scheduler)
	if err != nil {
		return err
	}
	serve := func(name string) []string {
		return []string{
			"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", c.ports[name]), "--leader-elect=false",
			"--tls-cert-file=" + c.pki.cert("server"), "--tls-private-key-file=" + c.pki.key("server"),
			"--kube-api-qps=500", "--kube-api-burst=1000",
		}
	}
	as := func(kubeconfig string) []string {
		return []string{"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig,
			"--authorization-kubeconfig=" + kubeconfig}
	}
	m, err := c.spawn("kube-controller-manager", nil, c.program("kube-controller-manager"), slices.Concat(
		serve("controller-manager"), as(manager), []string{
			"--use-service-account-credentials=true", "--service-account-private-key-file=" +
				c.pki.key("service-account"), "--root-ca-file=" + c.pki.cert("ca"),
			"--cluster-signing-cert-file=" + c.pki.cert("ca"), "--cluster-signing-key-file=" + c.pki.key("ca"),
			"--allocate-node-cidrs=true", "--cluster-cidr=10.200.0.0/16", "--node-cidr-mask-size=24",
			"--service-cluster-ip-range=10.96.0.0/16",
			"--horizontal-pod-autoscaler-sync-period=" + c.options.HPASync.String(),
			"--horizontal-pod-autoscaler-downscale-stabilization=" + c.options.HPADownscale.String(),
		}, c.options.ControllerManager)...)
	if err != nil {
		return err
	}
	s, err := c.spawn("kube-scheduler", nil, c.program("kube-scheduler"),
		slices.Concat(serve("scheduler"), as(sched), c.options.Scheduler)...)
	if err != nil {
		return err
	}
	if err := c.waitHealthy(ctx, m, "https://"+c.address("controller-manager")+"/healthz", ""); err != nil {
		return err
	}
	if err := c.waitHealthy(ctx, s, "https://"+c.address("scheduler")+"/readyz", ""); err != nil {
		return err
	}
	// Without it no pod can be created in the namespace.
	return until(ctx, noEnd, "the service account of the default namespace", func() error {
		return c.client.Get(ctx, types.NamespacedName{Namespace: "default", Name: "default"}, &corev1.ServiceAccount{})
	})
}

// spawn starts a process that ends before the API server does.
func (c *Cluster) spawn(name string, env []string, program string, args ...string) (*process, error) {
	p, err := spawn(c.dir, name, env, program, args...)
	if err == nil {
		c.mu.Lock()
		c.others = append(c.others, p)
		c.mu.Unlock()
	}
	return p, err
}

// waitHealthy waits until a server reports that it is healthy.
func (c *Cluster) waitHealthy(ctx context.Context, p *process, url, token string) error {
	return until(ctx, noEnd, p.name, func() error {
		if p.ended() {
			return fatal{fmt.Errorf("%s has ended:\n%s", p.name, p.tail(20))}
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := c.http.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			text, _ := io.ReadAll(io.LimitReader(resp.Body, 2000))
			return fmt.Errorf("%s answers %s: %s", url, resp.Status, text)
		}
		return nil
	})
}

// Client is a client with a user's permissions, without a cache.
func (c *Cluster) Client(t testing.TB, u User) client.Client {
	t.Helper()
	if u.Name == Admin.Name {
		return c.client
	}
	made, err := client.New(c.Config(u), client.Options{Scheme: c.client.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// Dir is the folder of the cluster's files: logs, kubeconfigs, certificates.
func (c *Cluster) Dir() string { return c.dir }

// KillAPIServer kills the API server; everything else keeps running. A graceful stop would wait
// for its watchers, longer than a lease lasts. A test that does not restart it fails; the next
// ones have it again.
func (c *Cluster) KillAPIServer(t testing.TB) {
	t.Helper()
	t.Cleanup(func() {
		if c.apiServer.ended() {
			if err := c.startAPIServer(context.Background()); err != nil {
				t.Error(err)
			}
		}
	})
	c.apiServer.kill()
	c.http.CloseIdleConnections()
}

// PauseAPIServer suspends the API server: connections are accepted by the kernel and never
// answered. ResumeAPIServer continues it.
func (c *Cluster) PauseAPIServer() { c.apiServer.pause() }

// ResumeAPIServer continues it.
func (c *Cluster) ResumeAPIServer() { c.apiServer.signal(syscall.SIGCONT) }

// StartAPIServer restarts it at the same address with the same data.
func (c *Cluster) StartAPIServer(t testing.TB) {
	t.Helper()
	if !c.apiServer.ended() {
		t.Fatal("the API server runs already")
	}
	if err := c.startAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// stop stops everything, dependents first. The folder is kept if the tests failed.
func (c *Cluster) stop(failed bool, logf func(string, ...any)) {
	if failed { // before they say that they stop
		for _, p := range append([]*process{c.etcd, c.apiServer}, c.others...) {
			if p != nil {
				logf("the end of %s:\n%s", p.log, indent(p.tail(3)))
			}
		}
	}
	for _, p := range slices.Backward(c.others) {
		p.stop()
	}
	c.apiServer.stop()
	c.etcd.stop()
	if c.kubelets != nil {
		c.kubelets.stop()
	}
	if !failed {
		_ = os.RemoveAll(c.dir) // it is a temporary folder
		return
	}
	logf("the cluster's files are kept in %s", c.dir)
}

func indent(text string) string { return "    " + strings.ReplaceAll(text, "\n", "\n    ") }
