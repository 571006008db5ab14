package papers

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/loadline/loadline/internal/workload"
)

// drpcLevels are the levels to which the load grows within a minute, relative to the peak of
// the experiment. The paper goes from a quarter of its highest rate to all of it.
var drpcLevels = []float64{0.25, 0.5, 0.75, 1, 1.25, 1.5}

const (
	growthCalm = 6 * minute  // at the lowest level before the rise
	growthHold = 12 * minute // measured, from the rise on
)

// growthLoad rises from the lowest level to another within a minute.
func (s *drpcSetup) growthLoad(level float64) *workload.Workload {
	const step = 15 * time.Second
	w := &workload.Workload{Name: fmt.Sprintf("growing to %g", level*s.peak), Step: step}
	low := drpcLevels[0]
	for at := time.Duration(0); at < growthCalm+growthHold; at += step {
		risen := min(max(float64(at+step-growthCalm)/float64(minute), 0), 1)
		w.Rates = append(w.Rates, s.peak*(low+(level-low)*risen))
	}
	if !s.few {
		w.Mix = drpcMix(drpcMixStep) // that of the first morning
	}
	return w
}

// growth is the mean response in ms, by contender and seed, and the quadratic coefficient of a
// parabola through them, in ms per (100 requests/s)^2.
type growth struct {
	levels    []float64 // requests/s
	responses [][][]float64
	squares   [][]float64
}

// grow runs the contenders under growing load.
func (s *drpcSetup) grow(ctx context.Context, o Options, all []drpcContender) (*growth, error) {
	levels := drpcLevels
	if s.few {
		levels = []float64{0.25, 0.5, 1}
	}
	g := &growth{responses: make([][][]float64, len(all)), squares: make([][]float64, len(all))}
	for _, l := range levels {
		g.levels = append(g.levels, l*s.peak)
	}
	var part []int
	for c := range all {
		if all[c].grows {
			part = append(part, c)
			g.responses[c], g.squares[c] = make([][]float64, o.Seeds), make([]float64, o.Seeds)
			for seed := range o.Seeds {
				g.responses[c][seed] = make([]float64, len(levels))
			}
		}
	}
	err := o.each(ctx, len(part)*o.Seeds*len(levels), func(job int) error {
		c, seed, l := part[job/(o.Seeds*len(levels))], job/len(levels)%o.Seeds, job%len(levels)
		out, err := trial{app: s.app, load: s.growthLoad(levels[l]), policy: all[c].policy(seed), seed: o.Seed + uint64(seed),
			warmUp: growthCalm}.run(ctx)
		if err != nil {
			return err
		}
		g.responses[c][seed][l] = float64(out.Result.Latency.Mean)
		return nil
	})
	if err != nil {
		return nil, err
	}
	hundreds := make([]float64, len(g.levels))
	for i, l := range g.levels {
		hundreds[i] = l / 100
	}
	for _, c := range part {
		for seed := range o.Seeds {
			g.squares[c][seed] = parabola(hundreds, g.responses[c][seed])[2]
		}
	}
	return g, nil
}

// parabola through points by least squares: the constant, the linear and the quadratic
// coefficient. NaN where points are missing or too few.
func parabola(x, y []float64) [3]float64 {
	var a [3][4]float64 // normal equations
	for i := range x {
		powers := [3]float64{1, x[i], x[i] * x[i]}
		for r := range 3 {
			for c := range 3 {
				a[r][c] += powers[r] * powers[c]
			}
			a[r][3] += powers[r] * y[i]
		}
	}
	for p := range 3 {
		if math.Abs(a[p][p]) < 1e-12 {
			return [3]float64{math.NaN(), math.NaN(), math.NaN()}
		}
		for r := range 3 {
			if r == p {
				continue
			}
			f := a[r][p] / a[p][p]
			for c := p; c < 4; c++ {
				a[r][c] -= f * a[p][c]
			}
		}
	}
	return [3]float64{a[0][3] / a[0][0], a[1][3] / a[1][1], a[2][3] / a[2][2]}
}
