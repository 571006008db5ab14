package fluid

import (
	"slices"
	"time"

	"github.com/loadline/loadline/internal/sim"
)

// start is the start-up of a pod that uses CPU for it: an amount of work, which takes longer
// under a smaller CPU limit or on a node that is short of cores.
type start struct {
	slot  int
	cores float64 // wanted
	left  float64 // core-seconds
}

// PodStarting begins a start-up that uses CPU.
func (e *Engine) PodStarting(slot int) {
	info := e.cp.Pod(slot)
	cores := e.app.Services[info.Service].StartupCPU
	if cores == 0 {
		return
	}
	e.openPod(slot)
	work := cores * e.cp.HoldStart(slot, e.now).Seconds()
	if limit := info.Size.CPULimit; limit > 0 {
		cores = min(cores, limit)
	}
	e.starts = append(e.starts, start{slot: slot, cores: cores, left: work})
	e.pods[slot].weight = e.weigh(slot)
	e.weighStarts(info.Node)
}

// weighStarts adds up the start-ups on a node.
func (e *Engine) weighStarts(n int) {
	if n >= 0 {
		m := &e.nodes[n]
		m.starting, m.startWeight = 0, 0
		for i := range e.starts {
			if p := &e.pods[e.starts[i].slot]; p.node == n {
				m.starting += e.starts[i].cores
				m.startWeight += p.weight
			}
		}
		e.recheck(n)
	}
	e.nextStart()
}

// dropStart forgets the start-up of a pod, if it has one.
func (e *Engine) dropStart(slot int) {
	if i := slices.IndexFunc(e.starts, func(s start) bool { return s.slot == slot }); i >= 0 {
		e.starts = slices.Delete(e.starts, i, i+1)
		e.weighStarts(e.pods[slot].node)
	}
}

// startSpeed is the share of the wanted cores that start-ups on a pod's node get.
func (e *Engine) startSpeed(slot int) float64 {
	n := e.pods[slot].node
	if n < 0 || !e.nodes[n].crowdable || e.nodes[n].starting <= 0 {
		return 1
	}
	m := &e.nodes[n]
	return min(1, m.level*m.startWeight/m.starting)
}

// nextStart computes when the next start-up ends, as it goes now.
func (e *Engine) nextStart() {
	e.startAt = sim.Never
	for i := range e.starts {
		s := &e.starts[i]
		rest := s.left / (s.cores * max(e.startSpeed(s.slot), 1e-6))
		e.startAt = min(e.startAt, e.now+time.Duration(rest*float64(time.Second))+1)
	}
}

// advanceStarts does the work of start-ups in a step.
func (e *Engine) advanceStarts(h float64) {
	for i := range e.starts {
		s := &e.starts[i]
		used := min(s.cores*e.startSpeed(s.slot)*h, s.left)
		s.left -= used
		p := &e.pods[s.slot]
		p.used.cpu += used
		e.services[p.service].cpuSeconds += used
	}
}

// endStarts makes pods ready whose start-up is done.
func (e *Engine) endStarts() {
	for i := 0; i < len(e.starts); {
		if s := e.starts[i]; s.left <= 1e-6*s.cores {
			e.dropStart(s.slot)
			e.cp.Started(s.slot, e.now)
			i = 0
			continue
		}
		i++
	}
	e.nextStart()
}
