package validate

import (
	"context"
	"math"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/event"
	"github.com/loadline/loadline/internal/sim/fluid"
)

// ContentionOptions configure the comparison.
type ContentionOptions struct {
	Seeds int // runs of each engine per measured run
}

// DefaultContention takes some ten seconds on two cores.
var DefaultContention = ContentionOptions{Seeds: 21}

// A burst of CPU is simulated as many small jobs: the engines' arrivals are random, and the sum
// of many small jobs is not. Equal jobs that share a replica end together, so their latency is
// the length of the burst.
const (
	burstJobMs = 1.0
	burstLasts = 10 * time.Millisecond // arrivals of its jobs
)

// contentionLoad is the load of a measured run, a kind per server.
type contentionLoad struct{ run *contentionRun }

func (l contentionLoad) Rate(kind int, t time.Duration) (float64, time.Duration) {
	if t >= l.run.Length {
		return 0, sim.Never
	}
	s := &l.run.Servers[kind]
	if s.Every == 0 {
		return s.Rate, l.run.Length
	}
	start := t.Truncate(s.Every)
	if end := start + burstLasts; t < end {
		return s.DemandMs / burstJobMs / burstLasts.Seconds(), end
	}
	return 0, min(start+s.Every, l.run.Length)
}

// app models a measured run: each server a service, all on one node, with its shares as its
// CPU request. Requests are only weights here, so they are scaled to fit on the node. The
// overhead is constant, so it adds to the mean of the demand and not to its deviation.
func (r *contentionRun) app(o Overhead) *loadline.App {
	app := &loadline.App{Name: "contention", Nodes: []loadline.Node{{Name: "machine", Cores: r.Cores, Memory: 1 << 40}}}
	shares := 0.0
	for i := range r.Servers {
		shares += r.Servers[i].Shares * float64(r.Servers[i].Replicas)
	}
	for i := range r.Servers {
		s := &r.Servers[i]
		cpu := loadline.Dist{Mean: milliseconds(s.DemandMs + o.CPUMs), CV: s.CV * s.DemandMs / (s.DemandMs + o.CPUMs)}
		if s.Every > 0 {
			cpu = loadline.Dist{Mean: milliseconds(burstJobMs)}
		}
		size := loadline.Size{CPURequest: r.Cores * s.Shares / shares, CPULimit: s.Quota}
		service := server(s.Name, cpu, milliseconds(o.WaitMs), s.Replicas, size)
		if s.Workers > 0 {
			service.Workers = s.Workers
		}
		app.Services = append(app.Services, service)
		app.Kinds = append(app.Kinds, loadline.Kind{Name: s.Name, Share: 1 / float64(len(r.Servers)), Root: visit(i)})
	}
	return app
}

// The engines that are compared.
const (
	eventEngine = iota
	fluidEngine
	enginesCompared
)

// simulate runs one engine once, to the outcome of each server. Requests that have not ended
// with the load are followed to their end, as in the measurement.
func (r *contentionRun) simulate(engine int, o Overhead, seed uint64) []outcome {
	cfg := sim.Config{App: r.app(o), CPU: sim.Quota, Seed: seed, WarmUp: contentionWarmUp, Load: contentionLoad{r}}
	var e sim.Engine
	if engine == eventEngine {
		e = event.New(cfg)
	} else {
		e = fluid.New(cfg, time.Second)
	}
	var read [2]sim.Reading
	var meters [2][]sim.ServiceMeter
	for i, at := range r.Counted {
		e.AdvanceTo(at)
		e.Read(&read[i])
		meters[i] = append(meters[i], e.Meter().Services...)
	}
	e.AdvanceTo(3 * r.Length)
	e.Finish()
	out := make([]outcome, len(r.Servers))
	for i := range out {
		n := float64(r.Servers[i].Replicas)
		l := e.Meter().Kinds[i].Latency
		out[i] = outcome{
			CPUSeconds: (read[1].Services[i].Of[loadline.ServiceCPU] - read[0].Services[i].Of[loadline.ServiceCPU]) / n,
			MeanMs:     l.Mean() / 1e6, P99Ms: l.Quantile(0.99) / 1e6,
			Periods:   (meters[1][i].Periods - meters[0][i].Periods) / n,
			Throttled: (meters[1][i].ThrottledPeriods - meters[0][i].ThrottledPeriods) / n,
		}
	}
	return out
}

// simulateAll runs an engine several times and returns the outcomes by server and seed.
func (r *contentionRun) simulateAll(engine int, o Overhead, seeds int) [][]outcome {
	out := make([][]outcome, len(r.Servers))
	for seed := range seeds {
		for i, one := range r.simulate(engine, o, uint64(seed)) {
			out[i] = append(out[i], one)
		}
	}
	return out
}

