package validate

import (
	"context"
	"math"
	"slices"

	"github.com/loadline/loadline/internal/sim"
)

// The CPU that metrics attribute to functions is not the whole cost of a request: the kernel's
// work for networking and for new processes is charged to no container, and yet it is what a
// full node runs out of. Usage does not show it; latencies near saturation do. So each function
// has a factor on its demand, found by coordinate search with the event engine. It is at least
// 1: a request takes at least what it was charged for.

// tuner stores the error of each drawn sample, so that a changed factor costs only the samples
// that it affects.
type tuner struct {
	model   *FaaSModel
	samples []faasSample
	off     [][]float64 // by sample and function
	seed    uint64
}

// knob multiplies one parameter that affects some samples; it stays within its bounds.
type knob struct {
	turn    func(factor float64) bool
	touches func(*faasSample) bool
}

// tune changes the factors while that brings the latencies of fitted samples closer.
func (m *FaaSModel) tune(ctx context.Context, fit []faasSample, count int, seed uint64) error {
	rng := sim.Stream(seed, sim.StreamMetrics, 2)
	busy := slices.DeleteFunc(slices.Clone(fit), func(s faasSample) bool {
		u := m.utilisation(&s)
		return u < 0.4 || u > 1.6 // idle samples carry no information, hopeless ones are all timeouts
	})
	rng.Shuffle(len(busy), func(i, j int) { busy[i], busy[j] = busy[j], busy[i] })
	t := &tuner{model: m, samples: busy[:min(count, len(busy))], seed: seed}
	all := func(*faasSample) bool { return true }
	off, err := t.distances(ctx, all)
	if err != nil {
		return err
	}
	t.off = off
	for _, step := range []float64{1.3, 1.1} {
		for _, k := range m.knobs() {
			for _, factor := range []float64{step, 1 / step} {
				if err := t.climb(ctx, k, factor); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// climb moves a knob in one direction as long as it helps.
func (t *tuner) climb(ctx context.Context, k knob, factor float64) error {
	for {
		if !k.turn(factor) {
			return nil
		}
		off, err := t.distances(ctx, k.touches)
		if err != nil {
			return err
		}
		if mean(slices.Concat(off...)) >= mean(slices.Concat(t.off...)) {
			k.turn(1 / factor)
			return nil
		}
		t.off = off
	}
}

// knobs of a model, in a fixed order.
func (m *FaaSModel) knobs() []knob {
	var knobs []knob
	for _, name := range sortedKeys(m.Functions) {
		knobs = append(knobs, knob{
			turn: func(factor float64) bool {
				f := m.Functions[name]
				if f.Hidden *= factor; f.Hidden < 1-1e-9 {
					return false
				}
				m.Functions[name] = f
				return true
			},
			touches: func(s *faasSample) bool {
				return slices.ContainsFunc(s.Functions, func(f faasFunction) bool { return f.Name == name })
			},
		})
	}
	return knobs
}

// distances are the absolute logarithms of simulated over measured latency: a latency that is
// twice the measured one counts as much as one that is half of it.
func (t *tuner) distances(ctx context.Context, touched func(*faasSample) bool) ([][]float64, error) {
	out := make([][]float64, len(t.samples))
	err := each(ctx, len(out), func(i int) {
		s := &t.samples[i]
		if !touched(s) {
			out[i] = t.off[i]
			return
		}
		for j, a := range t.model.answer(s, t.seed) {
			out[i] = append(out[i], math.Abs(math.Log(a.latencyMs/s.Functions[j].LatencyMs)))
		}
	})
	return out, err
}
