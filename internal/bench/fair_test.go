package bench

import (
	"testing"
	"time"
)

// TestNoPolicyBeatsTheBound: a small grid of policies, workloads and seeds. A run below the
// bound makes Run itself fail; here the means are compared with it.
func TestNoPolicyBeatsTheBound(t *testing.T) {
	m := smallMatrix(
		"hpa", "hpa:target=95,down-window=0s", "kpa:target=4", "vpa", "vpa:percentile=50,margin=0,history=1000h", "hpa+vpa",
		"ursa:utilisation=90",
		"autothrottle", "static:replicas=1", "oracle", "oracle:axes=replicas+cpu",
		"reckless: oracle:axes=replicas+cpu,level=2")
	m.Workloads = []Workload{smallLoad(smallBursts, 5*time.Minute), smallLoad("constant:rps=3", 5*time.Minute),
		smallLoad("diurnal:low=1,high=90,period=5m,peak=3m", 5*time.Minute)}
	m.Seeds = 2
	tightest := 1e9
	for _, row := range mustRun(t, m, Options{Dir: t.TempDir()}).Rows {
		cost, bound := float64(row.Measures["core_hours"].Mean), float64(row.Bound.Mean)
		if !row.Met {
			continue
		}
		if cost < 0.97*bound {
			t.Errorf("%s on %s costs %v, the bound is %v", row.Case.Label, row.Case.Workload, cost, bound)
		}
		tightest = min(tightest, cost/bound)
	}
	if tightest > 1.3 {
		t.Errorf("the bound is %.2f times below every policy: it is meaningless", tightest)
	}
}

func TestTheOracleMeetsTheSLOAndCostsNoMoreThanTheBestHPA(t *testing.T) {
	m := smallMatrix("hpa", "hpa (calibrated): hpa:limits=keep,request=keep@calibrated", "oracle")
	m.Workloads = []Workload{smallLoad(smallBursts, 10*time.Minute), smallLoad("diurnal:low=10,high=80,period=10m,peak=6m",
		10*time.Minute)}
	rows := mustRun(t, m, Options{Dir: t.TempDir()}).Rows
	for i := 0; i < len(rows); i += 3 {
		best, reference := rows[i+1], rows[i+2]
		if !reference.Met {
			t.Errorf("%s: the oracle has %v over the SLO", reference.Case.Workload, reference.Measures["over_slo_ratio"])
		}
		if mine, theirs := reference.Measures["core_hours"].Mean, best.Measures["core_hours"].Mean; mine > theirs*1.005 {
			t.Errorf("%s: the oracle costs %v, %s costs %v", reference.Case.Workload, mine, best.Case.Policy, theirs)
		}
		if o := best.OverOracle; o == nil || o.Mean < 1 {
			t.Errorf("%s: over oracle %+v", best.Case.Workload, o)
		}
	}
}
