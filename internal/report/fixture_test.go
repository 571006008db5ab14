package report

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/workload"
)

// hostileLabel must reach the page as text.
const hostileLabel = `kpa </script><img src=x onerror=alert(1)>`

// writeFixture makes a bench directory for tests of the page: real runs under names that a
// bench uses. Its figures are meaningless: "calibrated" is an arbitrary target, and the
// oracle's schedule was not searched.
func writeFixture(t testing.TB, dir string) {
	t.Helper()
	policies := []bench.Policy{
		{Spec: "hpa", Label: "hpa"},
		{Spec: "hpa:target=60,down-window=120s", Label: "hpa (calibrated)"},
		{Spec: "kpa:target=4", Label: hostileLabel},
		{Spec: "vpa", Label: "vpa"},
		{Spec: "autothrottle", Label: "autothrottle"},
		{Spec: "oracle:level=0.5", Label: "oracle"},
	}
	day := bench.Workload{Name: "day", Spec: "diurnal:low=10,high=50,period=20m,peak=10m+noise:cv=0.1",
		Options: workload.Options{Duration: 20 * time.Minute}}
	flash := bench.Workload{Name: "flash", Spec: "constant:rps=12+flash:at=8m,factor=4,hold=3m,fall=2m+noise:cv=0.05",
		Options: workload.Options{Duration: 20 * time.Minute}}
	all := bench.Results{}
	for _, m := range []bench.Matrix{
		{Apps: []bench.App{loadApp(t, "bookinfo")}, Workloads: []bench.Workload{day}, Policies: policies,
			Perturbations: []string{"none", "late-4", "version-2x", "flash-5x"}},
		{Apps: []bench.App{loadApp(t, "bookinfo"), loadApp(t, "boutique")}, Workloads: []bench.Workload{flash}, Policies: policies},
	} {
		m.Suite, m.Seeds, m.Baseline = "test fixture", 3, "hpa"
		results, err := bench.Run(context.Background(), m, bench.Options{Dir: dir, Program: "loadline test fixture"})
		if err != nil {
			t.Fatal(err)
		}
		rows := append(all.Rows, results.Rows...)
		all = *results
		all.Rows = rows
	}
	writeJSON(t, filepath.Join(dir, bench.ResultsJSON), all)
}

func loadApp(t testing.TB, name string) bench.App {
	t.Helper()
	app, err := bench.LoadApp(name)
	if err != nil {
		t.Fatal(err)
	}
	return app
}

func writeJSON(t testing.TB, path string, v any) {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
}
