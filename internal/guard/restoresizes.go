package guard

import "github.com/loadline/loadline"

// noteSizes records the services whose size the model changes.
func (l *Ladder) noteSizes(p loadline.Proposal) {
	for i := range p.Services {
		set := &p.Services[i].Setting
		if set.CPURequest.Set || set.CPULimit.Set || set.MemoryRequest.Set || set.MemoryLimit.Set {
			l.resized[p.Services[i].Service] = true
		}
	}
}

// restoreSizes returns services that the model has resized to the size in the
// application, unless the rule sets sizes itself: the rule was calibrated for that
// size, and miscounts replicas of another size. Until the size is restored, replicas
// are not reduced. The guards delay a smaller size until it can carry the load.
func (l *Ladder) restoreSizes(is []loadline.Allocation, p loadline.Proposal) {
	for i := range p.Services {
		sp := &p.Services[i]
		if !l.resized[sp.Service] || l.app.Services[sp.Service].Size == (loadline.Size{}) {
			continue
		}
		home := loadline.Allocation{Size: l.app.Services[sp.Service].Size}
		there := true
		for a := cpuRequest; a < axes; a++ {
			_, spoken := a.wanted(&sp.Setting)
			if v := a.of(&home); !spoken && v > 0 && v != a.of(&is[sp.Service]) {
				a.set(&sp.Setting, v)
				there = false
			}
		}
		if there {
			l.resized[sp.Service] = false
		} else {
			if replicas.reduces(&sp.Setting, &is[sp.Service]) {
				replicas.unset(&sp.Setting)
			}
			sp.Reason += "; back to the size that the rule was calibrated for"
		}
	}
}
