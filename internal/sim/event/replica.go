package event

import (
	"math"

	"github.com/loadline/loadline/internal/sim"
)

// replica is the data plane of one pod.
//
// Its requests on the CPU advance together: v is the CPU time that each of them has received
// since the replica was last idle, so a request that arrives at v = x and needs d is done at v
// = x+d, whatever happens in between. That is processor sharing with one update per change
// instead of one per request.
type replica struct {
	jobs []job   // heap by finish
	v    float64 // ns
	rate float64 // dv/dt: share of a core that each job has
	got  float64 // cores in use by requests = rate * len(jobs)
	work float64 // cores that its requests would use on an empty node
	at   int64   // v, budget, startLeft and cpuNs are as of this instant

	base      float64 // cores wanted without requests: idle CPU, or that of the start-up
	baseGot   float64
	share     float64 // of its node: got + baseGot
	startLeft float64 // while it starts: CPU ns of work left

	limit     float64 // cores that its jobs may use; +Inf = no limit
	request   float64 // cores; its weight on a crowded node
	budget    float64 // Quota: CPU ns left in this period
	periodEnd int64   // Quota: of the last period in which it ran
	throttled bool
	handling  bool // its timer is being handled, and is set at the end

	serving   bool // ready or draining
	lost      bool // its node has failed; calls are still routed to it
	starting  bool // its start-up uses CPU
	joined    bool // it is in its node's list
	active    bool // it is in its node's list of active replicas
	service   int32
	node      int32
	podID     int64
	holding   int32 // visits that occupy a worker
	inside    int32 // visits in the replica
	maxInside int32 // the memory limit allows no more
	queueHead int32
	queueTail int32

	cpuNs    float64
	busyNs   float64 // integral of inside
	busyAt   int64
	readyAt  int64
	upNs     float64 // time that it was ready, up to readyAt
	draining bool
}

// job is a request at work on a replica's CPU.
type job struct {
	finish float64 // value of v at which it is done
	visit  int32
}

func (r *replica) push(j job) {
	r.jobs = append(r.jobs, j)
	i := len(r.jobs) - 1
	for i > 0 {
		p := (i - 1) / 2
		if r.jobs[p].finish <= j.finish {
			break
		}
		r.jobs[i] = r.jobs[p]
		i = p
	}
	r.jobs[i] = j
}

func (r *replica) popJob() int32 {
	top := r.jobs[0].visit
	last := len(r.jobs) - 1
	j := r.jobs[last]
	r.jobs = r.jobs[:last]
	i := 0
	for {
		c := 2*i + 1
		if c >= last {
			break
		}
		if c+1 < last && r.jobs[c+1].finish < r.jobs[c].finish {
			c++
		}
		if r.jobs[c].finish >= j.finish {
			break
		}
		r.jobs[i] = r.jobs[c]
		i = c
	}
	if last > 0 {
		r.jobs[i] = j
	}
	return top
}

const periodNs = int64(sim.QuotaPeriod)

// doneEps absorbs the rounding of v: half a nanosecond.
const doneEps = 0.5

// sync advances a replica to now. An exhausted quota is an event of its own, so none is skipped
// here.
func (e *Engine) sync(r *replica) {
	dt := e.now - r.at
	if dt == 0 {
		return
	}
	r.at = e.now
	all := (r.got + r.baseGot) * float64(dt)
	if all == 0 {
		return
	}
	r.cpuNs += all
	e.services[r.service].cpuNs += all
	if r.node >= 0 {
		e.nodes[r.node].cpuNs += all
	}
	if r.got == 0 {
		r.startLeft -= all
		return
	}
	used := r.got * float64(dt)
	r.v += r.rate * float64(dt)
	if !e.quota || math.IsInf(r.limit, 1) {
		return
	}
	if e.now < r.periodEnd {
		r.budget -= used
		return
	}
	crossed := (e.now-r.periodEnd)/periodNs + 1
	r.periodEnd += crossed * periodNs
	r.budget = r.limit*float64(periodNs) - r.got*float64(e.now-(r.periodEnd-periodNs))
	e.meter.Services[r.service].Periods += float64(crossed)
}

// openPeriod gives an idle replica that receives work the quota of the current period, if it
// has not run in it yet. The kernel notices that a period was idle only at its end, so it counts
// one more after the last period with work.
func (e *Engine) openPeriod(r *replica) {
	if e.now < r.periodEnd {
		return
	}
	idle := (e.now - r.periodEnd) / periodNs
	r.periodEnd += (idle + 1) * periodNs
	r.budget = r.limit * float64(periodNs)
	e.meter.Services[r.service].Periods += float64(1 + min(idle, 1))
}

