package prom

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/sim/pool"
	"github.com/loadline/loadline/internal/simulate"
)

// world is a real Prometheus that serves what a simulated application exposed,
// and odd series beside it.
type world struct {
	dir, url string
	cmd      *exec.Cmd
	app      *loadline.App
	recorded *history.History // the same run, as the recorder has it

	once   sync.Once
	pulled *history.History // the same run, as it is pulled without any trouble
}

// simulated is how long the run takes.
const simulated = 2 * time.Hour

var shared struct {
	sync.Once
	world *world
	err   error
}

// prometheus is the server that all tests share. TestMain stops it.
func prometheus(t *testing.T) *world {
	t.Helper()
	for _, program := range []string{"prometheus", "promtool"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed: apt-get install --no-install-recommends prometheus, or put it and promtool on the PATH", program)
		}
	}
	shared.Do(func() { shared.world, shared.err = newWorld() })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.world
}

func newWorld() (*world, error) {
	dir, err := os.MkdirTemp("", "loadline-prom-")
	if err != nil {
		return nil, err
	}
	w := &world{dir: dir}
	text, err := w.simulate()
	if err != nil {
		return w, err
	}
	if err := w.blocks("app", text); err != nil {
		return w, err
	}
	if err := w.blocks("odd", oddities()); err != nil {
		return w, err
	}
	w.cmd, w.url, err = serve(w.dir, "--query.lookback-delta=20s")
	return w, err
}

// plain is the run as it is pulled without any trouble.
func (w *world) plain(t *testing.T) *history.History {
	t.Helper()
	w.once.Do(func() { _, w.pulled = mustPull(t, pull(client(t, Server{URL: w.url}), t.TempDir(), "shop")) })
	if w.pulled == nil {
		t.Fatal("the plain pull failed")
	}
	return w.pulled
}

// simulate runs an application once and keeps it twice: as metrics, and as the
// recorder would.
func (w *world) simulate() ([]byte, error) {
	model, err := apps.Load("bookinfo")
	if err != nil {
		return nil, err
	}
	w.app = model.App
	load := steps{}
	metrics := simulate.NewExposition(w.app, "shop")
	if metrics.Autoscalers, err = policy.AutoscalersOf(todaysPolicy, w.app); err != nil {
		return nil, err
	}
	_, err = simulate.Run(context.Background(), simulate.Spec{
		App: w.app, Load: load, Workload: "steps", Policy: todaysPolicy, Engine: "event", Duration: simulated, Seed: 1, Cluster: neighboured,
		Hooks: simulate.Hooks{Scrape: metrics.Watch},
	})
	if err != nil {
		return nil, err
	}
	w.recorded, err = simulate.RecordHistory(context.Background(), simulate.HistorySpec{
		App: w.app, Load: load, Workload: "steps", Policy: todaysPolicy, Engine: "event", Duration: simulated, Step: 15 * time.Second, Seed: 1,
		Cluster: neighboured,
	})
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	err = metrics.Write(&text)
	return text.Bytes(), err
}

// todaysPolicy scales the application.
const todaysPolicy = "hpa:target=80,reviews=65"

// neighboured is nodes of which others use a part.
var neighboured = pool.Cluster{Neighbours: pool.Neighbours{Use: 0.3, Request: 0.2, Memory: 0.25}}

// steps is a load that rises and falls, so that pods come and go.
type steps struct{}

func (steps) Rate(kind int, t time.Duration) (float64, time.Duration) {
	rates := []float64{10, 30, 60, 30, 10, 5}
	i := int(t / (20 * time.Minute))
	if kind > 0 {
		return 0, time.Duration(i+1) * 20 * time.Minute
	}
	return rates[i%len(rates)], time.Duration(i+1) * 20 * time.Minute
}

// blocks makes blocks of an OpenMetrics text.
func (w *world) blocks(name string, text []byte) error {
	file := filepath.Join(w.dir, name+".txt")
	if err := os.WriteFile(file, text, 0o666); err != nil {
		return err
	}
	out, err := exec.Command("promtool", "tsdb", "create-blocks-from", "openmetrics", "--quiet", file,
		filepath.Join(w.dir, "data")).CombinedOutput()
	if err != nil {
		return fmt.Errorf("promtool: %w: %s", err, out)
	}
	return nil
}

// serve starts a server over a folder's data and waits until it answers.
func serve(dir string, flags ...string) (*exec.Cmd, string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	address := listener.Addr().String()
	listener.Close()
	empty := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(empty, nil, 0o666); err != nil {
		return nil, "", err
	}
	cmd := exec.Command("prometheus", append([]string{
		"--config.file=" + empty, "--storage.tsdb.path=" + filepath.Join(dir, "data"),
		"--storage.tsdb.retention.time=100y", // simulated time begins in the year 2000
		"--web.listen-address=" + address, "--log.level=warn",
	}, flags...)...)
	if err := cmd.Start(); err != nil {
		return nil, "", err
	}
	url := "http://" + address
	for !ready(url) { // the test binary's timeout is the bound
		time.Sleep(20 * time.Millisecond)
	}
	return cmd, url, nil
}

// ready asks with the password that one of the servers wants.
func ready(url string) bool {
	req, err := http.NewRequest(http.MethodGet, url+"/-/ready", nil)
	if err != nil {
		return false
	}
	req.SetBasicAuth("reader", "correct horse")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

func stop(cmd *exec.Cmd) {
	if cmd != nil && cmd.Process != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}
