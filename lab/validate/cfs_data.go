package validate

import (
	_ "embed"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Our own measurement: real processes under the kernel's CPU bandwidth control, one row per run
// of 40 s. docs/validation.md describes it.
//
//go:embed cfs_quota.csv
var cfsQuota string

// cfsRun is one measured run. A chain has two servers, the first of which calls
// the second; the replicas of a single kind of server are alike.
type cfsRun struct {
	Kind      string
	Quota     []float64 // cores, by server
	Demand    []float64 // ms of CPU per request, by server
	CV        float64
	Replicas  int
	Seconds   float64 // counted
	Completed float64
	MeanMs    float64
	P99Ms     float64
	CPUMs     float64
}

// rate is the actual arrivals per second, not the configured ones: in 35 s the two differ by a
// few per cent, which matters close to saturation.
func (r *cfsRun) rate() float64 { return r.Completed / r.Seconds }

// tailKnown: below 1,000 completions the p99 rests on a handful of values.
func (r *cfsRun) tailKnown() bool { return r.Completed >= 1000 }

func (r *cfsRun) name() string {
	return fmt.Sprintf("%s %s cores x%d, %s ms, CV %g, %.1f/s", r.Kind, slashed(r.Quota), r.Replicas, slashed(r.Demand), r.CV, r.rate())
}

func slashed(values []float64) string {
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = strconv.FormatFloat(v, 'g', -1, 64)
	}
	return strings.Join(parts, "/")
}

func readCFS(r io.Reader) ([]cfsRun, error) {
	t, err := readTable(r)
	if err != nil {
		return nil, fmt.Errorf("read CFS runs: %w", err)
	}
	var runs []cfsRun
	for t.next() {
		run := cfsRun{
			Kind: t.text("kind"), Quota: t.list("quota_cores"), Demand: t.list("demand_ms"), CV: t.number("demand_cv"),
			Replicas: int(t.number("replicas")), Seconds: t.number("seconds"), Completed: t.number("completed"),
			MeanMs: t.number("mean_ms"), P99Ms: t.number("p99_ms"), CPUMs: t.number("cpu_ms_per_request"),
		}
		runs = append(runs, run)
	}
	if t.err != nil {
		return nil, fmt.Errorf("read CFS runs: %w", t.err)
	}
	return runs, nil
}
