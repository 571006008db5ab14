package bench

import (
	"math"
	"slices"
	"strings"

	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/result"
)

// Measures in the order of tables, by their names in result.Result; latencies are those of its
// latency_ms.
var measures = []struct {
	name string
	of   func(*Record) result.Number
}{
	{"bill", bill},
	{"node_hours", func(r *Record) result.Number { return r.Result.NodeHours }},
	{"node_core_hours", func(r *Record) result.Number { return r.Result.NodeCoreHours }},
	{"allocated_core_hours", func(r *Record) result.Number { return r.Result.AllocatedCoreHours }},
	{"core_hours", func(r *Record) result.Number { return r.Result.CoreHours }},
	{"used_core_hours", usedCoreHours},
	{"gib_hours", func(r *Record) result.Number { return r.Result.GiBHours }},
	{"over_slo_ratio", func(r *Record) result.Number { return r.Result.OverSLORatio }},
	{"failed_ratio", func(r *Record) result.Number { return r.Result.FailedRatio }},
	{"windows_violated_ratio", func(r *Record) result.Number { return r.Result.WindowsViolatedRatio }},
	{"worst_slo_ratio", worstSLORatio},
	{"requests", func(r *Record) result.Number { return r.Result.Requests }},
	{"mean_replicas", func(r *Record) result.Number { return r.Result.MeanReplicas }},
	{"changes", func(r *Record) result.Number { return r.Result.Changes }},
	{"optional_dropped_ratio", func(r *Record) result.Number { return r.Result.OptionalDroppedRatio }},
	{"degraded_ratio", func(r *Record) result.Number { return r.Result.Degraded() }},
	{"mean_ms", func(r *Record) result.Number { return r.Result.Latency.Mean }},
	{"p50_ms", func(r *Record) result.Number { return r.Result.Latency.P50 }},
	{"p66_ms", func(r *Record) result.Number { return r.Result.Latency.P66 }},
	{"p75_ms", func(r *Record) result.Number { return r.Result.Latency.P75 }},
	{"p80_ms", func(r *Record) result.Number { return r.Result.Latency.P80 }},
	{"p90_ms", func(r *Record) result.Number { return r.Result.Latency.P90 }},
	{"p95_ms", func(r *Record) result.Number { return r.Result.Latency.P95 }},
	{"p99_ms", func(r *Record) result.Number { return r.Result.Latency.P99 }},
	{"p99_9_ms", func(r *Record) result.Number { return r.Result.Latency.P999 }},
	{"p99_99_ms", func(r *Record) result.Number { return r.Result.Latency.P9999 }},
	{DecisionUs, func(r *Record) result.Number { return r.DecisionUs }},
}

func bill(r *Record) result.Number { return r.Result.Bill }

func intervalOf(values []float64) *Interval {
	i := IntervalOf(values)
	return &i
}

// DecisionUs is the one measure that is not reproducible.
const DecisionUs = "decision_us"

// MeasureNames in the order of tables.
func MeasureNames() []string {
	var names []string
	for _, m := range measures {
		names = append(names, m.name)
	}
	return names
}

func usedCoreHours(r *Record) result.Number {
	sum := result.Number(0)
	for _, s := range r.Result.Services {
		sum += s.UsedCoreHours
	}
	return sum
}

// worstSLORatio is the latency over its SLO, at the SLO's percentile, of the
// kind of request for which it is worst.
func worstSLORatio(r *Record) result.Number {
	worst := math.NaN()
	for _, k := range r.Result.Kinds {
		if ratio := float64(k.AtSLO / k.SLO.Latency); !math.IsNaN(ratio) && !(ratio <= worst) {
			worst = ratio
		}
	}
	return result.Number(worst)
}

