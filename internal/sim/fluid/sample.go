package fluid

import (
	"math"

	"github.com/loadline/loadline/internal/sim/fluid/surface"
)

// Depths of the percentiles that exporters show.
var (
	nan     = math.NaN()
	depth50 = -math.Log(0.5)
	depth90 = -math.Log(0.1)
	depth95 = -math.Log(0.05)
	depth99 = -math.Log(0.01)
)

// samples are the points at which a distribution is put into a histogram, and their weights:
// dense enough for a smooth p99.9.
var samples = placeSamples()

type sample struct {
	part         int
	frac, weight float64
}

func placeSamples() (out []sample) {
	const perPart = 4 // equal shares of the part's probability, each at its middle
	for k := range depth {
		for j := range perPart {
			p := surface.Edges[k] + weight[k]*(float64(j)+0.5)/perPart
			u := -math.Log1p(-p)
			at := 0
			for at < levels-2 && depth[at+1] < u {
				at++
			}
			out = append(out, sample{at, (u - depth[at]) / (depth[at+1] - depth[at]), weight[k] / perPart})
		}
	}
	return out
}

// sample returns the value at a sample point.
func (d *dist) sample(s sample) float64 {
	return max(d.part[s.part]+s.frac*(d.part[s.part+1]-d.part[s.part]), 0)
}
