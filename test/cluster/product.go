package cluster

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/loadline/loadline/test/cluster/binaries"
)

// ProductOptions of a running Loadline.
type ProductOptions struct {
	Namespaces []string // that it manages, at least one, so that tests run in parallel
	// All: it manages all namespaces, in a cluster that the test has for itself; Namespaces
	// is empty then.
	All bool

	// LeaderElect makes it hold a lease in the first namespace. A process that cannot renew its
	// lease on a busy machine ends, so only tests of the lease have one.
	LeaderElect    bool
	LeaseNamespace string // of the lease; default: the first namespace

	// Console is the address of the console, such as FreeAddress gives one; "" = it is not served.
	// Its certificate is that of all servers of the cluster.
	Console string

	Flags []string // beyond those for addresses, folders and the lease
	Dir   string   // for models/ and decisions/; default: one of its own

	Program string // default: Binary

	Server string // URL of the API server, such as a proxy's before it; default: the API server's own
	NoWait bool   // it may start while the API server is away: nothing is installed for it, nor waited for
}

// Product is `loadline run` as a separate process, with the permissions of deploy/rbac and no
// others.
type Product struct {
	Dir     string // models/ and decisions/ are in it
	Metrics string // address of /metrics
	KEDA    string // address that KEDA asks
	Console string // address of the console; "" = none
	health  string
	process *process
}

// built is the product, compiled once for all tests of a process.
var built struct {
	sync.Once
	dir, path string
	err       error
}

// Binary is the product of the present sources, or the one that LOADLINE_PRODUCT names.
func Binary(t testing.TB) string {
	t.Helper()
	if path := os.Getenv("LOADLINE_PRODUCT"); path != "" {
		return path
	}
	built.Do(func() {
		root, err := binaries.Repository(".")
		if err != nil {
			built.err = err
			return
		}
		dir, err := os.MkdirTemp("", "loadline-product-")
		if err != nil {
			built.err = err
			return
		}
		built.dir = dir
		built.path = filepath.Join(dir, "loadline")
		cmd := exec.Command("go", "build", "-trimpath", "-o", built.path, "./cmd/loadline")
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			built.err = fmt.Errorf("build loadline: %w\n%s", err, out)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.path
}

// Run starts a Loadline for one test, and waits until it is ready to take over. InstallLoadline
// comes before it.
func (c *Cluster) Run(t testing.TB, o ProductOptions) *Product {
	t.Helper()
	if len(o.Namespaces) == 0 && !o.All {
		t.Fatal("ProductOptions.Namespaces is empty: Loadline would act on the applications of other tests")
	}
	program := o.Program
	if program == "" {
		program = Binary(t)
	}
	kubeconfig, err := c.kubeconfigAt(Loadline, o.Server)
	if err != nil {
		t.Fatal(err)
	}
	lease := []string{"--leader-elect=false"}
	if o.LeaderElect {
		if o.LeaseNamespace == "" {
			o.LeaseNamespace = o.Namespaces[0]
		}
		lease = []string{"--leader-elect", "--lease-namespace", o.LeaseNamespace}
		if !o.NoWait {
			if err := c.installLease(t.Context(), o.LeaseNamespace); err != nil {
				t.Fatal(err)
			}
		}
	}
	ports, err := freePorts("metrics", "health", "keda")
	if err != nil {
		t.Fatal(err)
	}
	address := func(name string) string { return fmt.Sprintf("127.0.0.1:%d", ports[name]) }
	p := &Product{Dir: o.Dir, Metrics: address("metrics"), KEDA: address("keda"), health: address("health"), Console: o.Console}
	if p.Dir == "" {
		if p.Dir, err = os.MkdirTemp(c.dir, "loadline-"); err != nil {
			t.Fatal(err)
		}
	}
	flags := append([]string{
		"run", "--kubeconfig", kubeconfig, "--namespaces", strings.Join(o.Namespaces, ","),
		"--metrics-address", p.Metrics, "--health-address", p.health, "--keda-address", p.KEDA, "--keda-hosts", "127.0.0.1",
		"--models", filepath.Join(p.Dir, "models"), "--decisions", filepath.Join(p.Dir, "decisions"), "--log-level", "debug",
	}, lease...)
	if o.Console != "" {
		flags = append(flags, "--console-address", o.Console, "--console-cert", c.pki.cert("server"), "--console-key", c.pki.key("server"))
	}
	flags = append(flags, o.Flags...)
	name := "loadline-" + fmt.Sprint(ports["health"])
	if p.process, err = spawn(p.Dir, name, nil, program, flags...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Stop()
		if t.Failed() {
			t.Logf("%s:\n%s", p.process.log, p.process.tail(60))
		}
	})
	if o.NoWait {
		return p
	}
	Eventually(t, "loadline to be ready", func() error {
		if p.process.ended() {
			return fatal{fmt.Errorf("it ended:\n%s", p.process.tail(30))}
		}
		return p.ready(t.Context())
	})
	return p
}

// FreeAddress is a loopback address that nothing listens on.
func FreeAddress(t testing.TB) string {
	t.Helper()
	ports, err := freePorts("free")
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", ports["free"])
}

// CA are the certificates that clients of the cluster's servers trust, in PEM.
func (c *Cluster) CA() []byte { return c.pki.caText }

func (p *Product) ready(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.health+"/readyz", nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("readyz says %s", answer.Status)
	}
	return nil
}

// Stop stops it gracefully, as a cluster does.
func (p *Product) Stop() { p.process.stop() }

// Kill kills it.
func (p *Product) Kill() { p.process.kill() }

// Suspend stops its execution, as SIGSTOP or a paused machine does.
func (p *Product) Suspend() { p.process.pause() }

// Resume continues its execution.
func (p *Product) Resume() { p.process.signal(syscall.SIGCONT) }

// Ended reports whether it has ended.
func (p *Product) Ended() bool { return p.process.ended() }

// Log is its log so far.
func (p *Product) Log(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(p.process.log)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
