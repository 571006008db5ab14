package fluid

import (
	"math"
	"time"

	"github.com/loadline/loadline"
)

// kind is what the engine keeps of one kind of request.
type kind struct {
	rate    float64 // requests per second in this step
	arrived float64 // in this step

	timeout float64 // seconds; +Inf = none
	slo     float64 // seconds; +Inf = none
	atSLO   float64 // depth of the percentile of the SLO

	late  float64 // share that takes longer than the timeout
	over  float64 // share that takes longer than the SLO
	usual float64 // mean latency

	inside  float64 // requests in the system, those given up included
	zombies float64 // of them, given up: only their work goes on
	recent  float64 // requests that came within the last timeout, smoothed
	lost    float64 // requests whose replica was stopped, since the last step
	waits   float64 // mean seconds of a request in waiting times
	pending float64 // completed, not yet counted with the present distribution

	latency account
}

func newKind(k *loadline.Kind) kind {
	out := kind{timeout: math.Inf(1), slo: math.Inf(1), latency: newAccount()}
	if k.Timeout > 0 {
		out.timeout = k.Timeout.Seconds()
	}
	if k.SLO.Latency > 0 {
		out.slo = k.SLO.Latency.Seconds()
	}
	if k.SLO.Percentile > 0 && k.SLO.Percentile < 100 {
		out.atSLO = -math.Log1p(-k.SLO.Percentile / 100)
	}
	return out
}

// judge takes over a new distribution of the latency.
func (k *kind) judge(d *dist) {
	k.late, k.over, k.usual = 0, 0, d.mean
	if !math.IsInf(k.timeout, 1) {
		k.late = d.above(k.timeout)
	}
	if !math.IsInf(k.slo, 1) {
		k.over = d.above(k.slo)
	}
}

// endRequests counts what became of the requests: those that are no longer in
// the system have ended, well or not.
func (e *Engine) endRequests(mid time.Duration, h float64) {
	for i := len(e.p.nodes) - 1; i >= 0; i-- {
		e.gather(i)
	}
	for k := range e.kinds {
		kd, m := &e.kinds[k], &e.meter.Kinds[k]
		root := e.p.roots[k]
		failed := min(kd.arrived*(1-e.okay[root])+kd.lost, kd.arrived+kd.inside)
		kd.lost = 0
		// In the crowds, and in waiting times besides.
		inside := e.inflight[root] + kd.rate*e.okay[root]*kd.waits
		inside = min(inside, kd.inside+kd.arrived-failed)
		out := max(kd.inside+kd.arrived-failed-inside, 0)
		kd.inside = inside
		late := min(out*kd.late, kd.zombies+out)
		gaveUp := kd.giveUp(out, late, h)
		good := out - late
		m.Arrived += kd.arrived
		m.Completed += good
		m.Failed += failed + gaveUp
		m.TimedOut += gaveUp
		over := 0.0
		if kd.late < 1 {
			over = good * max(kd.over-kd.late, 0) / (1 - kd.late)
		}
		kd.pending += good
		e.meter.EndedMany(k, mid, good+failed+gaveUp, over+failed+gaveUp)
	}
}

// giveUp returns how many users lose patience in a step: all whose request is
// older than the timeout, whether it has left the system yet or not.
func (k *kind) giveUp(out, late, h float64) float64 {
	if math.IsInf(k.timeout, 1) {
		return 0
	}
	keep := math.Exp(-h / k.timeout)
	k.recent = k.recent*keep + k.rate*k.timeout*(1-keep)
	zombies := max(k.inside-max(k.recent, k.rate*min(k.usual, k.timeout)), 0)
	if k.late < 1e-9 {
		zombies = 0
	}
	n := late + zombies - k.zombies
	if n < 0 {
		zombies, n = k.zombies-late, 0
	}
	k.zombies = max(zombies, 0)
	return n
}

// gather sums up a call tree: the share of visits that ends well, and the
// requests that are in its crowds. Calls of a stage go side by side, so a
// request is in all of them at once and is counted in the fullest.
func (e *Engine) gather(i int) {
	n := &e.p.nodes[i]
	okay, inside := 1-e.services[n.service].refused, e.pop[i]
	stage, fullest := int32(0), 0.0
	for k, kid := range n.kids {
		if st := n.kidStages[k]; st != stage {
			inside, stage, fullest = inside+fullest, st, 0
		}
		fullest = max(fullest, e.inflight[kid])
		c := &e.p.nodes[kid]
		if good := e.okay[kid]; good < 1 && !c.optional {
			if c.times > 1 {
				good = math.Pow(good, c.times)
			}
			okay *= 1 - e.nodeProb[kid]/c.times*(1-good)
		}
	}
	e.okay[i], e.inflight[i] = okay, inside+fullest
}

// waitOf is the mean time that a request spends in waiting times, one after the
// other.
func (e *Engine) waitOf(i int32) float64 {
	n := &e.p.nodes[i]
	wait := e.services[n.service].work.wait * n.work
	stage, longest := int32(0), 0.0
	for k, kid := range n.kids {
		if st := n.kidStages[k]; st != stage {
			wait, stage, longest = wait+longest, st, 0
		}
		longest = max(longest, e.nodeProb[kid]*e.waitOf(kid))
	}
	return wait + longest
}

// samples are the depths at which a distribution is put into the results'
// histogram, and what each stands for: dense enough that a p99.9 read from it is
// not a step of the staircase.
var samples = placeSamples()

type sample struct {
	part         int
	frac, weight float64
}

func placeSamples() (samples []sample) {
	const perPart = 4
	for k := range depth {
		lo, hi := edgeDepth(k), edgeDepth(k+1)
		for j := range perPart {
			// Equal shares of the part's probability, each at its middle.
			a := math.Exp(-lo)
			b := math.Exp(-hi)
			u := -math.Log(a + (b-a)*(float64(j)+0.5)/perPart)
			at := 0
			for at < levels-2 && depth[at+1] < u {
				at++
			}
			samples = append(samples, sample{at, (u - depth[at]) / (depth[at+1] - depth[at]), weight[k] / perPart})
		}
	}
	return samples
}

// flushKind counts the requests that had a kind's distribution until now.
func (e *Engine) flushKind(k int) {
	kd, m := &e.kinds[k], &e.meter.Kinds[k]
	n := kd.pending
	if n <= 0 {
		return
	}
	kd.pending = 0
	d := &e.whole[e.p.nodes[e.p.roots[k]].shape]
	kd.latency.add(d, n)
	if e.now < e.meter.WarmUp || e.warming {
		return
	}
	within := 1.0
	if kd.late > 0 {
		within = 0
		for _, s := range samples {
			if d.part[s.part]+s.frac*(d.part[s.part+1]-d.part[s.part]) <= kd.timeout {
				within += s.weight
			}
		}
		if within == 0 {
			return
		}
	}
	for _, s := range samples {
		v := max(d.part[s.part]+s.frac*(d.part[s.part+1]-d.part[s.part]), 0)
		if v > kd.timeout {
			continue
		}
		ns, w := int64(v*1e9), n*s.weight/within
		m.Latency.AddN(ns, w)
	}
}
