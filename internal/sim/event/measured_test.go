package event

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/pool"
)

// besides are measured runs of two HTTP servers in cgroups of unequal cpu.shares on one core: v,
// with requests of 5 ms of CPU (CV 0.5), and n, with 10 ms (CV 0.8), a thread for each; open
// arrivals for 30 s, the first 5 s not counted (2-core virtual machine, cgroups v1, 2026-11-15).
var besides = []struct {
	sharesV, sharesN float64
	rateV, rateN     float64 // requests/s sent
	mean, p99        float64 // latency of v, ms
}{
	{512, 512, 40, 40, 14.957, 57.576},
	{512, 512, 40, 60, 17.174, 69.931},
	{512, 512, 40, 75, 20.301, 69.271},
	{512, 512, 40, 90, 22.901, 94.591},
	{512, 512, 80, 20, 21.367, 95.970},
	{512, 512, 80, 40, 39.687, 178.211},
	{512, 512, 80, 55, 67.442, 369.146},
	{512, 512, 80, 70, 72.998, 372.228},
	{256, 1024, 40, 40, 27.194, 135.342},
	{256, 1024, 40, 60, 54.320, 291.253},
	{256, 1024, 40, 75, 603.344, 2081.801},
	{256, 1024, 40, 90, 1414.426, 5444.546},
	{256, 1024, 80, 20, 24.975, 141.480},
	{256, 1024, 80, 40, 76.342, 539.278},
	{256, 1024, 80, 55, 619.879, 4687.394},
	{256, 1024, 80, 70, 9030.736, 24607.548},
}

// Neighbours take the place of server n; the length of a burst is that of its requests. One
// figure is fitted: the CPU time that a request costs beyond its intended demand, by the median
// error; 0.4 ms was tried too.
func TestNeighboursDelayAServerAsMeasured(t *testing.T) {
	const overhead = 0.2 // ms
	var means, p99s, steady []float64
	for _, m := range besides {
		run := func(burst time.Duration) *sim.Histogram {
			app := onNodes(station(loadline.Dist{Mean: ms(5 + overhead), CV: 0.5}, 0, many, 0, 1), 1)
			app.Services[0].Size.CPURequest = m.sharesV / 2048
			all := sim.NewHistogram(7)
			for seed := range uint64(8) {
				n := pool.Neighbours{Use: m.rateN * (10 + overhead) / 1000, Request: m.sharesN / 2048, Burst: burst, PodsPerCore: 1, Vary: -1}
				e := New(sim.Config{App: app, Load: constant{m.rateV}, Seed: seed, WarmUp: 5 * time.Second,
					Cluster: pool.Cluster{Neighbours: n}})
				e.AdvanceTo(30 * time.Second)
				all.Merge(e.Meter().Kinds[0].Latency)
			}
			return all
		}
		h := run(ms(10 + overhead))
		means = append(means, h.Mean()/1e6/m.mean)
		p99s = append(p99s, h.Quantile(0.99)/1e6/m.p99)
		steady = append(steady, run(-1).Quantile(0.99)/1e6/m.p99)
		t.Logf("shares %4.0f:%-4.0f rates %2.0f and %2.0f: mean %6.1f ms, measured %6.1f; p99 %6.1f ms, "+
			"measured %6.1f; p99 beside steady neighbours x%.2f", m.sharesV, m.sharesN, m.rateV, m.rateN,
			h.Mean()/1e6, m.mean, h.Quantile(0.99)/1e6, m.p99, steady[len(steady)-1])
	}
	off := func(ratios []float64) float64 {
		errors := make([]float64, len(ratios))
		for i, r := range ratios {
			errors[i] = math.Abs(math.Log(r))
		}
		slices.Sort(errors)
		return math.Exp(errors[len(errors)/2]) - 1
	}
	t.Logf("median error: mean %.1f %%, p99 %.1f %%; p99 beside steady neighbours %.1f %%", 100*off(means), 100*off(p99s), 100*off(steady))
	if !(off(means) <= 0.2 && off(p99s) <= 0.2) {
		t.Errorf("median error of the mean %.1f %% and of the p99 %.1f %%; want at most 20 %%", 100*off(means), 100*off(p99s))
	}
	if off(steady) < 2*off(p99s) {
		t.Error("steady neighbours are not much further from the measurement than random ones: reconsider the default")
	}
}
