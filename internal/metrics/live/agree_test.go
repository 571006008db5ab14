package live

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/metrics/prom"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/simulate"
)

// steady is a load that does not change.
type steady float64

func (r steady) Rate(int, time.Duration) (float64, time.Duration) {
	return float64(r), math.MaxInt64
}

// said is what a simulated cluster's own metrics said at one instant.
type said struct {
	now  time.Time
	seen loadline.Observation
	pods [][]string
}

// simulated runs an application and gives what its exporters show, and what its
// observer said minute by minute.
func simulated(t testing.TB, name string) (*loadline.App, []byte, []said) {
	t.Helper()
	model, err := apps.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	var list []said
	metrics := simulate.NewExposition(model.App, "shop")
	_, err = simulate.Run(context.Background(), simulate.Spec{
		App: model.App, Load: steady(30), Workload: "steady", Policy: "static", Engine: "event", Duration: 10 * time.Minute, Seed: 1,
		Hooks: simulate.Hooks{
			Scrape: metrics.Watch,
			Decided: func(_ *loadline.Decision, s loadline.Situation) {
				w := said{now: s.Now().At, seen: *s.Now()}
				w.seen.Services, w.seen.Kinds = slices.Clone(w.seen.Services), slices.Clone(w.seen.Kinds)
				for i := range w.seen.Services {
					o := &w.seen.Services[i]
					o.Pods = slices.Clone(o.Pods)
					w.pods = append(w.pods, nil)
					for _, p := range o.Pods {
						w.pods[i] = append(w.pods[i], simulate.PodName(model.App.Services[i].Name, p.ID))
					}
				}
				list = append(list, w)
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := metrics.Write(&text); err != nil {
		t.Fatal(err)
	}
	return model.App, text.Bytes(), list
}

// TestAgreesWithTheCluster: what is read through Prometheus is what the simulated
// cluster's own observer says at that instant, as far as Istio shows it.
func TestAgreesWithTheCluster(t *testing.T) {
	t.Parallel()
	need(t, "prometheus", "promtool")
	app, text, list := simulated(t, "bookinfo")
	dir := t.TempDir()
	blocks(t, dir, text)
	p := start(t, dir, "")
	byBuckets := source(t, p.url, Options{App: app, Namespace: "shop"})
	istio, err := prom.Load("istio")
	if err != nil {
		t.Fatal(err)
	}
	istio.Buckets, istio.UserBuckets = nil, nil
	byQueries := source(t, p.url, Options{App: app, Namespace: "shop", Preset: istio, Scrape: 15 * time.Second})
	for _, want := range list[3:] {
		got := observe(t, byBuckets, want.now, want.pods...)
		for i := range app.Services {
			compareService(t, fmt.Sprintf("%v %s", want.now.Format(time.TimeOnly), app.Services[i].Name), &got.Services[i],
				&want.seen.Services[i])
		}
		for i := range app.Kinds {
			compareKind(t, fmt.Sprintf("%v kind %s", want.now.Format(time.TimeOnly), app.Kinds[i].Name), &got.Kinds[i],
				&want.seen.Kinds[i])
		}
		server := observe(t, byQueries, want.now, want.pods...)
		for i := range app.Services {
			sameLatency(t, app.Services[i].Name, got.Services[i].Latency, server.Services[i].Latency)
		}
		for i := range app.Kinds {
			sameLatency(t, app.Kinds[i].Name, got.Kinds[i].Latency, server.Kinds[i].Latency)
			near(t, "p99 at the SLO", got.Kinds[i].AtSLO, server.Kinds[i].AtSLO.Value, 1e-9)
			absent(t, "share over the SLO without buckets", server.Kinds[i].OverSLO)
		}
	}
	r := byBuckets.Report()
	if r.Preset != "istio" || r.Scrape != 15*time.Second || !r.Sure || r.Window != time.Minute || r.Error != "" ||
		!r.Newest.Equal(list[len(list)-1].now) {
		t.Errorf("report %+v", r)
	}
	var names []string
	for _, a := range r.Lacking() {
		names = append(names, string(a.Scope)+" "+a.Metric)
	}
	if fmt.Sprint(names) != "[service queue pod busy]" {
		t.Errorf("absent: %v", r.Lacking())
	}
	if r.Queries > 24 {
		t.Errorf("%d queries for one observation", r.Queries)
	}
}

// sameLatency: buckets that are read here give the server's own quantiles.
func sameLatency(t *testing.T, name string, got, want loadline.Latency) {
	t.Helper()
	for i, field := range latencyFields(&got) {
		near(t, fmt.Sprintf("%s quantile %v", name, quantiles[i]), *field, latencyFields(&want)[i].Value, 1e-9)
	}
}

func compareService(t *testing.T, name string, got, want *loadline.ServiceObservation) {
	t.Helper()
	sameTime(t, name, want.Rate.At, got.Rate, got.Errors, got.Concurrency, got.Latency.Mean, got.Latency.P99, got.CPU, got.Memory,
		got.Throttled, got.Restarts)
	near(t, name+" rate", got.Rate, want.Rate.Value, 0.03)
	near(t, name+" errors", got.Errors, want.Errors.Value, 0.03)
	near(t, name+" concurrency", got.Concurrency, want.Concurrency.Value, 0.06)
	near(t, name+" mean latency", got.Latency.Mean, want.Latency.Mean.Value, 0.06)
	near(t, name+" CPU", got.CPU, want.CPU.Value, 0.03)
	near(t, name+" memory", got.Memory, want.Memory.Value, 1e-6)
	near(t, name+" throttled", got.Throttled, want.Throttled.Value, 0.05)
	near(t, name+" restarts", got.Restarts, want.Restarts.Value, 0)
	sameBucket(t, name, got.Latency, want.Latency)
	absent(t, name+" queue", got.Queue)
	absent(t, name+" own time", got.Own.Mean)
	if len(got.Pods) != len(want.Pods) {
		t.Fatalf("%s has %d pods, want %d", name, len(got.Pods), len(want.Pods))
	}
	for j := range got.Pods {
		near(t, name+" pod CPU", got.Pods[j].CPU, want.Pods[j].CPU.Value, 0.03)
		near(t, name+" pod memory", got.Pods[j].Memory, want.Pods[j].Memory.Value, 1e-6)
		absent(t, name+" pod busy", got.Pods[j].Busy)
		sameTime(t, name+" pod", want.Pods[j].CPU.At, got.Pods[j].CPU, got.Pods[j].Memory)
	}
}

func compareKind(t *testing.T, name string, got, want *loadline.KindObservation) {
	t.Helper()
	sameTime(t, name, want.Rate.At, got.Rate, got.Failed, got.OverSLO, got.AtSLO, got.Latency.Mean)
	near(t, name+" rate", got.Rate, want.Rate.Value, 0.03)
	near(t, name+" failed", got.Failed, want.Failed.Value, 0.03)
	near(t, name+" mean latency", got.Latency.Mean, want.Latency.Mean.Value, 0.06)
	sameBucket(t, name, got.Latency, want.Latency)
	// The SLO lies on a bound of Istio's.
	if math.Abs(got.OverSLO.Value-want.OverSLO.Value) > 0.003 {
		t.Errorf("%s: %v over the SLO, want %v", name, got.OverSLO.Value, want.OverSLO.Value)
	}
}

func sameTime(t *testing.T, name string, want time.Time, list ...loadline.Sample) {
	t.Helper()
	for i, s := range list {
		if !s.At.Equal(want) {
			t.Errorf("%s: sample %d is of %v, want %v", name, i, s.At, want)
		}
	}
}

// sameBucket: quantiles lie in the same bucket of Istio's, or in the next.
func sameBucket(t *testing.T, name string, got, want loadline.Latency) {
	t.Helper()
	bounds := []float64{0.5, 1, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000}
	place := func(s loadline.Sample) int { i, _ := slices.BinarySearch(bounds, s.Value*1000); return i }
	for i, field := range latencyFields(&got) {
		wanted := latencyFields(&want)[i]
		if apart := place(*field) - place(*wanted); !field.Present() || apart < -1 || apart > 1 {
			t.Errorf("%s quantile %v is %v, want %v", name, quantiles[i], show(*field), show(*wanted))
		}
	}
}

// text is an OpenMetrics text of series that grow evenly, made by hand.
type text struct {
	families map[string][]string
}

const scrapes = 60

func (x *text) add(family, kind, suffix, labels string, value func(i int) float64) {
	key := fmt.Sprintf("# TYPE %s %s\n", family, kind)
	for i := range scrapes {
		x.families[key] = append(x.families[key], fmt.Sprintf("%s%s{%s} %v %d\n", family, suffix, labels, value(i),
			sim.Epoch.Unix()+15*int64(i)))
	}
}

func (x *text) counter(family, suffix, kind, labels string, perSecond float64) {
	x.add(family, kind, suffix, labels, func(i int) float64 { return perSecond * 15 * float64(i) })
}

// histogram of requests that all take so many milliseconds, in some unit of them.
func (x *text) histogram(family, labels string, perSecond, each, unit float64) {
	for _, bound := range []float64{25, 100, 400} {
		in := 0.0
		if each <= bound {
			in = perSecond
		}
		x.counter(family, "_bucket", "histogram", labels+fmt.Sprintf(",le=%q", fmt.Sprintf("%.3f", bound*unit)), in)
	}
	x.counter(family, "_bucket", "histogram", labels+`,le="+Inf"`, perSecond)
	x.counter(family, "_sum", "histogram", labels, perSecond*each*unit)
	x.counter(family, "_count", "histogram", labels, perSecond)
}

func (x *text) bytes() []byte {
	var b strings.Builder
	for key, lines := range x.families {
		b.WriteString(key + strings.Join(lines, ""))
	}
	return []byte(b.String() + "# EOF\n")
}

// exporters is traffic as each preset's exporters show it: 10 requests a second to
// web, of which one fails in 200 ms and the others take 50.
func exporters() []byte {
	x := &text{families: map[string][]string{}}
	linkerd := `namespace="mesh",deployment="web",pod="web-0",direction="inbound",client_id="",`
	x.counter("request", "_total", "counter", linkerd+`tls="no"`, 10)
	x.counter("response", "_total", "counter", linkerd+`classification="success",status_code="200"`, 9)
	x.counter("response", "_total", "counter", linkerd+`classification="failure",status_code="503"`, 1)
	x.histogram("response_latency_ms", linkerd+`status_code="200"`, 9, 50, 1)
	x.histogram("response_latency_ms", linkerd+`status_code="503"`, 1, 200, 1)

	nginx := `exported_namespace="edge",exported_service="web",path="/",`
	x.counter("nginx_ingress_controller_requests", "", "unknown", nginx+`status="200"`, 9)
	x.counter("nginx_ingress_controller_requests", "", "unknown", nginx+`status="502"`, 1)
	for _, family := range []string{"request", "response"} {
		x.histogram("nginx_ingress_controller_"+family+"_duration_seconds", nginx+`status="200"`, 9, 50, 0.001)
		x.histogram("nginx_ingress_controller_"+family+"_duration_seconds", nginx+`status="502"`, 1, 200, 0.001)
	}

	otel := `service_name="web",k8s_namespace_name="traced",k8s_pod_name="web-0",span_kind="SPAN_KIND_SERVER",`
	x.counter("traces_span_metrics_calls", "_total", "counter", otel+`status_code="STATUS_CODE_UNSET"`, 9)
	x.counter("traces_span_metrics_calls", "_total", "counter", otel+`status_code="STATUS_CODE_ERROR"`, 1)
	x.histogram("traces_span_metrics_duration_milliseconds", otel+`status_code="STATUS_CODE_UNSET"`, 9, 50, 1)
	x.histogram("traces_span_metrics_duration_milliseconds", otel+`status_code="STATUS_CODE_ERROR"`, 1, 200, 1)

	own := `namespace="instrumented",pod="web-0",http_route="/",`
	x.histogram("http_server_request_duration_seconds", own+`http_response_status_code="200"`, 9, 50, 0.001)
	x.histogram("http_server_request_duration_seconds", own+`http_response_status_code="500"`, 1, 200, 0.001)

	knative := `namespace_name="functions",configuration_name="web",pod_name="web-0",`
	x.counter("revision_request_count", "", "unknown", knative+`response_code_class="2xx"`, 9)
	x.counter("revision_request_count", "", "unknown", knative+`response_code_class="5xx"`, 1)
	x.histogram("revision_request_latencies", knative+`response_code_class="2xx"`, 9, 50, 1)
	x.histogram("revision_request_latencies", knative+`response_code_class="5xx"`, 1, 200, 1)
	return x.bytes()
}

// TestPresetsReadTheirExporters: every preset knows rates, quantiles, the share
// over the SLO and when it was scraped.
func TestPresetsReadTheirExporters(t *testing.T) {
	t.Parallel()
	need(t, "prometheus", "promtool")
	dir := t.TempDir()
	blocks(t, dir, exporters())
	p := start(t, dir, "")
	newest := sim.Epoch.Add(15 * (scrapes - 1) * time.Second)
	for namespace, row := range map[string]struct {
		preset string
		busy   bool
	}{
		"mesh": {"linkerd", true}, "edge": {"nginx-ingress", false}, "traced": {"otel-spanmetrics", true},
		"instrumented": {"otel-http", true}, "functions": {"knative", true},
	} {
		t.Run(row.preset, func(t *testing.T) {
			s := source(t, p.url, Options{App: application("web"), Namespace: namespace})
			o := observe(t, s, newest.Add(4*time.Second), []string{"web-0"})
			if r := s.Report(); r.Preset != row.preset || r.Scrape != 15*time.Second {
				t.Errorf("preset %s scraped every %v", r.Preset, r.Scrape)
			}
			web, kind := &o.Services[0], &o.Kinds[0]
			near(t, "rate", web.Rate, 10, 1e-3)
			near(t, "errors", web.Errors, 1, 1e-3)
			near(t, "mean", web.Latency.Mean, 0.065, 1e-3)
			near(t, "p50", web.Latency.P50, 0.025+0.075*5/9, 1e-3)
			near(t, "p99", web.Latency.P99, 0.1+0.3*0.9, 1e-3)
			near(t, "concurrency", web.Concurrency, 0.65, 1e-3)
			near(t, "rate of the kind", kind.Rate, 10, 1e-3)
			near(t, "failed of the kind", kind.Failed, 1, 1e-3)
			near(t, "p99 of the kind", kind.AtSLO, 0.1+0.3*0.9, 1e-3)
			near(t, "over the SLO", kind.OverSLO, 0.1, 1e-3) // slow and failed are the same
			absent(t, "CPU", web.CPU)
			sameTime(t, "all", newest, web.Rate, web.Errors, web.Latency.P99, kind.Rate, kind.OverSLO)
			if row.busy {
				near(t, "busy", web.Pods[0].Busy, 0.65, 1e-3)
				sameTime(t, "busy", newest, web.Pods[0].Busy)
			} else {
				absent(t, "busy", web.Pods[0].Busy)
			}
		})
	}
}
