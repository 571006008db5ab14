package fluid

import "math"

// mergeCohorts merges cohorts whose replicas have become alike, and drops empty ones.
func (e *Engine) mergeCohorts() {
	for i := range e.services {
		s := &e.services[i]
		for b := len(s.cohorts) - 1; b >= 0 && len(s.cohorts) > 1; b-- {
			if s.cohorts[b].pods == 0 {
				e.dropCohort(i, b)
				continue
			}
			for a := range b {
				x, y := &s.cohorts[a], &s.cohorts[b]
				if x.ownLimit == y.ownLimit && x.quota == y.quota && math.Abs(x.crowd-y.crowd) <= closeCrowd(x.crowd, y.crowd) {
					e.merge(i, a, b)
					break
				}
			}
		}
		if len(s.cohorts) == 1 && s.cohorts[0].pods == 0 {
			s.cohorts = s.cohorts[:0]
		}
	}
}

// merge moves the pods of cohort b into a.
func (e *Engine) merge(service, a, b int) {
	s := &e.services[service]
	x, y := &s.cohorts[a], &s.cohorts[b]
	for _, slot := range e.cp.Slots(service) {
		if slot < len(e.pods) && e.pods[slot].cohort == b && e.pods[slot].id == e.cp.Pod(slot).ID {
			p := &e.pods[slot]
			p.used = p.used.plus(y.perPod.minus(p.from))
			p.cohort, p.from = a, x.perPod
		}
	}
	n := float64(x.pods + y.pods)
	mean := func(u, v float64) float64 { return (u*float64(x.pods) + v*float64(y.pods)) / n }
	x.crowd, x.extra = mean(x.crowd, y.crowd), mean(x.extra, y.extra)
	x.calling = mean(x.calling, y.calling)
	x.pods += y.pods
	y.pods = 0
	e.sharesMoved = true
	e.dropCohort(service, b)
}

// dropCohort closes the gap that an empty cohort leaves.
func (e *Engine) dropCohort(service, b int) {
	s := &e.services[service]
	last := len(s.cohorts) - 1
	if b != last {
		s.cohorts[b] = s.cohorts[last]
		for _, slot := range e.cp.Slots(service) {
			if slot < len(e.pods) && e.pods[slot].cohort == last && e.pods[slot].id == e.cp.Pod(slot).ID {
				e.pods[slot].cohort = b
			}
		}
	}
	s.cohorts = s.cohorts[:last]
}
