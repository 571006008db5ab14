package bench

import (
	"testing"
	"time"

	"github.com/loadline/loadline/internal/sim/pool"
)

func TestTheOracleMeetsTheSLOAndCostsNoMoreThanTheBestHPA(t *testing.T) {
	m := smallMatrix("hpa", "hpa (calibrated): hpa:limits=keep,request=keep@calibrated", "oracle")
	m.Workloads = []Workload{smallLoad(smallBursts, 10*time.Minute), smallLoad("diurnal:low=10,high=80,period=10m,peak=6m",
		10*time.Minute)}
	m.Cluster.Pools = []pool.Pool{mustPool(t, "cores=1,memory=4Gi,price=0.1,start=20s")}
	rows := mustRun(t, m, Options{Dir: t.TempDir()}).Rows
	for i := 0; i < len(rows); i += 3 {
		best, reference := rows[i+1], rows[i+2]
		if !reference.Met {
			t.Errorf("%s: the oracle has %v over the SLO", reference.Case.Workload, reference.Measures["over_slo_ratio"])
		}
		if mine, theirs := reference.Measures["bill"].Mean, best.Measures["bill"].Mean; mine > theirs*1.005 {
			t.Errorf("%s: the oracle costs %v, %s costs %v", reference.Case.Workload, mine, best.Case.Policy, theirs)
		}
		if o := best.OverOracle; o == nil || o.Mean < 1 {
			t.Errorf("%s: over oracle %+v", best.Case.Workload, o)
		}
	}
}
