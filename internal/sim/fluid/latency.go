package fluid

import (
	"math"

	"github.com/loadline/loadline/internal/sim"
)

// still is how far the tail of a service's own latency may move before every distribution that
// contains it is recomputed.
const still = 0.02

// tail is the part that is monitored: it is where SLOs are stated, and it moves first.
const tail = 10

// latencies updates the distributions of all services and call trees, from the leaves up. Those
// that have hardly changed are skipped.
func (e *Engine) latencies() {
	changed := e.allDirty
	for i := range e.services {
		s := &e.services[i]
		if len(s.cohorts) == 0 {
			continue
		}
		for local, profile := range s.profiles {
			e.ownDirty[profile] = false
			if e.ownLatency(s, local, profile) {
				e.ownDirty[profile] = true
				changed = true
			}
		}
	}
	if !changed {
		return
	}
	for i := range e.p.shapes {
		sh := &e.p.shapes[i]
		dirty := e.allDirty || e.ownDirty[sh.profile]
		for st := sh.stages.from; st < sh.stages.to && !dirty; st++ {
			for c := e.p.stages[st].from; c < e.p.stages[st].to; c++ {
				dirty = dirty || e.wholeDirty[e.p.calls[c].shape]
			}
		}
		e.wholeDirty[i] = dirty && e.combine(i)
	}
	for k := range e.kinds {
		if root := e.p.shapeOf[e.p.roots[k]]; e.wholeDirty[root] {
			e.kinds[k].setLatency(&e.whole[root])
		}
	}
	for i := range e.wholeDirty {
		e.wholeDirty[i] = false
	}
	e.allDirty = false
}

// combine updates the latency of one call tree, and reports whether it has changed enough to
// matter.
func (e *Engine) combine(i int) bool {
	sh := &e.p.shapes[i]
	e.wholeLatency(sh, &e.fresh)
	old := &e.whole[i]
	if !e.allDirty && !e.unsettled && alike(e.fresh.mean, old.mean) && alike(e.fresh.part[tail], old.part[tail]) {
		return false
	}
	e.flushShape(i)
	for k, root := range e.p.roots {
		if e.p.shapeOf[root] == int32(i) {
			e.flushKind(k)
		}
	}
	e.whole[i] = e.fresh
	e.boundLatency(i)
	e.inCalls[i] = max(e.whole[i].mean-e.own[sh.profile].mean, 0)
	return true
}

func alike(now, last float64) bool { return math.Abs(now-last) <= still*last }

// boundLatency keeps delays within the duration of the present overload: a request that makes
// ten calls in sequence has not waited ten times as long as the queue that it is in for the
// first time.
func (e *Engine) boundLatency(i int) {
	d := &e.whole[i]
	if !e.unsettled {
		e.usualTop[i] = d.part[levels-1]
		e.settledAt = e.now
		return
	}
	if e.usualTop[i] == 0 { // a run begins with a jump; a queue that has just begun is close to normal
		e.usualTop[i] = d.part[levels-1]
	}
	most := (e.now - e.settledAt).Seconds() + e.usualTop[i]
	if d.part[levels-1] <= most {
		return
	}
	for k, v := range d.part {
		d.part[k] = min(v, most)
	}
	d.settle()
}

// ownLatency takes the distribution of a service's own part of a visit from the curves of its
// replicas, and reports whether it has changed.
func (e *Engine) ownLatency(s *service, local int, profile int32) bool {
	c := &s.cohorts[0]
	simple := len(s.cohorts) == 1 && c.extra == 0 && c.odds < 1e-3 && c.queue == 0 && s.held.share == 0
	now := c.curve.own[local].partAt(c.load, tail) + c.slower(&c.curve.own[local])
	if last := e.ownTail[profile]; simple && c.curve == s.lastCurve[local] && alike(now, last) {
		return false
	}
	e.flushOwn(profile)
	out := &e.own[profile]
	if len(s.cohorts) == 1 {
		c.latency(e.blend, local, out)
	} else {
		total := 0.0
		for i := range s.cohorts {
			c := &s.cohorts[i]
			if w := c.out * float64(c.pods); w > faint {
				c.latency(e.blend, local, &e.spare[0])
				e.mixing.add(&e.spare[0], w)
				total += w
			}
		}
		if total > 0 {
			e.mixing.cut(out, total)
		}
	}
	if s.held.share > 0 {
		e.addHeld(s, out)
	}
	e.ownTail[profile], s.lastCurve[local] = now, nil
	if simple {
		s.lastCurve[local] = c.curve
	}
	return true
}

