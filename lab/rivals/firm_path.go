package rivals

import (
	"slices"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/formulation"
)

// pathFinder finds critical paths: the longest path through a request, which consists of
// the slowest call of every stage, since stages run one after the other.
type pathFinder struct {
	app      *loadline.App
	unloaded formulation.Unloaded
}

func newPathFinder(app *loadline.App) pathFinder {
	return pathFinder{app, formulation.Unloaded{App: app}}
}

// critical returns the critical path of a kind, callers before callees and each service
// once, and its measured duration in seconds.
func (p pathFinder) critical(o *loadline.Observation, kind int) (services []int, seconds float64) {
	seconds, services = p.walk(o, &p.app.Kinds[kind].Root, -1, nil)
	return services, seconds
}

// walk returns the mean duration of a call and adds the services on its path.
func (p pathFinder) walk(o *loadline.Observation, c *loadline.Call, caller int, path []int) (float64, []int) {
	seconds := o.Services[c.Service].Own.Mean.Or(0)
	if !slices.Contains(path, c.Service) {
		path = append(path, c.Service)
	}
	for _, stage := range c.Stages {
		longest, through := 0.0, path
		for i := range stage {
			call := &stage[i]
			if call.Optional && o.Services[call.Service].Brownout {
				continue
			}
			took, by := p.walk(o, call, c.Service, slices.Clip(path))
			if took > longest {
				longest, through = took, by
			}
		}
		seconds, path = seconds+longest, through
	}
	return p.unloaded.Made(c, caller) * seconds, path
}

// latest is the kind of request with the worst response time over its SLO, and whether
// that violates the SLO.
func (p pathFinder) latest(o *loadline.Observation) (kind int, late bool) {
	worst := 1.0
	for k := range p.app.Kinds {
		if over, known := OverSLO(&p.app.Kinds[k], &o.Kinds[k]); known && over > worst {
			kind, late, worst = k, true, over
		}
	}
	return kind, late
}

// longestChains is, by service, the number of calls in the longest chain that contains it.
func (p pathFinder) longestChains() []int {
	longest := make([]int, len(p.app.Services))
	var walk func(c *loadline.Call, above int) int
	walk = func(c *loadline.Call, above int) int {
		deepest := above + 1
		for _, stage := range c.Stages {
			for i := range stage {
				deepest = max(deepest, walk(&stage[i], above+1))
			}
		}
		longest[c.Service] = max(longest[c.Service], deepest)
		return deepest
	}
	for k := range p.app.Kinds {
		walk(&p.app.Kinds[k].Root, 0)
	}
	return longest
}
