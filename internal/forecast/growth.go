package forecast

import "math"

// Growth is a distribution of how much a load grows, at most, within a lead time: weights of bins of
// growth on the scale log(1 + requests/s), so that differences are ratios. It is what a capacity is
// chosen by: that with which a share of the requests comes in excess, or a quantile.
type Growth [GrowthBins]float64

// Growth is kept in bins of 2 %, up to a factor of 55.
const GrowthBin, GrowthBins = 0.02, 200

// binLoad is the load of each bin, relative to the present.
var binLoad = func() (load [GrowthBins]float64) {
	for bin := range load {
		load[bin] = math.Exp(float64(bin) * GrowthBin)
	}
	return load
}()

// Count adds a growth. One below 0 counts as none.
func (g *Growth) Count(growth, weight float64) {
	g[min(max(int(growth/GrowthBin+0.5), 0), GrowthBins-1)] += weight
}

// AtShare is the growth with which only a share of the load is expected in excess: the least bin with
//
//	sum of weight * max(load - load of the bin, 0) <= share * sum of weight * load
func (g *Growth) AtShare(share float64) float64 {
	mean := 0.0
	for bin, w := range g {
		mean += w * binLoad[bin]
	}
	// From the highest growth down: what exceeds a bin is the load of the bins above it, less its own
	// for their weight.
	above, load, bin := 0.0, 0.0, GrowthBins-1
	for ; bin > 0; bin-- {
		above, load = above+g[bin], load+g[bin]*binLoad[bin]
		if load-above*binLoad[bin-1] > share*mean {
			break
		}
	}
	return float64(bin) * GrowthBin
}

// AtLevel is the quantile of a level: the least bin that at most 1 - level of the weight is above.
func (g *Growth) AtLevel(level float64) float64 {
	var to [1]float64
	g.AtLevels([]float64{level}, to[:])
	return to[0]
}

// AtLevels are the quantiles of rising levels.
func (g *Growth) AtLevels(levels, to []float64) {
	all := 0.0
	for _, w := range g {
		all += w
	}
	above, bin := 0.0, GrowthBins-1
	for l := len(levels) - 1; l >= 0; l-- {
		for bin > 0 && above+g[bin] <= (1-levels[l])*all {
			above += g[bin]
			bin--
		}
		to[l] = float64(bin) * GrowthBin
	}
}
