package validate

import (
	"context"
	"math"

	"github.com/loadline/loadline/internal/sim"
)

// cfsGrid has simulated runs for a range of CPU overheads. A constant wait only shifts
// latencies, so it needs no simulation.
type cfsGrid struct {
	cpuMs     []float64
	simulated [][]latencies // by overhead and run
}

func newCFSGrid(ctx context.Context, runs []cfsRun, seeds int) (*cfsGrid, error) {
	g := &cfsGrid{}
	for step := 6; step <= 16; step++ {
		g.cpuMs = append(g.cpuMs, 0.05*float64(step))
		g.simulated = append(g.simulated, make([]latencies, len(runs)))
	}
	err := each(ctx, len(g.cpuMs)*len(runs), func(i int) {
		at, run := i/len(runs), i%len(runs)
		g.simulated[at][run] = runs[run].simulate(Overhead{CPUMs: g.cpuMs[at]}, sim.Quota, seeds)
	})
	return g, err
}

// fit determines the wait from the quiet runs, which show nothing else, and then the CPU that
// minimises the median error of the mean plus that of the p99. The median alone would let the
// wait drift, since it is insensitive to the few runs in which a millisecond matters.
func (g *cfsGrid) fit(runs []cfsRun, in func(run int) bool) Overhead {
	var best Overhead
	least := math.Inf(1)
	for at, cpu := range g.cpuMs {
		o := Overhead{CPUMs: cpu, WaitMs: g.quietWait(runs, at, in)}
		var p cfsPairs
		for i := range runs {
			if in(i) {
				l := g.answer(runs, i, o)
				p.add(&runs[i], median(l.meanMs), median(l.p99Ms))
			}
		}
		e := p.errors()
		if off := e.Mean.Median + e.P99.Median; off < least {
			best, least = o, off
		}
	}
	return best
}

// quiet runs vary so little between seeds (half of the interquartile range, over the median)
// that one measured run resolves a millisecond.
const quiet = 0.04

// quietWait is the latency per server that the quiet runs have in excess of the simulation.
func (g *cfsGrid) quietWait(runs []cfsRun, at int, in func(run int) bool) float64 {
	var waits []float64
	for i := range runs {
		l := g.simulated[at][i].meanMs
		middle := central(l, 0.5)
		if in(i) && (middle[1]-middle[0])/2 < quiet*median(l) {
			waits = append(waits, (runs[i].MeanMs-median(l))/float64(len(runs[i].Demand)))
		}
	}
	return max(0, median(waits))
}

// answer is one run under an overhead whose CPU is in the grid.
func (g *cfsGrid) answer(runs []cfsRun, run int, o Overhead) latencies {
	for at, cpu := range g.cpuMs {
		if cpu == o.CPUMs {
			return g.simulated[at][run].plus(o.WaitMs * float64(len(runs[run].Demand)))
		}
	}
	panic("validate: overhead is not of the grid")
}

func (g *cfsGrid) answers(runs []cfsRun, o Overhead) []latencies {
	out := make([]latencies, len(runs))
	for i := range runs {
		out[i] = g.answer(runs, i, o)
	}
	return out
}

func (l latencies) plus(ms float64) latencies {
	out := latencies{make([]float64, len(l.meanMs)), make([]float64, len(l.p99Ms))}
	for i := range l.meanMs {
		out.meanMs[i], out.p99Ms[i] = l.meanMs[i]+ms, l.p99Ms[i]+ms
	}
	return out
}
