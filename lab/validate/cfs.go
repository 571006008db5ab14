package validate

import (
	"context"
	"strings"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
)

// CFSOptions configure the simulation.
type CFSOptions struct {
	Seeds int // runs per measured run and point of the grid
}

// DefaultCFS takes about ten seconds on two cores.
var DefaultCFS = CFSOptions{Seeds: 61}

// The measured machine, and its runs: 40 s, of which the first 5 are excluded.
const (
	cfsCores  = 2
	cfsLength = 40 * time.Second
	cfsWarmUp = 5 * time.Second
)

// Overhead is what a real server spends on every request besides its work: HTTP, the runtime,
// the kernel. Nothing else is fitted.
type Overhead struct {
	CPUMs  float64 `json:"cpu_ms"`  // of CPU
	WaitMs float64 `json:"wait_ms"` // of latency without CPU
}

// app models a measured run: each server a service under its quota, all on one
// node. The overhead is constant, so it adds to the mean of the demand and not
// to its deviation.
func (r *cfsRun) app(o Overhead) *loadline.App {
	app := &loadline.App{Name: "cfs", Nodes: []loadline.Node{{Name: "machine", Cores: cfsCores, Memory: 1 << 40}}}
	for i, demand := range r.Demand {
		cpu := loadline.Dist{Mean: milliseconds(demand + o.CPUMs), CV: r.CV * demand / (demand + o.CPUMs)}
		size := loadline.Size{CPURequest: r.Quota[i], CPULimit: r.Quota[i]}
		app.Services = append(app.Services, server("server", cpu, milliseconds(o.WaitMs), r.Replicas, size))
	}
	root := visit(0)
	if len(r.Demand) == 2 {
		root = visit(0, []loadline.Call{visit(1)})
	}
	app.Kinds = []loadline.Kind{{Name: "request", Share: 1, Root: root}}
	return app
}

// chargedOverhead is the overhead per server by the kernel's accounting of this run. It
// includes idle wake-ups and the randomness of the drawn demands.
func (r *cfsRun) chargedOverhead() float64 {
	asked := 0.0
	for _, d := range r.Demand {
		asked += d
	}
	return (r.CPUMs - asked) / float64(len(r.Demand))
}

// latencies of many simulated runs of one measured run.
type latencies struct{ meanMs, p99Ms []float64 }

func (r *cfsRun) simulate(o Overhead, cpu sim.CPUModel, seeds int) latencies {
	var out latencies
	for seed := range seeds {
		m := simulate(sim.Config{
			App: r.app(o), CPU: cpu, Seed: uint64(seed), WarmUp: cfsWarmUp,
			Load: constant{rates: []float64{r.rate()}, ends: sim.Never},
		}, cfsLength)
		l := m.Kinds[0].Latency
		out.meanMs = append(out.meanMs, l.Mean()/1e6)
		out.p99Ms = append(out.p99Ms, l.Quantile(0.99)/1e6)
	}
	return out
}

// CFS fits the overhead and reports the errors: once on all runs, and once on each half, so
// that every run is also predicted by a fit without it.
func CFS(ctx context.Context, o CFSOptions) (*CFSReport, error) {
	runs, err := readCFS(strings.NewReader(cfsQuota))
	if err != nil {
		return nil, err
	}
	grid, err := newCFSGrid(ctx, runs, o.Seeds)
	if err != nil {
		return nil, err
	}
	fitted := grid.fit(runs, func(int) bool { return true })
	even := grid.fit(runs, func(i int) bool { return i%2 == 0 })
	odd := grid.fit(runs, func(i int) bool { return i%2 == 1 })
	shared := make([]latencies, len(runs))
	charged := make([]latencies, len(runs))
	err = each(ctx, len(runs), func(i int) {
		r := &runs[i]
		shared[i] = r.simulate(fitted, sim.Shared, (o.Seeds+2)/3)
		charged[i] = r.simulate(Overhead{CPUMs: r.chargedOverhead(), WaitMs: fitted.WaitMs}, sim.Quota, (o.Seeds+2)/3)
	})
	if err != nil {
		return nil, err
	}
	crossed := make([]latencies, len(runs))
	for i := range runs {
		crossed[i] = grid.answer(runs, i, [2]Overhead{odd, even}[i%2])
	}
	report := &CFSReport{
		Seeds: o.Seeds, Overhead: fitted, Halves: [2]Overhead{even, odd},
		Crossed: compareCFS(runs, crossed), Charged: compareCFS(runs, charged), Shared: compareCFS(runs, shared),
	}
	report.fill(runs, grid.answers(runs, fitted), shared)
	return report, nil
}
