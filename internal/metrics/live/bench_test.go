package live

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/metrics/prom"
)

// BenchmarkObserve is one observation of 200 services with five pods each, against
// answers that are ready: what is left is ours, and the HTTP between.
func BenchmarkObserve(b *testing.B) {
	const services, pods = 200, 5
	app := &loadline.App{Kinds: application().Kinds}
	names := make([][]string, services)
	into := &loadline.Observation{Services: make([]loadline.ServiceObservation, services)}
	var values, instants, histograms, podValues, podInstants []string
	for i := range services {
		name := fmt.Sprintf("service-%d", i)
		app.Services = append(app.Services, loadline.Service{Name: name})
		labels := fmt.Sprintf(`"destination_workload":%q,"workload":%q`, name, name)
		values, instants = append(values, row(labels, "12.5")), append(instants, row(labels, "990.25"))
		for bound := range 20 {
			le := fmt.Sprintf("%d", 1<<bound)
			if bound == 19 {
				le = "+Inf"
			}
			histograms = append(histograms, row(labels+fmt.Sprintf(`,"le":%q`, le), fmt.Sprint(bound)))
		}
		for j := range pods {
			pod := fmt.Sprintf("%s-6d4b75cb6d-%05d", name, j)
			names[i] = append(names[i], pod)
			into.Services[i].Pods = append(into.Services[i].Pods, loadline.PodObservation{Phase: loadline.PodReady})
			podValues, podInstants = append(podValues, row(fmt.Sprintf(`"pod":%q`, pod), "0.25")), append(podInstants,
				row(fmt.Sprintf(`"pod":%q`, pod), "990.25"))
		}
	}
	bodies := map[string]string{}
	for name, rows := range map[string][]string{"none": nil, "entry": histograms[:20], "values": values, "instants": instants,
		"histograms": histograms, "pods": podValues, "pod instants": podInstants} {
		_, bodies[name] = vector(rows...)
	}
	server := httptest.NewServer(&canned{respond: func(query string) (int, string) {
		ofPods, age := strings.Contains(query, "by (pod"), strings.Contains(query, "timestamp(")
		switch {
		case ofPods && age:
			return 200, bodies["pod instants"]
		case ofPods:
			return 200, bodies["pods"]
		case age:
			return 200, bodies["instants"]
		case strings.Contains(query, "_bucket") && strings.Contains(query, "response_code"):
			return 200, bodies["none"] // failed
		case strings.Contains(query, "_bucket") && strings.Contains(query, "source_workload_namespace"):
			return 200, bodies["entry"]
		case strings.Contains(query, "_bucket"):
			return 200, bodies["histograms"]
		}
		return 200, bodies["values"]
	}})
	defer server.Close()
	preset, err := prom.Load("istio")
	if err != nil {
		b.Fatal(err)
	}
	s := source(b, server.URL, Options{App: app, Namespace: "shop", Preset: preset, Scrape: 15 * time.Second})
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Observe(b.Context(), at, names, into); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	if o := &into.Services[services-1]; !o.Latency.P99.Present() || !o.Pods[pods-1].CPU.Present() || !into.Kinds[0].OverSLO.Present() {
		b.Fatal("something is absent")
	}
	b.ReportMetric(float64(s.Report().Queries), "queries/op")
}

// BenchmarkPrometheus is what observing an application of ten services costs a real Prometheus: CPU
// time of its process by its own metrics.
func BenchmarkPrometheus(b *testing.B) {
	need(b, "prometheus", "promtool")
	app, text, list := simulated(b, "boutique")
	dir := b.TempDir()
	blocks(b, dir, text)
	server := start(b, dir, "")
	s := source(b, server.url, Options{App: app, Namespace: "shop"})
	last := list[len(list)-1]
	into := &loadline.Observation{Services: make([]loadline.ServiceObservation, len(app.Services))}
	for i := range into.Services {
		into.Services[i].Pods = make([]loadline.PodObservation, len(last.pods[i]))
	}
	if err := s.Observe(b.Context(), last.now, last.pods, into); err != nil { // asks more, to find out what there is
		b.Fatal(err)
	}
	before, queries := server.cpuSeconds(b), 0
	for b.Loop() {
		if err := s.Observe(b.Context(), last.now, last.pods, into); err != nil {
			b.Fatal(err)
		}
		queries += s.Report().Queries
	}
	b.ReportMetric(1000*(server.cpuSeconds(b)-before)/float64(queries), "server-ms/query")
	b.ReportMetric(float64(queries)/float64(b.N), "queries/op")
}

func (s *server) cpuSeconds(t testing.TB) float64 {
	t.Helper()
	resp, err := http.Get(s.url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if value, found := strings.CutPrefix(lines.Text(), "process_cpu_seconds_total "); found {
			seconds, err := strconv.ParseFloat(value, 64)
			if err != nil {
				t.Fatal(err)
			}
			return seconds
		}
	}
	t.Fatal("the server does not say what CPU time it has used")
	return 0
}
