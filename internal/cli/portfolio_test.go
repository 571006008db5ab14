package cli

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/pipeline"
	"github.com/loadline/loadline/internal/portfolio"
	"github.com/loadline/loadline/internal/registry"
)

// loadlineIn runs a command and returns its output; it must end with the code.
func loadlineIn(t *testing.T, code int, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if got := Run(context.Background(), args, strings.NewReader(""), &stdout, &stderr); got != code {
		t.Fatalf("%s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code, stdout.String(), stderr.String())
	}
	return stdout.String()
}

// twoCandidates begins a run on a history with a fixed number of replicas and a target of utilisation.
func twoCandidates(t *testing.T, past, dir string) {
	t.Helper()
	f := runFlags{history: past, name: "shop", heldOut: 0.25, objectives: []string{"99% < 800ms"}}
	subject, err := f.fromHistory(&bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	candidates := []pipeline.Candidate{
		{Name: "fixed", Method: "static", Policy: "static:replicas=5"},
		{Name: "by-cpu", Method: "hpa", Policy: "hpa:target=25"},
	}
	if _, err := pipeline.Begin(dir, Build(), subject, candidates, false); err != nil {
		t.Fatal(err)
	}
}

// driftIn compares a history with what a promoted version was judged on, as a controller would.
func driftIn(t *testing.T, version, past string) portfolio.Drift {
	t.Helper()
	app, err := loadApp(filepath.Join(version, "twin.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(version, portfolio.JudgedFile))
	if err != nil {
		t.Fatal(err)
	}
	judged, err := portfolio.Read(version, text)
	if err != nil {
		t.Fatal(err)
	}
	h, err := history.Read(past, history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	server := h.Service("server")
	m := portfolio.NewMonitor(portfolio.Config{App: app.App, Judged: judged, Period: h.Step})
	for i := range h.Steps {
		sample := func(metric loadline.ServiceMetric) (s loadline.Sample) {
			if v, present := server.Series[metric].Get(i); present {
				s = loadline.Sample{Value: v, At: h.At(i)}
			}
			return s
		}
		o := &loadline.Observation{At: h.At(i), Kinds: []loadline.KindObservation{{Rate: sample(history.Rate)}},
			Services: []loadline.ServiceObservation{{Rate: sample(history.Rate), CPU: sample(history.CPU)}}}
		m.Observe(o, make([]loadline.Allocation, 1), make([]portfolio.Workload, 1))
	}
	return m.Drift()
}

// TestAReleaseLeadsToAnotherPromotion: a low target of utilisation is promoted, for less than five
// replicas cost. A release doubles the CPU of a request: the application differs from the twin, and the
// target takes twice as many replicas, while five are still enough. Judged again on the later history,
// without training, the other one wins and is promoted without force.
func TestAReleaseLeadsToAnotherPromotion(t *testing.T) {
	if testing.Short() {
		t.Skip("runs two evaluations")
	}
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	text, err := os.ReadFile("../apps/single.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, cpu := range map[string]string{"before.yaml": "20ms", "after.yaml": "40ms"} {
		app := bytes.Replace(text, []byte("cpu: {mean: 10ms"), []byte("cpu: {mean: "+cpu), 1)
		if bytes.Equal(app, text) {
			t.Fatal("the CPU of a request is not set")
		}
		if err := os.WriteFile(at(name), app, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const load = "diurnal:low=30,high=60,period=1h,peak=20m+noise:cv=0.05"
	loadlineIn(t, 0, "history", "record", "--app", at("before.yaml"), "--workload", load, "--duration", "3h", "--policy", "hpa:target=70",
		"-o", at("past"))
	twoCandidates(t, at("past"), at("run"))
	evaluate := []string{"evaluate", at("run"), "--baseline", "hpa:target=15", "--stretch", "10m", "--neighbours", "use=0",
		"--workers", "2", "--max-churn", "20"}
	first := loadlineIn(t, 0, append(evaluate, "--today", "hpa:target=12")...)
	if !strings.HasPrefix(first, "Promote by-cpu:") {
		t.Fatalf("the first evaluation: %s", first)
	}
	loadlineIn(t, 0, "promote", at("run"), "--registry", at("registry"))

	loadlineIn(t, 0, "history", "record", "--app", at("after.yaml"), "--workload", load, "--duration", "3h", "--policy", "static:replicas=5",
		"-o", at("past2"))
	if d := driftIn(t, at("registry/shop/0001"), at("past")); len(d.Found)+len(d.Missing) > 0 {
		t.Errorf("before the release: %s", d.Text)
	}
	if d := driftIn(t, at("registry/shop/0001"), at("past2")); len(d.Found) != 1 || d.Found[0].Measure != portfolio.CPU ||
		math.Abs(d.Found[0].Ratio-2) > 0.2 || !strings.Contains(d.Text, "the CPU of a visit to server is 2") {
		t.Errorf("after the release: %+v", d)
	}
	again := loadlineIn(t, 0, append(evaluate, "--history", at("past2"))...)
	if !strings.HasPrefix(again, "Promote fixed:") {
		t.Fatalf("the second evaluation: %s", again)
	}
	if out := loadlineIn(t, 0, "promote", at("run"), "--registry", at("registry")); !strings.Contains(out, "fixed is version 2 of shop") {
		t.Errorf("promote says: %s", out)
	}
	if p, _, err := registry.Open(at("registry")).Current("shop"); err != nil || p.Forced || p.Policy != "static:replicas=5" {
		t.Errorf("%+v, %v", p, err)
	}
}
