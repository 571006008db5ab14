package report

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/result"
)

// contender is a policy of a made-up bench: its cost and its share over the SLO,
// seed by seed.
type contender struct {
	label, policy string
	cost          []float64
	over          float64
	times         float64 // of the oracle's cost; 0 = no oracle
}

// tinyBench writes a made-up bench of one scenario.
func tinyBench(t testing.TB, contenders ...contender) (dir string) {
	t.Helper()
	dir = t.TempDir()
	results := bench.Results{Format: bench.FormatVersion, Program: "test", Suite: "tiny", Baseline: "hpa", Seeds: len(contenders[0].cost)}
	for n, c := range contenders {
		row := bench.Row{
			Case: bench.Case{App: "shop", Workload: "day", Policy: c.policy, Label: c.label, Perturbation: "none", Engine: "event"},
			Measures: map[string]bench.Interval{"core_hours": around(c.cost),
				"over_slo_ratio": {Mean: result.Number(c.over), Low: result.Number(c.over), High: result.Number(c.over)}},
			Against: map[string]bench.Interval{}, Met: c.over <= result.CountsIf,
		}
		if c.times > 0 {
			row.OverOracle = &bench.Interval{Mean: result.Number(c.times), Low: result.Number(c.times), High: result.Number(c.times)}
		}
		for seed, cost := range c.cost {
			r := tinyRun(fmt.Sprintf("run-%d-%d", n, seed), row.Case, uint64(seed+1), cost, c.over)
			row.Runs = append(row.Runs, r.Key)
			writeJSON(t, filepath.Join(dir, "runs", r.Key+".json"), r)
		}
		results.Rows = append(results.Rows, row)
	}
	writeJSON(t, filepath.Join(dir, bench.ResultsJSON), results)
	return dir
}

func around(values []float64) bench.Interval {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	mean := result.Number(sum / float64(len(values)))
	return bench.Interval{Mean: mean, Low: 0.9 * mean, High: 1.1 * mean}
}

func tinyRun(key string, c bench.Case, seed uint64, cost, over float64) bench.Record {
	return bench.Record{
		Format: bench.FormatVersion, Program: "test", Key: key, Case: c, Seed: seed,
		Result: result.Result{
			CoreHours: result.Number(cost), OverSLORatio: result.Number(over),
			Kinds: []result.Kind{{Name: "get", SLO: result.SLO{Percentile: 99, Latency: 250}}},
		},
		Timeline: bench.Timeline{
			T: []result.Number{15, 30, 45}, Load: []result.Number{10, 20.12345, 30}, Failed: []result.Number{0, 0, 1},
			Used: []result.Number{1, 2, 3}, Asked: []result.Number{4, 4, 5},
			Replicas: map[string][]result.Number{"web": {1, 2, 2}}, AtSLO: map[string][]result.Number{"get": {20, 30, 400}},
			SLOMs: map[string]result.Number{"get": 250},
		},
		Latency:   map[string][]bench.Bucket{"get": {{UpToMs: 10, Count: 900}, {UpToMs: 100, Count: 90}, {UpToMs: 1000, Count: 10}}},
		Decisions: []bench.Decision{{T: 20, Service: "web", Change: "replicas 1 -> 2", Reason: "CPU at 95 %"}},
	}
}
