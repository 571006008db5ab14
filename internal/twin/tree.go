package twin

import (
	"math"
	"slices"

	"github.com/loadline/loadline"
)

// maxTree is the maximum number of calls in the tree of one kind.
const maxTree = 2000

// tree unfolds the calls of one kind of request: a service that is called from two places is in
// both, with the same calls of its own, because the metrics distinguish callers but not their
// callers. The models have the work of the kind at each service.
func (g *graph) tree(k int, models []model) (root loadline.Call, cut bool) {
	left := maxTree
	kd := &g.kinds[k]
	var unfold func(service int, perRequest float64) loadline.Call
	unfold = func(service int, perRequest float64) loadline.Call {
		c := visit(service)
		if work := models[service].demand.work; work != nil {
			c.Work = work[k]
		}
		var stages [][]loadline.Call
		for _, to := range kd.calls[service] {
			if perRequest*to.ratio < 1e-5 {
				continue
			}
			whole, rest := times(to.ratio)
			if left--; left < 0 {
				cut = true
				continue
			}
			made := unfold(to.service, perRequest*to.ratio)
			if whole > 0 {
				always := made
				always.Times = whole
				stages = append(stages, []loadline.Call{always})
			}
			if rest > 0 {
				maybe := made
				maybe.Probability = rest
				stages = append(stages, []loadline.Call{maybe})
			}
		}
		if models[service].station.parallel {
			stages = sideBySide(stages)
		}
		c.Stages = stages
		return c
	}
	return unfold(kd.to, 1), cut
}

// maxSide is the maximum number of calls, with all below them, of a stage made of repetitions.
const maxSide = 300

// sideBySide merges all stages into one. Repetitions become separate calls, unless too many
// calls are below them: then they stay sequential.
func sideBySide(stages [][]loadline.Call) [][]loadline.Call {
	var side []loadline.Call
	for _, c := range slices.Concat(stages...) {
		if c.Times*callsUnder(&c) > maxSide {
			side = append(side, c)
			continue
		}
		for range c.Times {
			one := c
			one.Times = 1
			side = append(side, one)
		}
	}
	if len(side) == 0 {
		return nil
	}
	return [][]loadline.Call{side}
}

// bulky reports whether some kind's repeated calls of a service have too many calls below them
// to be parallel.
func (g *graph) bulky(service int) bool {
	for k := range g.kinds {
		kd := &g.kinds[k]
		size := make([]int, len(kd.calls)) // calls in the tree under a visit, itself included
		for _, s := range slices.Backward(g.order) {
			size[s] = 1
			for _, c := range kd.calls[s] {
				size[s] += size[c.service]
			}
		}
		for _, c := range kd.calls[service] {
			if int(c.ratio)*size[c.service] > maxSide {
				return true
			}
		}
	}
	return false
}

func callsUnder(c *loadline.Call) int {
	n := 1
	for _, stage := range c.Stages {
		for i := range stage {
			n += callsUnder(&stage[i])
		}
	}
	return n
}

func visit(service int) loadline.Call {
	return loadline.Call{Service: service, Probability: 1, Times: 1, Work: 1}
}

// times divides a mean number of calls into those that are always made and the probability of
// one more.
func times(ratio float64) (whole int, rest float64) {
	floor := math.Floor(ratio)
	rest = round(ratio-floor, 4)
	if rest < 0.002 && floor > 0 || rest < 1e-6 {
		rest = 0
	}
	return int(floor), rest
}