// middle is the median of each figure.
func middle(of []outcome) outcome {
	by := func(figure func(outcome) float64) float64 {
		values := make([]float64, len(of))
		for i, o := range of {
			values[i] = figure(o)
		}
		return median(values)
	}
	return outcome{
		CPUSeconds: by(func(o outcome) float64 { return o.CPUSeconds }),
		MeanMs:     by(func(o outcome) float64 { return o.MeanMs }),
		P99Ms:      by(func(o outcome) float64 { return o.P99Ms }),
		Periods:    by(func(o outcome) float64 { return o.Periods }),
		Throttled:  by(func(o outcome) float64 { return o.Throttled }),
	}
}

// heldOut runs are not fitted: every second one of each set, in the order of the files.
func heldOut(runs []contentionRun) []bool {
	out := make([]bool, len(runs))
	seen := map[string]int{}
	for i := range runs {
		out[i] = seen[runs[i].Set]%2 == 1
		seen[runs[i].Set]++
	}
	return out
}

// Contention fits an overhead per request to one half of the runs of each measured program,
// simulates all runs in both engines and reports the errors.
func Contention(ctx context.Context, o ContentionOptions) (*ContentionReport, error) {
	runs, err := readContention()
	if err != nil {
		return nil, err
	}
	held := heldOut(runs)
	fits, err := fitContention(ctx, runs, held, max(o.Seeds/3, 1))
	if err != nil {
		return nil, err
	}
	simulated := make([][enginesCompared][][]outcome, len(runs))
	err = each(ctx, len(runs), func(i int) {
		for engine := range enginesCompared {
			simulated[i][engine] = runs[i].simulateAll(engine, fits[runs[i].Set], o.Seeds)
		}
	})
	if err != nil {
		return nil, err
	}
	report := newContentionReport(o.Seeds, runs, held, fits, simulated)
	report.Charged, err = chargedContention(ctx, runs, fits, o.Seeds)
	return report, err
}

// chargedContention simulates the runs under a quota with the CPU per request that the kernel
// charged: what remains is the error of the quota's model.
func chargedContention(ctx context.Context, runs []contentionRun, fits map[string]Overhead, seeds int) (ContentionErrors, error) {
	answers := make([]outcome, len(runs))
	err := each(ctx, len(runs), func(i int) {
		r := &runs[i]
		if s := &r.Servers[0]; s.Quota > 0 {
			perRequest := s.measured.CPUSeconds * float64(s.Replicas) * 1e3 / s.Rate / (r.Counted[1] - r.Counted[0]).Seconds()
			o := Overhead{CPUMs: perRequest - s.DemandMs, WaitMs: fits[r.Set].WaitMs}
			answers[i] = middle(r.simulateAll(eventEngine, o, seeds)[0])
		}
	})
	var p contentionPairs
	for i := range runs {
		if s := &runs[i].Servers[0]; s.Quota > 0 {
			p.add(s, answers[i])
		}
	}
	return p.errors(), err
}

// fitContention finds the overhead of each measured program in the event engine: the CPU by a
// grid, and the wait, which only shifts latencies, by another. It minimises the sum of the
// median errors of CPU, mean, p99 and throttled periods.
func fitContention(ctx context.Context, runs []contentionRun, held []bool, seeds int) (map[string]Overhead, error) {
	const steps = 10
	cpuMs := func(step int) float64 { return 0.1 * float64(step+1) }
	answers := make([][]outcome, steps*len(runs)) // by step, run and server
	err := each(ctx, len(answers), func(i int) {
		step, run := i/len(runs), i%len(runs)
		if held[run] {
			return
		}
		for _, of := range runs[run].simulateAll(eventEngine, Overhead{CPUMs: cpuMs(step)}, seeds) {
			answers[i] = append(answers[i], middle(of))
		}
	})
	if err != nil {
		return nil, err
	}
	fits := map[string]Overhead{}
	least := map[string]float64{}
	for _, set := range []string{"pairs", "cfs", "runs"} {
		least[set] = math.Inf(1)
		for step := range steps {
			for wait := range 11 {
				o := Overhead{CPUMs: cpuMs(step), WaitMs: 0.2 * float64(wait)}
				var p contentionPairs
				for run := range runs {
					if runs[run].Set != set || held[run] {
						continue
					}
					for i, a := range answers[step*len(runs)+run] {
						a.MeanMs, a.P99Ms = a.MeanMs+o.WaitMs, a.P99Ms+o.WaitMs
						p.add(&runs[run].Servers[i], a)
					}
				}
				if off := p.errors().sum(); off < least[set] {
					fits[set], least[set] = o, off
				}
			}
		}
	}
	return fits, nil
}
