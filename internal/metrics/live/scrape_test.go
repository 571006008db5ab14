package live

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/metrics/prom"
)

// exporter is something that Prometheus scrapes: the lines of a path are made anew
// at each scrape, from how long it has been up. A path without lines fails.
type exporter struct {
	up    time.Time
	lines map[string]func(seconds float64) string
}

func (x *exporter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text := x.lines[r.URL.Path](time.Since(x.up).Seconds())
	if text == "" {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	io.WriteString(w, text)
}

// scraped starts a Prometheus that scrapes each path of an exporter every second.
func scraped(t *testing.T, dir string, lines map[string]func(seconds float64) string) *server {
	t.Helper()
	x := httptest.NewServer(&exporter{up: time.Now(), lines: lines})
	t.Cleanup(x.Close)
	configuration := "global: {scrape_interval: 1s}\nscrape_configs:\n"
	for path := range lines {
		configuration += fmt.Sprintf("- job_name: %s\n  metrics_path: %s\n  honor_labels: true\n  static_configs: [{targets: [%q]}]\n",
			strings.Trim(path, "/"), path, strings.TrimPrefix(x.URL, "http://"))
	}
	return start(t, dir, configuration)
}

// istio is the series of requests from users to a service, some of which fail.
func istio(namespace, service string, seconds, perSecond, failed float64) string {
	labels := fmt.Sprintf(`reporter="destination",source_workload="gateway",source_workload_namespace="edge",destination_workload=%q,destination_workload_namespace=%q,pod="%s-0"`, service, namespace, service)
	var b strings.Builder
	show := func(code string, perSecond, ms float64) {
		n := perSecond * seconds
		with := labels + fmt.Sprintf(`,response_code=%q`, code)
		fmt.Fprintf(&b, "istio_requests_total{%s} %v\n", with, n)
		for _, bound := range []string{"100.0", "250.0", "+Inf"} {
			in := n
			if bound == "100.0" && ms > 100 {
				in = 0
			}
			fmt.Fprintf(&b, "istio_request_duration_milliseconds_bucket{%s,le=%q} %v\n", with, bound, in)
		}
		fmt.Fprintf(&b, "istio_request_duration_milliseconds_sum{%s} %v\n", with, n*ms)
		fmt.Fprintf(&b, "istio_request_duration_milliseconds_count{%s} %v\n", with, n)
	}
	show("200", perSecond-failed, 50)
	if failed > 0 {
		show("504", failed, 200)
	}
	return b.String()
}

// cadvisor is the series of a pod; memory as it is written.
func cadvisor(namespace, pod, memory string, seconds, cores float64) string {
	labels := fmt.Sprintf(`namespace=%q,pod=%q,container="app"`, namespace, pod)
	return fmt.Sprintf("container_cpu_usage_seconds_total{%s} %v\ncontainer_memory_working_set_bytes{%s} %s\n", labels, cores*seconds,
		labels, memory)
}

// eventually tries until it comes true. It has no bound but the test binary's timeout:
// a busy machine is not a failure.
func eventually(t *testing.T, what string, try func() bool) {
	t.Helper()
	t.Logf("waiting for %s", what)
	for !try() {
		time.Sleep(200 * time.Millisecond)
	}
}

func TestScrapedNow(t *testing.T) {
	t.Parallel()
	need(t, "prometheus")
	var stopped atomic.Bool
	frozen := time.Now()
	p := scraped(t, t.TempDir(), map[string]func(float64) string{
		"/shop": func(at float64) string {
			return istio("shop", "web", at, 50, 5) + istio("shop", "idle", 0, 50, 0) +
				cadvisor("shop", "web-0", "1e6", at, 0.5) + cadvisor("shop", "idle-0", "NaN", at, 0.1)
		},
		"/failing": func(at float64) string {
			if stopped.Load() {
				return ""
			}
			return istio("failing", "web", at, 50, 0)
		},
		// As cAdvisor does it: samples carry their own times, here of long ago.
		"/frozen": func(float64) string {
			stamp := fmt.Sprintf(" %d\n", frozen.UnixMilli())
			return strings.ReplaceAll(istio("frozen", "web", 0, 50, 0), "\n",
				stamp) + strings.ReplaceAll(cadvisor("frozen", "web-0", "1e6", 0, 1), "\n", stamp)
		},
	})

	t.Run("values and their age", func(t *testing.T) {
		t.Parallel()
		s := source(t, p.url, Options{App: application("web", "idle", "nowhere"), Namespace: "shop"})
		pods := [][]string{{"web-0", "web-1"}, {"idle-0"}, nil}
		// A busy machine scrapes late, and a rate over a window that is not full yet is
		// too low: it is waited for rates and ages as they are to be. Ratios are exact.
		var o *loadline.Observation
		eventually(t, "the scrape interval and rates over a full window", func() bool {
			now := time.Now()
			var err error
			if o, err = tryObserve(t.Context(), s, now, pods...); err != nil || !s.Report().Sure || s.Report().Scrape != time.Second {
				return false
			}
			web := &o.Services[0]
			for _, rate := range []struct {
				got  loadline.Sample
				want float64
			}{
				{web.Rate, 50}, {web.Errors, 5}, {web.CPU, 0.5}, {o.Kinds[0].Rate, 50}, {web.Pods[0].CPU, 0.5}, {web.Pods[0].Busy, 3.25},
				{o.Services[1].Pods[0].CPU, 0.1},
			} {
				age := now.Sub(rate.got.At)
				if !rate.got.Present() || math.Abs(rate.got.Value-rate.want) > 0.3*rate.want || age < 0 || age > 10*time.Second {
					return false
				}
			}
			return true
		})
		web, idle, nowhere, kind := &o.Services[0], &o.Services[1], &o.Services[2], &o.Kinds[0]
		near(t, "mean", web.Latency.Mean, 0.065, 0.05)
		near(t, "memory", web.Memory, 1e6, 0)
		near(t, "p99 of the kind", kind.AtSLO, 0.235, 0.02)
		near(t, "over the SLO", kind.OverSLO, 0.1, 0.05)
		for name, s := range map[string]struct {
			got  float64
			here bool
		}{"rate": {idle.Rate.Value, idle.Rate.Present()}, "errors": {idle.Errors.Value, idle.Errors.Present()},
			"concurrency": {idle.Concurrency.Value, idle.Concurrency.Present()}} {
			if !s.here || s.got != 0 {
				t.Errorf("%s of a counter that does not move is %v (%v), want 0", name, s.got, s.here)
			}
		}
		absent(t, "latency without requests", idle.Latency.P99)
		absent(t, "mean without requests", idle.Latency.Mean)
		absent(t, "memory that is no number", idle.Memory)
		absent(t, "pod memory that is no number", idle.Pods[0].Memory)
		absent(t, "rate of nobody", nowhere.Rate)
		absent(t, "CPU of a pod without metrics", web.Pods[1].CPU)
		absent(t, "memory of a pod without metrics", web.Pods[1].Memory)
		absent(t, "busy of a pod without metrics", web.Pods[1].Busy)
		told := false
		for _, a := range s.Report().Lacking() {
			told = told || a.Scope == loadline.OfService && a.Metric == "rate" && fmt.Sprint(a.Names) == "[nowhere]" && a.Why != ""
			if a.Metric == "latency_p99" && strings.Contains(fmt.Sprint(a.Names), "idle") {
				t.Errorf("the latency of nobody's requests is told as absent: %v", a)
			}
		}
		if !told {
			t.Errorf("report: %v", s.Report().Lacking())
		}
	})

	t.Run("a target that is gone grows old, then is absent", func(t *testing.T) {
		t.Parallel()
		s := source(t, p.url, Options{App: application("web"), Namespace: "failing", Scrape: time.Second, Window: 12 * time.Second})
		eventually(t, "a rate", func() bool {
			o, err := tryObserve(t.Context(), s, time.Now(), nil)
			return err == nil && o.Services[0].Rate.Present() && o.Kinds[0].OverSLO.Present()
		})
		stopped.Store(true)
		last := time.Now().Add(10 * time.Millisecond) // Prometheus moves times by up to 2 ms
		eventually(t, "the rate is absent", func() bool {
			o := observe(t, s, time.Now(), nil)
			for name, sample := range map[string]loadline.Sample{"rate": o.Services[0].Rate, "share over the SLO": o.Kinds[0].OverSLO} {
				if sample.Present() && sample.At.After(last) {
					t.Fatalf("the %s is %v, after the last scrape at %v", name, show(sample), last)
				}
			}
			return !o.Services[0].Rate.Present() && !o.Kinds[0].Rate.Present()
		})
	})

	t.Run("samples with times of their own show them", func(t *testing.T) {
		t.Parallel()
		preset, err := prom.Load("istio")
		if err != nil {
			t.Fatal(err)
		}
		s := source(t, p.url, Options{App: application("web"), Namespace: "frozen", Preset: preset, Scrape: time.Second})
		eventually(t, "memory that is old", func() bool {
			o := observe(t, s, time.Now(), []string{"web-0"})
			m, pod := o.Services[0].Memory, o.Services[0].Pods[0].Memory
			return m.Present() && m.At.UnixMilli() == frozen.UnixMilli() && pod.At.UnixMilli() == frozen.UnixMilli()
		})
		o := observe(t, s, time.Now(), []string{"web-0"})
		absent(t, "a rate of one sample", o.Services[0].Rate)
		absent(t, "CPU of one sample", o.Services[0].Pods[0].CPU)
	})
}

// TestServerThatHasStoppedScraping: after a restart without targets it still
// answers, from what it has.
func TestServerThatHasStoppedScraping(t *testing.T) {
	t.Parallel()
	need(t, "prometheus")
	dir := t.TempDir()
	p := scraped(t, dir, map[string]func(float64) string{
		"/shop": func(at float64) string {
			return istio("shop", "web", at, 50, 5) + cadvisor("shop", "web-0", "1e6", at, 0.5)
		},
	})
	o := Options{App: application("web"), Namespace: "shop", Window: 4 * time.Minute} // longer than a restart takes
	s := source(t, p.url, o)
	eventually(t, "a rate", func() bool {
		o, err := tryObserve(t.Context(), s, time.Now(), nil)
		return err == nil && o.Services[0].Rate.Present()
	})
	p.stop()
	stopped := time.Now()
	p = start(t, dir, "")
	s = source(t, p.url, o)
	for range 2 {
		time.Sleep(time.Second)
		now := time.Now()
		o := observe(t, s, now, []string{"web-0"})
		web := &o.Services[0]
		for name, sample := range map[string]time.Time{"rate": web.Rate.At, "p99": web.Latency.P99.At, "memory": web.Memory.At,
			"pod": web.Pods[0].CPU.At, "kind": o.Kinds[0].OverSLO.At} {
			if sample.IsZero() || sample.After(stopped) || now.Sub(sample) < now.Sub(stopped) {
				t.Errorf("%s is of %v, the last scrape was before %v", name, sample, stopped)
			}
		}
	}
}

// TestPresetIsSoughtUntilOneFits: an empty server is an error, and not for ever.
func TestPresetIsSoughtUntilOneFits(t *testing.T) {
	t.Parallel()
	need(t, "prometheus")
	var there atomic.Bool
	p := scraped(t, t.TempDir(), map[string]func(float64) string{
		"/shop": func(at float64) string {
			if there.Load() {
				return istio("shop", "web", at, 50, 5)
			}
			return "nothing_yet 1\n"
		},
	})
	s := source(t, p.url, Options{App: application("web"), Namespace: "shop"})
	o, err := tryObserve(t.Context(), s, time.Now(), []string{"web-0"})
	if !errors.Is(err, prom.ErrNothing) {
		t.Fatalf("%v", err)
	}
	absent(t, "rate", o.Services[0].Rate)
	absent(t, "pod CPU", o.Services[0].Pods[0].CPU)
	if len(o.Services[0].Pods) != 1 || len(o.Kinds) != 1 || s.Report().Error == "" || s.Report().Preset != "" {
		t.Errorf("%+v, report %+v", o, s.Report())
	}
	there.Store(true)
	eventually(t, "a rate and a sure scrape interval", func() bool {
		o, err := tryObserve(t.Context(), s, time.Now(), []string{"web-0"})
		return err == nil && o.Services[0].Rate.Present() && s.Report().Sure
	})
	if r := s.Report(); r.Preset != "istio" || r.Scrape != time.Second || r.Window != 4*time.Second || r.Error != "" {
		t.Errorf("report %+v", r)
	}
}
