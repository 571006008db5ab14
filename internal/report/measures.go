package report

import (
	"math"
	"slices"

	"github.com/loadline/loadline/internal/bench"
)

// known measures in the order of the table.
var known = []Measure{
	{"bill", "Bill", "", true, "Node hours of an own elastic pool at their price; on shared or fixed nodes the share of their price"},
	{"core_hours", "Core-hours", "core-hours", true, "Integral of the larger of CPU request and usage, over pods from binding to deletion"},
	{"over_slo_ratio", "Over SLO", "%", true, "Share of requests that failed or took longer than their SLO"},
	{"windows_violated_ratio", "Windows violated", "%", true,
		"Share of one-minute windows in which the SLO was violated at its percentile"},
	{"p99_ms", "p99", "ms", true, "99th percentile of the latency of requests that completed"},
	{"changes", "Changes", "", true, "Changes to replicas, CPU or memory"},
	{"worst_slo_ratio", "Latency / SLO", "", false,
		"Latency at the SLO's percentile over the SLO, of the kind of request for which it is worst"},
	{"failed_ratio", "Failed", "%", false, "Share of requests rejected, timed out or lost"},
	{"mean_ms", "Mean latency", "ms", false, "Mean latency of requests that completed"},
	{"p50_ms", "p50", "ms", false, "Median latency of requests that completed"},
	{"p90_ms", "p90", "ms", false, "90th percentile of the latency of requests that completed"},
	{"p95_ms", "p95", "ms", false, "95th percentile of the latency of requests that completed"},
	{"p99_9_ms", "p99.9", "ms", false, "99.9th percentile of the latency of requests that completed"},
	{"p99_99_ms", "p99.99", "ms", false, "99.99th percentile of the latency of requests that completed"},
	{"allocated_core_hours", "CPU allocated", "core-hours", true, "Integral of the CPU requests of pods, from binding to deletion"},
	{"node_hours", "Nodes", "node-hours", false, "Integral of the nodes that were paid"},
	{"node_core_hours", "Cores of nodes", "core-hours", false, "Integral of the cores of the nodes that were paid"},
	{"used_core_hours", "CPU used", "core-hours", true, "CPU time used by requests"},
	{"gib_hours", "Memory", "GiB-hours", false, "Integral of the larger of memory request and usage"},
	{"mean_replicas", "Replicas", "", false, "Pods of all services, averaged over time"},
	{"optional_dropped_ratio", "Dropped", "%", false, "Share of optional calls dropped by brownout"},
	{"degraded_ratio", "Over SLO and dropped", "%", false,
		"Share of requests over the SLO, and optional calls dropped by brownout at their price in such requests; decides if the SLO is met"},
	{"decision_us", "CPU per decision", "µs", false, "CPU time of one decision; differs from run to run"},
}

// unlisted measures add little to those above in a table.
var unlisted = []string{"p66_ms", "p75_ms", "p80_ms", "requests", "duration_s"}

// costOf is the measure that policies are ranked by: the bill, or core-hours if some row has none
// or if it is the same for all, within a percent. The nodes of an application that is alone on them cost the same
// whatever a policy does.
func costOf(rows []bench.Row) string {
	type scene struct{ app, load, perturbation string }
	least, most, several := map[scene]float64{}, map[scene]float64{}, false
	for i := range rows {
		bill, has := rows[i].Measures["bill"]
		v := float64(bill.Mean)
		if !has || math.IsNaN(v) {
			return "core_hours"
		}
		c := rows[i].Case
		at := scene{c.App, loadOf(c), c.Perturbation}
		if _, seen := least[at]; seen {
			several = true
			least[at], most[at] = min(least[at], v), max(most[at], v)
		} else {
			least[at], most[at] = v, v
		}
	}
	for at := range least {
		if most[at] > 1.01*least[at] {
			return "bill"
		}
	}
	if several {
		return "core_hours"
	}
	return "bill"
}

// measuresOf lists the measures of the rows. An unknown measure is shown under its own name
// instead of dropped.
func measuresOf(rows []bench.Row) []Measure {
	has := map[string]bool{}
	var extra []string
	for i := range rows {
		for key := range rows[i].Measures {
			if has[key] {
				continue
			}
			has[key] = true
			listed := slices.ContainsFunc(known, func(m Measure) bool { return m.Key == key })
			if !listed && !slices.Contains(unlisted, key) {
				extra = append(extra, key)
			}
		}
	}
	var measures []Measure
	for _, m := range known {
		if has[m.Key] {
			measures = append(measures, m)
		}
	}
	slices.Sort(extra)
	for _, key := range extra {
		measures = append(measures, Measure{Key: key, Name: key})
	}
	return measures
}
