package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/metrics/prom"
)

// TestExposePullShow follows docs/history.md without a cluster, with a real Prometheus.
func TestExposePullShow(t *testing.T) {
	for _, program := range []string{"prometheus", "promtool"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed: apt-get install --no-install-recommends prometheus, or put it and promtool on the PATH", program)
		}
	}
	dir := t.TempDir()
	metrics, past := filepath.Join(dir, "metrics.txt"), filepath.Join(dir, "past")
	mustRunCommand(t, "history", "expose", "--app", "single", "--workload", "constant:rps=20", "--duration", "30m", "-o", metrics)
	if out, err := exec.Command("promtool", "tsdb", "create-blocks-from", "openmetrics", metrics,
		filepath.Join(dir, "data")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	url := startPrometheus(t, dir)
	t.Setenv(tokenVariable, "a-token-that-is-not-checked")
	out := mustRunCommand(t, "history", "pull", "--prometheus", url, "--namespace", "default", "--since", "20m", "--until",
		"2000-01-03T00:30:00Z", "-o", past, "--output", "json")
	var report prom.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if m := report.Manifest; m.Preset != "istio" || m.Steps != 80 || len(report.Services) != 1 || m.Source != "prometheus "+url {
		t.Errorf("%+v", report)
	}
	files, err := filepath.Glob(filepath.Join(past, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if content, err := os.ReadFile(file); err != nil || bytes.Contains(content, []byte("a-token-that-is-not-checked")) {
			t.Errorf("%s holds the token, or %v", file, err)
		}
	}
	if out := mustRunCommand(t, "history", "show", past); !strings.Contains(out, report.Services[0]) {
		t.Errorf("%s", out)
	}
	var stdout, stderr bytes.Buffer
	code := Run(context.Background(), []string{"history", "pull", "--prometheus", url, "--namespace", "default", "-o", past},
		strings.NewReader(""), &stdout, &stderr)
	if code != exitFailure || !strings.Contains(stderr.String(), "already holds a history") {
		t.Errorf("a second pull: %d, %s", code, stderr.String())
	}
}

func mustRunCommand(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := Run(context.Background(), args, strings.NewReader(""), &stdout, &stderr); code != 0 {
		t.Fatalf("%v: %d: %s", args, code, stderr.String())
	}
	return stdout.String()
}

// startPrometheus serves the blocks in dir/data until the test ends.
func startPrometheus(t *testing.T, dir string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	config := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(config, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	server := exec.Command("prometheus", "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--storage.tsdb.retention.time=100y", "--query.lookback-delta=20s", "--web.listen-address="+address)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	for ; ; time.Sleep(20 * time.Millisecond) {
		if resp, err := http.Get("http://" + address + "/-/ready"); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return "http://" + address
			}
		}
	}
}
