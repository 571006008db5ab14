package fluid

import (
	"math"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
)

// setRates reads the load of the next h, and reports whether it has jumped.
func (e *Engine) setRates(from, h time.Duration) (jump bool) {
	for k := range e.kinds {
		kd := &e.kinds[k]
		before := kd.rate
		kd.rate = e.meanRate(k, from, from+h)
		if kd.rate > 1.2*before+0.1 || kd.rate < before/1.2-0.1 {
			jump = true
		}
	}
	return jump
}

// meanRate averages the load over an interval.
func (e *Engine) meanRate(kind int, from, to time.Duration) float64 {
	sum, at := 0.0, from
	for at < to {
		rate, until := e.cfg.Load.Rate(kind, at)
		until = min(max(until, at+1), to)
		if at == from && until == to {
			return rate
		}
		sum += rate * float64(until-at)
		at = until
	}
	return sum / float64(to-from)
}

// rarely is the rate, in requests per second, below which a service may be idle for the minute
// that autoscalers wait for: above it that happens less than once in a hundred thousand
// minutes.
const rarely = 0.2

// flowDown computes the visits of one step along the call trees, service by service, callers
// first: the throughput of a service's replicas arrives at the services it calls.
func (e *Engine) flowDown(h float64) {
	for k := range e.kinds {
		kd := &e.kinds[k]
		kd.arrived = kd.rate * h
		if e.noise != nil {
			kd.arrived = poisson(e.noise[k], kd.arrived)
		} else if e.rare != nil && kd.rate < rarely {
			kd.arrived = poisson(e.rare[k], kd.arrived)
		}
		e.flow[e.p.roots[k]] = kd.arrived
		if e.swing != nil && e.noise == nil && kd.arrived > 0 {
			kd.luck = poisson(e.swing, kd.arrived)/kd.arrived - 1
		}
	}
	e.unrest = false
	for pos, s := range e.p.order {
		if g := e.p.groups[pos]; g.from < g.to || e.services[s].crowd > 0 {
			e.flowThrough(int(s), g, h)
		} else {
			e.rest(int(s), h)
		}
	}
	e.unsettled = e.unrest
}

// flowThrough is one service's part of a step.
func (e *Engine) flowThrough(i int, g span, h float64) {
	s, m := &e.services[i], &e.meter.Services[i]
	in, work, hold := 0.0, 0.0, 0.0
	for n := g.from; n < g.to; n++ {
		f := e.flow[n]
		e.taken[n] = f // a service that calls itself sees it in the next step
		in += f
		work += f * e.p.workOf[n]
		hold += f * e.inCalls[e.p.shapeOf[n]]
	}
	factor := 1.0
	if in > 0 {
		factor = work / in
		s.takeHold(hold/in+factor*s.work.wait, e.unsettled)
	}
	if s.contention > 0 && s.ready > 0 { // by the requests at work in the last step
		factor *= 1 + s.contention*min(s.inside/float64(s.ready), s.workers)
	}
	if s.held.count > 0 {
		e.expire(s, m)
	}
	if e.swing != nil && in > 0 {
		s.luck = e.swingOf(s, g, in)
	}
	refused := e.serve(s, m, in, factor, h, e.holdBack(s, g, h))
	left := e.count(s, factor, h)
	s.refused = 0
	if in > 0 {
		s.refused = refused / in
	}
	s.lastIn, s.lastOut = in/h, left/h
	if s.held.places > 0 {
		e.mixHeld(s, g)
	}
	m.Arrived += in
	m.Refused += refused
	m.Failed += refused
	m.Ended += refused + left
	// Departures are spread over the kinds in proportion.
	through := 0.0
	if pool := s.crowd + in - refused; pool > 0 {
		through = min(left/pool, 1)
	}
	s.crowd = 0
	for n := g.from; n < g.to; n++ {
		pool := e.pop[n] + e.taken[n]*(1-s.refused)
		out := pool * through
		e.pop[n] = pool - out
		s.crowd += e.pop[n]
		e.wholePend[e.p.shapeOf[n]] += out
		e.ownPending[e.p.profileOf[n]] += out
		e.calls.pending[n] += out
		if s.refused > 0 {
			e.countRefused(n, e.taken[n]*s.refused)
		}
		if e.calls.below[n] < 1 {
			e.countFailed(n, out)
		}
		if nd := &e.p.nodes[n]; len(nd.kids) > 0 {
			e.callOn(nd, out, h)
		}
	}
}

// swingOf draws the ratio of the CPU time that the visits of a step need to its mean: requests
// bring all their visits, and each visit its own demand.
func (e *Engine) swingOf(s *service, g span, in float64) float64 {
	more := s.work.cpuCV * math.Sqrt(in) * e.swing.NormFloat64()
	for n := g.from; n < g.to; n++ {
		more += e.flow[n] * e.kinds[e.p.nodes[n].kind].luck
	}
	return max(1+more/in, 0)
}

// takeHold updates how long a visit occupies its worker after its CPU work. In an overload
// callers wait for a service that receives the less from them the longer they wait; moving half
// of the way, in ratio, converges.
func (s *service) takeHold(hold float64, unsettled bool) {
	if unsettled {
		hold = math.Sqrt(hold * max(s.hold, 0.1*hold))
	}
	s.hold = hold
}