// faint is a flow, in visits per second, that counts as none. The backlog of replicas without
// visits halves in every step; as weights such numbers underflow to 0, and their ratios become
// NaN.
const faint = 1e-100

// latency is the own part of visits to one cohort: the surface at its utilisation, plus the
// delay of an overload or of busy workers.
func (c *cohort) latency(blend *blender, local int, out *dist) {
	o := &c.curve.own[local]
	o.ownAt(c.load, out)
	if c.spread > 0 {
		out.widen(1 - evenness*c.spread)
	}
	if c.stretch > 0 {
		for k := range out.part {
			out.part[k] += c.stretch * o.demand[k]
		}
		out.settle()
	}
	if c.risk >= 1e-3 && c.delay > 0 {
		wait := exponential(c.delay / c.risk)
		maybe(&wait, &wait, c.risk)
		blend.sum(out, out, &wait)
	}
	if c.odds >= 1e-3 && c.stall > 0 {
		wait := exponential(c.stall / c.odds)
		maybe(&wait, &wait, c.odds)
		blend.sum(out, out, &wait)
	}
	if c.extra == 0 && c.queue == 0 {
		return
	}
	age := c.trace.age(c.queue)
	for k := range out.part {
		out.part[k] += age
		if c.extra > c.queue {
			out.part[k] += c.trace.since(o.demand[k])
		}
	}
	out.settle()
}

// slower is about what contention on nodes adds to the part that is watched.
func (c *cohort) slower(o *ownCurve) float64 {
	if c.delay <= 0 {
		return 0
	}
	const rare = 0.015 // the watched part's distance from 1
	return c.stretch*o.demand[tail] + c.delay/c.risk*max(math.Log(c.risk/rare), 0) + c.delay
}

// evenness is how much narrower than with random routing the sojourns are where visits go to
// the better of two replicas, beyond the effect of even on the mean; measured against the event
// engine.
const evenness = 0.2

// wholeLatency is the latency of a visit with all its calls: its own part, then
// stage after stage the slowest of the calls.
func (e *Engine) wholeLatency(sh *shape, out *dist) {
	*out = e.own[sh.profile]
	for st := sh.stages.from; st < sh.stages.to; st++ {
		sum, calls := &e.spare[0], 0
		var next *service
		for c := e.p.stages[st].from; c < e.p.stages[st].to; c++ {
			p := e.callProb[c]
			if p <= 0 {
				continue
			}
			d := e.callLatency(&e.p.calls[c], p)
			if calls++; calls == 1 {
				*sum = *d
				next = &e.services[e.p.calls[c].service]
			} else {
				larger(sum, sum, d)
			}
		}
		if calls > 0 && next.held.share > 0 && e.services[sh.service].held.share > 0 {
			out.addInStep(sum)
		} else if calls > 0 {
			vx, vy := out.vari, sum.vari
			e.blend.sum(out, out, sum)
			if kin := e.kinship(&e.services[sh.service], next, &e.own[sh.profile]); kin > 0.01 {
				out.widen(math.Sqrt(1 + 2*kin*math.Sqrt(vx*vy)/(vx+vy)))
			}
		}
	}
}

// rowKinship is the correlation between repetitions of one call, which meet the same
// congestion. Measured on sequences of ten under a quota.
const rowKinship = 0.25

// callLatency is the duration of a call with its repetitions and its probability.
func (e *Engine) callLatency(c *stageCall, p float64) *dist {
	d := &e.whole[c.shape]
	if c.times == 1 && p >= 1 {
		return d
	}
	call := &e.spare[1]
	*call = *d
	for range c.times - 1 {
		e.blend.sum(call, call, d)
	}
	if c.times > 1 {
		call.widen(math.Sqrt(1 + float64(c.times-1)*rowKinship))
	}
	if p < 1 {
		maybe(call, call, p)
	}
	return call
}

// kinship is the correlation between a visit's own part and its calls. Visits that met on a
// shared CPU leave it together and meet again at the next service, the more so the less their
// demands vary and the fewer replicas separate them. Calibrated against chains of five; under a
// quota visits do not slow each other down, and there is no such effect.
func (e *Engine) kinship(s, next *service, own *dist) float64 {
	if e.cfg.CPU == sim.Quota || len(s.cohorts) == 0 || own.vari <= 0 {
		return 0
	}
	c := &s.cohorts[0]
	alone := s.work.cpu * s.work.cpuCV / min(1, c.limit)
	queueing := max(1-alone*alone/own.vari, 0) // share of the variance
	return s.alike * (1 - c.load) * queueing / float64(max(s.ready, next.ready, 1))
}
