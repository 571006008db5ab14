package fluid

import (
	"math"
	"time"

	"github.com/loadline/loadline"
)

// kind is the engine's state of one kind of request.
type kind struct {
	rate    float64 // requests per second in this step
	arrived float64 // in this step
	luck    float64 // how many more than that an exporter of CPU usage sees, as a share

	timeout float64 // seconds; +Inf = none
	slo     float64 // seconds; +Inf = none
	atSLO   float64 // depth of the percentile of the SLO

	late  float64 // share that takes longer than the timeout
	over  float64 // share that takes longer than the SLO
	usual float64 // mean latency

	inside     float64 // requests in the system, timed-out ones included
	zombies    float64 // of them, timed out: only their work continues
	recent     float64 // requests that arrived within the last timeout, smoothed
	expired    float64 // of the lost ones: timed out while held
	lost       float64 // requests whose visit was in a replica that stopped, since the last step
	orphans    float64 // requests that failed with a stopped caller while their calls continue, since the last step
	ghosts     float64 // such requests still in the system
	waits      float64 // mean seconds of waiting times per request
	unhindered float64 // seconds that a request takes without contention, calls in sequence
	lastRate   float64 // when clumps were set; -1 = never
	pending    float64 // completed, not yet counted with the present distribution

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

// setLatency sets a new latency distribution.
func (k *kind) setLatency(d *dist) {
	k.late, k.over, k.usual = 0, 0, d.mean
	if !math.IsInf(k.timeout, 1) {
		k.late = d.above(k.timeout)
	}
	if !math.IsInf(k.slo, 1) {
		k.over = d.above(k.slo)
	}
}

// endRequests counts how requests ended: those that left the system in this step, successfully
// or not.
func (e *Engine) endRequests(mid time.Duration, h float64) {
	for i := len(e.p.nodes) - 1; i >= 0; i-- {
		e.gather(i, 1/h)
	}
	for k := range e.kinds {
		kd, m := &e.kinds[k], &e.meter.Kinds[k]
		root := e.p.roots[k]
		// In service or queued, and in waiting times.
		inside := e.inflight[root] + kd.rate*e.okay[root]*kd.waits
		c := kd.end(kd.arrived*(1-e.okay[root]), inside, h)
		m.Arrived += kd.arrived
		m.Completed += c.good
		m.Failed += c.failed + c.gaveUp
		m.TimedOut += c.gaveUp + kd.expired
		kd.expired = 0
		over := 0.0
		if kd.late < 1 {
			over = c.good * max(kd.over-kd.late, 0) / (1 - kd.late)
		}
		kd.pending += c.good
		e.meter.EndedMany(k, mid, c.good+c.failed+c.gaveUp, over+c.failed+c.gaveUp)
	}
}

// ending counts how requests ended in a step.
type ending struct{ good, failed, gaveUp float64 }

// end settles a step, given the requests refused and those inside at its end. A request fails
// once: timed-out requests and those of stopped callers were counted before, although their
// work continues.
func (k *kind) end(refused, inside, h float64) (c ending) {
	refused = min(refused, k.arrived)
	lost := min(k.lost, k.inside)
	k.lost = 0
	if lost > 0 {
		left := 1 - lost/k.inside
		c.failed = refused + lost - (1-left)*(k.zombies+k.ghosts)
		k.zombies *= left
		k.ghosts *= left
	} else {
		c.failed = refused
	}
	inside = min(inside, k.inside+k.arrived-refused-lost)
	out := k.inside + k.arrived - refused - lost - inside
	k.inside = inside

	orphans := min(k.orphans, max(inside-k.zombies-k.ghosts, 0))
	k.orphans = 0
	k.ghosts += orphans
	c.failed += orphans
	ghosts := min(max(out*k.ghosts/max(inside+out, 1e-12), k.ghosts-inside), k.ghosts, out)
	k.ghosts -= ghosts

	late := min(max((out-ghosts)*k.late, k.zombies+k.ghosts-inside), out-ghosts)
	c.gaveUp = k.giveUp(late, h)
	c.good = out - ghosts - late
	return c
}

// giveUp returns how many requests time out in a step: all that are older than the timeout,
// whether they have left the system or not.
func (k *kind) giveUp(late, h float64) float64 {
	if math.IsInf(k.timeout, 1) {
		return 0
	}
	keep := math.Exp(-h / k.timeout)
	k.recent = k.recent*keep + k.rate*k.timeout*(1-keep)
	zombies := max(k.inside-k.ghosts-max(k.recent, k.rate*min(k.usual, k.timeout)), 0)
	if k.late < 1e-9 {
		zombies = 0
	}
	zombies = max(zombies, k.zombies-late) // a timeout is final
	n := late + zombies - k.zombies
	k.zombies = zombies
	return n
}

// gather sums up a call tree: the share of visits that succeed, and the requests inside. Calls
// of a stage run in parallel, so a request is in all of them at once and is counted in the
// fullest.
func (e *Engine) gather(i int, perSecond float64) {
	n := &e.p.nodes[i]
	okay, below, inside := 1-e.services[n.service].refused, 1.0, e.pop[i]/n.times
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
			share := 1 - e.nodeProb[kid]/c.times*(1-good)
			okay *= share
			below *= share
		}
	}
	inside += fullest
	e.growth[i] = (inside - e.inflight[i]) * perSecond
	e.okay[i], e.calls.below[i], e.inflight[i] = okay, below, inside
}

// waitOf is the mean time that a request spends in waiting times in sequence.
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