// callOn passes visits that have done their own work to the services they call. Stages after a
// failed one are not reached, and stages after a congested one only by as many as got through
// it in the last step.
func (e *Engine) callOn(n *node, out, h float64) {
	reach, stage, stageOkay, stuck := 1.0, int32(0), 1.0, 0.0
	for k, kid := range n.kids {
		if st := n.kidStages[k]; st != stage {
			reach, stage, stageOkay = reach*stageOkay, st, 1
			out, stuck = max(out-stuck*h, 0), 0
		}
		c := &e.p.nodes[kid]
		e.flow[kid] = out * reach * e.nodeProb[kid]
		if e.unsettled || e.growth[kid] > 1 {
			stuck = extreme(stuck, e.growth[kid])
		}
		if c.optional {
			e.countOptional(c, out*reach)
		} else if e.okay[kid] < 1 {
			stageOkay *= 1 - c.prob*(1-e.okay[kid])
		}
	}
}

// extreme is the one further from zero.
func extreme(a, b float64) float64 {
	if b*b > a*a {
		return b
	}
	return a
}

func (e *Engine) countOptional(c *node, callers float64) {
	m := &e.meter.Services[c.service]
	asked := callers * c.prob * c.times * e.services[e.p.nodes[c.parent].service].versionShare(c.versions)
	m.OptionalAsked += asked
	if e.cp.Allocation()[c.service].Brownout {
		m.OptionalDropped += asked
	}
}

// serve advances the cohorts of a service and returns the visits refused.
func (e *Engine) serve(s *service, m *sim.ServiceMeter, in, factor, h, most float64) (refused float64) {
	if s.ready == 0 && s.held.places == 0 {
		return in
	}
	if s.lost > 0 {
		refused = in * float64(s.lost) / float64(s.ready+s.lost)
		in -= refused
	}
	d := demand{
		cpu: max(s.work.cpu*factor, 1e-9), factor: factor,
		hold: s.hold, cv: s.work.cpuCV, workers: s.workers, depth: s.depth, places: s.places,
	}
	if s.held.places > 0 && (s.ready == 0 || s.held.count > 0) {
		var over float64
		in, over = e.hold(s, &d, in, h)
		refused += over
		if s.held.heldNow() > 0 {
			e.unrest = true
		}
		if s.ready == 0 {
			return refused
		}
	}
	d.rate, d.most = in/h/float64(s.ready), most/h/float64(s.ready)
	if e.app.Routing == loadline.RouteLeastRequest {
		d.replicas = float64(s.ready)
	}
	for i := range s.cohorts {
		c := &s.cohorts[i]
		refused += c.advance(&d, h) * float64(c.pods)
		if c.extra > 0 || d.rate*d.cpu > steadyLoad*c.limit {
			e.unrest = true
		}
		if c.quota {
			c.countPeriods(m, s.clump.size, h, e.swing)
		}
		if s.held.places > 0 {
			c.forget(in, h)
		}
	}
	return refused
}

// count adds up the usage of a service's replicas in a step, and returns the visits that left
// the CPU.
func (e *Engine) count(s *service, factor, h float64) (left float64) {
	s.inside = 0
	cpu := s.work.cpu * factor
	for i := range s.cohorts {
		c := &s.cohorts[i]
		pods := float64(c.pods)
		left += c.out * h * pods
		// Visits that call others leave when their calls end; no more can leave than have
		// arrived.
		c.calling = (c.calling + c.out*h) / (1 + h/max(s.hold, 1e-9))
		inside := c.crowd + c.calling
		seen := inside
		if e.swing != nil && c.extra == 0 && c.in > 0 {
			seen = max(inside+e.swing.NormFloat64()*c.unevenness(h)/math.Sqrt(max(pods, 1)), 0)
		}
		used := min(c.out*cpu, c.limit)
		if c.extra == 0 { // a backlog keeps its replica busy
			used = min(used*s.luck, c.limit)
		}
		used += s.idle
		c.perPod.cpu += used * h
		c.perPod.bytes += (s.base + s.perVisit*inside) * h
		c.perPod.busy += seen * h
		s.inside += pods * inside
		s.cpuSeconds += used * h * pods
		s.queueSeconds += pods * (c.queue + c.out*c.stall) * h
	}
	left += e.drainStep(s, h, cpu)
	s.busySeconds += (s.inside + s.draining) * h
	if s.held.mean > 0 {
		held := s.held.mean * h
		s.held.mean = 0
		s.held.seconds += held
		s.queueSeconds += held
		s.busySeconds += held
	}
	return left
}

// unevenness is the standard deviation of the visits in a replica, as a mean over a step: they
// are Poisson in calls and nearly geometric on the CPU, and alike for the time of a visit.
func (c *cohort) unevenness(h float64) float64 {
	inside := c.crowd + c.calling
	return math.Sqrt((inside + c.crowd*c.crowd) * min(2*inside/c.in/h, 1))
}

// rest is a step of a service without visits.
func (e *Engine) rest(i int, h float64) {
	s := &e.services[i]
	for c := range s.cohorts {
		s.cohorts[c].in, s.cohorts[c].out = 0, 0
	}
	e.count(s, 1, h)
}
