package cluster

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Job is one thing that Prometheus scrapes.
type Job struct {
	Name    string
	Address string // host:port
	Path    string // default /metrics
	// Token is for a target with TLS, whose certificate is not verified; "" = neither.
	Token string
}

// PrometheusOptions of a server.
type PrometheusOptions struct {
	Scrape time.Duration // between scrapes; default 1 s
	Jobs   []Job
	// ScrapeConfigs are further ones, as items of a YAML list.
	ScrapeConfigs string
	Flags         []string
	// Past is a file of samples in OpenMetrics' text format that the server begins with; without a
	// limit on their age. It needs promtool.
	Past string
}

// Prometheus is a real server with data of its own. It can be stopped, started
// again with the data that it had, and paused.
type Prometheus struct {
	URL     string
	dir     string
	address string
	options PrometheusOptions
	process *process
}

// Prometheus starts a server for one test. It skips the test if Prometheus is not
// installed.
func (c *Cluster) Prometheus(t testing.TB, o PrometheusOptions) *Prometheus {
	t.Helper()
	if _, err := exec.LookPath("prometheus"); err != nil {
		t.Skip("prometheus is not installed: apt-get install --no-install-recommends prometheus, or put it on the PATH")
	}
	dir, err := os.MkdirTemp(c.dir, "prometheus-")
	if err != nil {
		t.Fatal(err)
	}
	ports, err := freePorts("prometheus")
	if err != nil {
		t.Fatal(err)
	}
	p := &Prometheus{dir: dir, address: fmt.Sprintf("127.0.0.1:%d", ports["prometheus"]), options: o}
	p.URL = "http://" + p.address
	if o.Past != "" {
		p.options.Flags = append([]string{"--storage.tsdb.retention.time=100y"}, o.Flags...)
		out, err := exec.Command("promtool", "tsdb", "create-blocks-from", "openmetrics", "--quiet", o.Past,
			filepath.Join(dir, "data")).CombinedOutput()
		if err != nil {
			t.Fatalf("promtool: %v: %s", err, out)
		}
	}
	p.Start(t)
	t.Cleanup(func() {
		p.process.stop()
		if t.Failed() {
			t.Logf("the end of %s:\n%s", p.process.log, indent(p.process.tail(8)))
		}
	})
	return p
}

func scrapeConfig(o PrometheusOptions) string {
	if o.Scrape == 0 {
		o.Scrape = time.Second
	}
	var b strings.Builder
	fmt.Fprintf(&b, "global: {scrape_interval: %dms, scrape_timeout: %dms}\nscrape_configs:\n", o.Scrape.Milliseconds(),
		o.Scrape.Milliseconds())
	for _, j := range o.Jobs {
		path := j.Path
		if path == "" {
			path = "/metrics"
		}
		secure := ""
		if j.Token != "" {
			secure = fmt.Sprintf("scheme: https, tls_config: {insecure_skip_verify: true}, authorization: {credentials: %q}, ", j.Token)
		}
		// Labels are kept as exported: kube-state-metrics describes pods, not itself.
		fmt.Fprintf(&b, "- {job_name: %q, honor_labels: true, metrics_path: %q, %sstatic_configs: [{targets: [%q]}]}\n", j.Name, path,
			secure, j.Address)
	}
	b.WriteString(o.ScrapeConfigs)
	return b.String()
}

// Start starts a server that was stopped, and waits until it answers.
func (p *Prometheus) Start(t testing.TB) {
	t.Helper()
	err := os.WriteFile(filepath.Join(p.dir, "prometheus.yml"), []byte(scrapeConfig(p.options)), 0o666)
	if err != nil {
		t.Fatal(err)
	}
	p.process, err = spawn(p.dir, "prometheus", nil, "prometheus", append([]string{
		"--config.file=" + filepath.Join(p.dir, "prometheus.yml"), "--storage.tsdb.path=" + filepath.Join(p.dir, "data"),
		"--web.listen-address=" + p.address, "--log.level=warn",
	}, p.options.Flags...)...)
	if err != nil {
		t.Fatal(err)
	}
	Eventually(t, "prometheus", func() error {
		if p.process.ended() {
			return fatal{fmt.Errorf("prometheus has ended:\n%s", p.process.tail(20))}
		}
		resp, err := http.Get(p.URL + "/-/ready")
		if err != nil {
			return err
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("it answers %s", resp.Status)
		}
		return nil
	})
}

// SetJobs restarts the server with other things to scrape, and the data that it had.
func (p *Prometheus) SetJobs(t testing.TB, jobs []Job) {
	t.Helper()
	p.Stop()
	p.options.Jobs = jobs
	p.Start(t)
}

// Stop stops the server: connections are refused.
func (p *Prometheus) Stop() { p.process.stop() }

// Kill kills the server.
func (p *Prometheus) Kill() { p.process.kill() }

// Pause suspends it: connections are accepted by the kernel and never answered.
func (p *Prometheus) Pause() { p.process.pause() }

// Resume continues it.
func (p *Prometheus) Resume() { p.process.signal(syscall.SIGCONT) }
