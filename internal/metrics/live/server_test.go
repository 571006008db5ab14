package live

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/metrics/prom"
)

// need skips a test where a program is not installed.
func need(t testing.TB, programs ...string) {
	t.Helper()
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed: apt-get install --no-install-recommends prometheus, or put it on the PATH", program)
		}
	}
}

// server is a Prometheus over a folder of its own.
type server struct {
	dir, url string
	cmd      *exec.Cmd
}

// start starts a server with a configuration over what its folder holds, and waits
// until it answers.
func start(t testing.TB, dir, configuration string, flags ...string) *server {
	t.Helper()
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(configuration), 0o666); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	s := &server{dir: dir, url: "http://" + address}
	s.cmd = exec.Command("prometheus", append([]string{
		"--config.file=" + file, "--storage.tsdb.path=" + filepath.Join(dir,
			"data"), "--storage.tsdb.retention.time=100y", // simulated time begins in the year 2000
		"--web.listen-address=" + address, "--log.level=warn",
	}, flags...)...)
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	for !s.ready() { // the test binary's timeout is the bound
		time.Sleep(20 * time.Millisecond)
	}
	return s
}

func (s *server) ready() bool {
	resp, err := http.Get(s.url + "/-/ready")
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

func (s *server) stop() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// blocks makes blocks of an OpenMetrics text in a folder.
func blocks(t testing.TB, dir string, text []byte) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "metrics.txt")
	if err := os.WriteFile(file, text, 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("promtool", "tsdb", "create-blocks-from", "openmetrics", "--quiet", file,
		filepath.Join(dir, "data")).CombinedOutput()
	if err != nil {
		t.Fatalf("promtool: %v: %s", err, out)
	}
}

func client(t testing.TB, url string) *prom.Client {
	t.Helper()
	c, err := prom.NewClient(prom.Server{URL: url, Attempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func source(t testing.TB, url string, o Options) *Source {
	t.Helper()
	s, err := New(client(t, url), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// application of services, with one kind of request that enters at the first.
func application(services ...string) *loadline.App {
	app := &loadline.App{Name: "test", Kinds: []loadline.Kind{{
		Name: "all requests", SLO: loadline.SLO{Percentile: 99, Latency: 100 * time.Millisecond}, Root: loadline.Call{Probability: 1,
			Times: 1},
	}}}
	for _, name := range services {
		app.Services = append(app.Services, loadline.Service{Name: name})
	}
	return app
}

// observe with pods that are ready, by name.
func observe(t *testing.T, s *Source, now time.Time, pods ...[]string) *loadline.Observation {
	t.Helper()
	o, err := tryObserve(context.Background(), s, now, pods...)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func tryObserve(ctx context.Context, s *Source, now time.Time, pods ...[]string) (*loadline.Observation, error) {
	o := &loadline.Observation{Services: make([]loadline.ServiceObservation, len(pods))}
	for i := range pods {
		for range pods[i] {
			// What was there before must not show through.
			old := loadline.Sample{Value: 99, At: time.Unix(1, 0)}
			o.Services[i].Pods = append(o.Services[i].Pods, loadline.PodObservation{Phase: loadline.PodReady, CPU: old, Memory: old,
				Busy: old})
		}
	}
	return o, s.Observe(ctx, now, pods, o)
}

// near holds a sample against what it should be, within a share of it.
func near(t *testing.T, name string, got loadline.Sample, want, within float64) {
	t.Helper()
	if !got.Present() || got.Value < want-within*want-1e-9 || got.Value > want+within*want+1e-9 {
		t.Errorf("%s is %v, want %v", name, show(got), want)
	}
}

func absent(t *testing.T, name string, got loadline.Sample) {
	t.Helper()
	if got.Present() {
		t.Errorf("%s is %v, want none", name, show(got))
	}
}

func show(s loadline.Sample) string {
	if !s.Present() {
		return "absent"
	}
	return fmt.Sprintf("%v at %v", s.Value, s.At.Format("15:04:05.000"))
}
