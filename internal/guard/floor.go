package guard

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/loadline/loadline"
)

// Safe is the allocation that a service is raised to when its load has not been
// measured, or no policy could decide, for a long time. Values that are not set stay
// unchanged.
type Safe struct {
	Replicas int
	CPU      float64 // cores of each replica's limit, and of its request if that has no limit
	Memory   int64   // bytes, likewise
}

// raise adds changes that raise services to their floors: all services on the lowest
// rung, on other rungs those whose load has not been measured for long. A floor never
// reduces. A service at zero or browned out is so on purpose and stays so.
func (l *Ladder) raise(at time.Duration, rung Rung, is []loadline.Allocation, p loadline.Proposal) loadline.Proposal {
	copied := false
	for i := range l.visibility.blind {
		if rung != Floor && l.visibility.unseen(i, at) < l.set.Data.FloorAfter {
			continue
		}
		to := l.floor(i, is[i])
		if to.Empty() {
			continue
		}
		if !copied { // a policy may keep its proposal
			p.Services, copied = slices.Clone(p.Services), true
		}
		reason := fmt.Sprintf("floor: its load has not been measured for %v", l.set.Data.FloorAfter)
		j := slices.IndexFunc(p.Services, func(sp loadline.ServiceProposal) bool { return sp.Service == i })
		if j < 0 {
			p.Services = append(p.Services, loadline.ServiceProposal{Service: i, Setting: to, Reason: reason})
			continue
		}
		sp := &p.Services[j]
		for a := range axes {
			floor, has := a.wanted(&to)
			if v, set := a.wanted(&sp.Setting); has && (!set || v < floor) {
				a.set(&sp.Setting, floor)
				sp.Reason = reason
			}
		}
	}
	return p
}

// floor of a service, as far as it is above what the service is.
func (l *Ladder) floor(service int, is loadline.Allocation) loadline.Setting {
	var to loadline.Setting
	if is.Replicas == 0 || is.Brownout {
		return to
	}
	s := &l.app.Services[service]
	safe, configured := l.set.Floor[s.Name]
	if !configured {
		safe.Replicas = s.Replicas
	}
	raiseTo(replicas, &to, &is, float64(safe.Replicas))
	raiseSize(cpuLimit, cpuRequest, &to, &is, safe.CPU)
	raiseSize(memoryLimit, memoryRequest, &to, &is, float64(safe.Memory))
	return to
}

// raiseSize raises the limit, or the request where there is no limit.
func raiseSize(limit, request axis, to *loadline.Setting, is *loadline.Allocation, v float64) {
	if math.IsInf(limit.of(is), 1) {
		raiseTo(request, to, is, v)
	} else {
		raiseTo(limit, to, is, v)
	}
}

func raiseTo(a axis, to *loadline.Setting, is *loadline.Allocation, v float64) {
	if v > a.of(is) {
		a.set(to, v)
	}
}