// addJob puts a visit on the CPU. The replica must have been synced.
func (e *Engine) addJob(slot int32, visit int32, cpu float64) {
	r := &e.replicas[slot]
	e.sync(r)
	if len(r.jobs) == 0 {
		r.v = 0 // keeps v small, so that its rounding stays below a nanosecond
		if e.quota && !r.throttled && !math.IsInf(r.limit, 1) {
			e.openPeriod(r)
		}
	}
	r.push(job{finish: r.v + cpu, visit: visit})
	if !r.handling {
		e.retime(slot)
	}
}

// cpuEvent handles a replica's timer: jobs done, quota exhausted, or a new
// period after a throttled one.
func (e *Engine) cpuEvent(slot int32) {
	r := &e.replicas[slot]
	e.sync(r)
	if r.starting {
		if r.startLeft <= doneEps {
			e.cp.Started(int(slot), e.time())
			e.cpDirty = true
		} else {
			e.retime(slot)
		}
		return
	}
	r.handling = true
	if r.throttled {
		if e.now >= r.periodEnd {
			r.throttled = false
			if len(r.jobs) > 0 {
				e.openPeriod(r)
			}
		}
	} else {
		for len(r.jobs) > 0 && r.jobs[0].finish <= r.v+doneEps {
			visit := r.popJob()
			e.cpuDone(visit)
			r = &e.replicas[slot] // the slice may have grown
		}
		if e.quota && !math.IsInf(r.limit, 1) && r.budget <= doneEps && r.got > 0 {
			r.throttled = true
			m := &e.meter.Services[r.service]
			m.ThrottledPeriods++
			m.ThrottledSeconds += float64(r.periodEnd-e.now) / 1e9
		}
	}
	r.handling = false
	e.retime(slot)
}

// retime computes the cores that a replica wants and gets, and the time of its next event.
func (e *Engine) retime(slot int32) {
	r := &e.replicas[slot]
	work := float64(len(r.jobs))
	switch {
	case e.quota && r.throttled:
		work = 0
	case !e.quota:
		work = min(work, r.limit)
	}
	if !r.joined {
		r.work = work
		e.grant(slot, work+r.base)
		return
	}
	n := &e.nodes[r.node]
	n.work += work - r.work
	r.work = work
	e.activate(n, slot)
	if !n.crowded && n.fits() {
		e.grant(slot, work+r.base)
		return
	}
	r.share = -1 // its timer changes even if its share does not
	e.shareNode(n)
	if !r.active {
		e.grant(slot, r.base)
	}
}

// grant gives a replica its share of its node and sets its timer. It must have been synced.
func (e *Engine) grant(slot int32, share float64) {
	r := &e.replicas[slot]
	if r.handling {
		return
	}
	r.share = share
	r.got, r.baseGot = r.divide(share)
	if r.starting {
		e.queue.set(cpuTimer, slot, e.in(r.startLeft, r.baseGot))
		return
	}
	if r.got == 0 {
		r.rate = 0
		if r.throttled {
			e.queue.set(cpuTimer, slot, r.periodEnd)
		} else {
			e.queue.set(cpuTimer, slot, never)
		}
		return
	}
	r.rate = r.got / float64(len(r.jobs))
	at := e.in(r.jobs[0].finish-r.v, r.rate)
	if e.quota && !math.IsInf(r.limit, 1) {
		at = min(at, e.in(r.untilExhausted(e.now), 1))
	}
	e.queue.set(cpuTimer, slot, at)
}

// in is the instant at which an amount is used up at a rate; it may be very late, or never.
func (e *Engine) in(amount, rate float64) int64 {
	const late = 1e17 // ns, beyond every run
	if amount >= late*rate {
		return never
	}
	return e.now + max(int64(math.Ceil(amount/rate)), 0)
}

// divide splits a replica's share between its requests and what runs without them. Threads of
// one container have equal weights; what runs without requests is one thread per core of it.
func (r *replica) divide(share float64) (work, base float64) {
	switch {
	case r.work == 0:
		return 0, share
	case share >= r.work+r.base:
		return r.work, r.base
	}
	threads := math.Ceil(r.base)
	base = min(r.base, max(share*threads/(threads+float64(len(r.jobs))), share-r.work))
	return share - base, base
}

// untilExhausted is the time until the quota is exhausted at the present usage; periods in
// which it is not need no event.
func (r *replica) untilExhausted(now int64) float64 {
	left := float64(r.periodEnd - now)
	if r.budget < r.got*left {
		return r.budget / r.got
	}
	if r.got <= r.limit {
		return math.Inf(1)
	}
	return left + r.limit*float64(periodNs)/r.got
}
