package fluid

import "math"

// holdBack returns how many visits a service can let through in a step when its callees are
// full of its own calls: a visit in a callee occupies a worker of its caller, so a callee never
// has more visits than its callers have workers. The rest waits at the caller.
func (e *Engine) holdBack(s *service, g span, h float64) float64 {
	most := math.Inf(1)
	if !e.unsettled || s.lastOut <= 0 {
		return most
	}
	for n := g.from; n < g.to; n++ {
		for _, kid := range e.p.nodes[n].kids {
			to := &e.services[e.p.nodes[kid].service]
			if to != s && to.lastIn > 0 && e.flow[kid] > 0 {
				most = min(most, e.takes(to, h)*s.lastOut/to.lastIn)
			}
		}
	}
	return most
}

// takes is how many visits a service can admit in a step before its callers run out of workers.
// If its backlog would be full first, it admits them all and refuses.
func (e *Engine) takes(s *service, h float64) float64 {
	room := 0.0
	for _, c := range s.callers {
		room += e.services[c].workers * float64(e.services[c].ready)
	}
	if room >= s.places*float64(s.ready) || s.ready == 0 {
		return math.Inf(1)
	}
	served := 0.0
	for i := range s.cohorts {
		served += s.cohorts[i].top * float64(s.cohorts[i].pods) * h
	}
	return max(room-s.crowd, 0) + served
}

// callersOf lists the services that call each service.
func (p *program) callersOf(services int) [][]int32 {
	out := make([][]int32, services)
	seen := map[[2]int32]bool{}
	for i := range p.nodes {
		n := &p.nodes[i]
		if n.parent < 0 {
			continue
		}
		pair := [2]int32{p.nodes[n.parent].service, n.service}
		if !seen[pair] {
			seen[pair] = true
			out[n.service] = append(out[n.service], pair[0])
		}
	}
	return out
}