// aggregate turns runs, seed by seed within each case, into rows in the order of the cases.
func aggregate(records []*Record, baseline string) *Results {
	var order []Case
	byCase := map[Case][]*Record{}
	for _, r := range records {
		if byCase[r.Case] == nil {
			order = append(order, r.Case)
		}
		byCase[r.Case] = append(byCase[r.Case], r)
	}
	results := &Results{Baseline: baseline, Rows: []Row{}}
	for _, c := range order {
		results.Rows = append(results.Rows, rowOf(c, byCase, order, baseline))
	}
	return results
}

func rowOf(c Case, byCase map[Case][]*Record, order []Case, baseline string) Row {
	runs := byCase[c]
	row := Row{Case: c, Seeds: len(runs), Measures: map[string]Interval{}, Against: map[string]Interval{}, Met: true}
	for _, m := range measures {
		row.Measures[m.name] = IntervalOf(valuesOf(runs, m.of))
	}
	for _, r := range runs {
		row.Met = row.Met && r.Result.SLOMet()
		row.Runs = append(row.Runs, r.Key)
	}
	for _, other := range order {
		if sameCell(c, other) && other.Label == baseline {
			for _, m := range measures {
				row.Against[m.name] = IntervalOf(paired(runs, byCase[other], m.of, func(a, b float64) float64 { return a - b }))
			}
		}
	}
	if reference := oracleOf(c, byCase, order); reference != nil {
		row.OverOracle = intervalOf(paired(runs, reference, bill, func(a, b float64) float64 { return a / b }))
		row.AboveOracle = intervalOf(paired(runs, reference, bill, func(a, b float64) float64 { return a - b }))
	}
	row.Bound = intervalOf(valuesOf(runs, func(r *Record) result.Number { return r.Bound }))
	row.AboveBound = intervalOf(valuesOf(runs, func(r *Record) result.Number { return r.Result.Bill - r.Bound }))
	row.BoundCoreHours = intervalOf(valuesOf(runs, func(r *Record) result.Number { return r.BoundCoreHours }))
	row.Applications = applicationRows(runs)
	row.BelowBound = slices.ContainsFunc(runs, func(r *Record) bool { return r.BelowBound })
	return row
}

// applicationRows of runs with several applications.
func applicationRows(runs []*Record) []ApplicationRow {
	var all []ApplicationRow
	for i, a := range runs[0].Result.Applications {
		all = append(all, ApplicationRow{
			Name: a.Name,
			Over: IntervalOf(valuesOf(runs, func(r *Record) result.Number { return r.Result.Applications[i].OverSLORatio })),
			Bill: IntervalOf(valuesOf(runs, func(r *Record) result.Number { return r.Result.Applications[i].Bill })),
		})
	}
	return all
}

// sameCell reports whether two cases differ in what is deployed at most.
func sameCell(a, b Case) bool {
	a.Policy, a.Label, a.Guard, a.Axes = b.Policy, b.Label, b.Guard, b.Axes
	return a == b
}

func valuesOf(runs []*Record, of func(*Record) result.Number) []float64 {
	values := make([]float64, len(runs))
	for i, r := range runs {
		values[i] = float64(of(r))
	}
	return values
}

// paired compares runs of the same seed.
func paired(runs, others []*Record, of func(*Record) result.Number, compare func(a, b float64) float64) []float64 {
	var values []float64
	for _, r := range runs {
		for _, o := range others {
			if r.Seed == o.Seed {
				values = append(values, compare(float64(of(r)), float64(of(o))))
			}
		}
	}
	return values
}

// oracleOf is the runs of the first oracle of the cell; nil if there is none, or it does not meet
// the SLO itself.
func oracleOf(c Case, byCase map[Case][]*Record, order []Case) []*Record {
	for _, other := range order {
		if !sameCell(c, other) || !isOracle(other) {
			continue
		}
		if slices.ContainsFunc(byCase[other], func(r *Record) bool { return !r.Result.SLOMet() }) {
			return nil
		}
		return byCase[other]
	}
	return nil
}

func isOracle(c Case) bool {
	name, _, _ := strings.Cut(c.Policy, ":")
	m, err := policy.Named(name)
	return err == nil && m.Oracle
}
