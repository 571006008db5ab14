package guard

import "github.com/loadline/loadline"

// noteSizes remembers whose size the model changes.
func (l *Ladder) noteSizes(p loadline.Proposal) {
	for i := range p.Services {
		set := &p.Services[i].Setting
		if set.CPURequest.Set || set.CPULimit.Set || set.MemoryRequest.Set || set.MemoryLimit.Set {
			l.resized[p.Services[i].Service] = true
		}
	}
}

// homeward has services that the model has resized go back to the size that the
// application's model gives them, where the rule leaves sizes alone: it was
// calibrated for that size, and counts replicas of another one wrongly. Until
// they are there it takes no replicas away. The guards see to it that a smaller
// size comes no sooner than it can carry the load.
func (l *Ladder) homeward(is []loadline.Allocation, p loadline.Proposal) {
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
			if replicas.falls(&sp.Setting, &is[sp.Service]) {
				replicas.unset(&sp.Setting)
			}
			sp.Reason += "; back to the size that the rule was calibrated for"
		}
	}
}
