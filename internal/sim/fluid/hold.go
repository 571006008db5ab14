package fluid

import (
	"math"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
)

// holding is the queue of visits at a service without a ready replica. They wait for the rest
// of the start-up, are handed to replicas as workers are free, and drain from there like any
// backlog; the time for which they were held is added to the latency of those that end.
type holding struct {
	places   float64 // 0 = it refuses instead
	patience float64 // seconds after which held requests time out
	fine     float64 // seconds: the longest step that resolves the waits of a start-up

	count   float64
	batches []batch // oldest first
	mean    float64 // over this step
	seconds float64 // integral of it

	// A flow is at first a fraction of a request, which counts as none: once it amounts to one
	// request, that request arrives and wakes the service.
	atZero bool
	wakeAt time.Duration // Never = no wake-up due

	warm  float64 // visits in flight, calls included, that were held
	pool  float64 // visits in flight in this step
	share float64 // share of the visits that end in this step that were held
	wait  dist    // how long they were held
}

// batch is visits that arrived evenly between two instants, in seconds.
type batch struct {
	visits, from, to float64
	firm             bool // they do not time out
}

const maxBatches = 256

func newHolding(app *loadline.App, cfg sim.Config, i int) holding {
	h := holding{places: float64(app.Services[i].Hold), patience: math.Inf(1), wakeAt: sim.Never, atZero: true}
	for k := range app.Kinds {
		if kind := &app.Kinds[k]; kind.Root.Service == i && kind.Timeout > 0 {
			h.patience = min(h.patience, kind.Timeout.Seconds())
		}
	}
	h.fine = min(max(app.Services[i].Startup.Mean.Seconds()*cfg.StartupFactor/8, 0.05), 1)
	return h
}

// hold handles a step's visits at a service that has no ready replica, or too few workers for
// those it holds. It returns the visits that reach replicas during the step, and those refused.
func (e *Engine) hold(s *service, d *demand, in, h float64) (through, refused float64) {
	q := &s.held
	now := e.now.Seconds()
	if s.ready > 0 {
		e.handOver(s, now)
		if q.count == 0 {
			return in, 0
		}
		full := e.throughput(s, d) * h
		d.full = q.count+in > full
		through = min(full, q.count+in)
	}
	before := q.heldNow()
	joined := min(in, max(q.places+through-q.count, 0))
	if e.cp.Allocation()[s.index].Replicas == 0 && q.atZero {
		e.accumulate(q, joined, now, h)
	} else {
		q.atZero = false
		q.push(batch{visits: joined, from: now, to: now + h})
		q.count += joined
	}
	if through > 0 {
		e.takeHeld(s, through, now+h/2)
	}
	if q.mean = 0; q.wakeAt == sim.Never {
		q.mean = (before + q.heldNow()) / 2
	}
	return through, in - joined
}

// accumulate adds a flow to a service at zero replicas, and finds the instant at which it amounts to
// a request.
func (e *Engine) accumulate(q *holding, joined, now, h float64) {
	q.batches = q.batches[:0]
	before := q.count
	q.count += joined
	if q.count < 1 {
		q.push(batch{visits: q.count, from: now + h, to: now + h})
		return
	}
	at := now
	if joined > 0 {
		at += h * max(1-before, 0) / joined
	}
	q.atZero = false
	q.push(batch{visits: 1, from: at, to: at})
	q.push(batch{visits: q.count - 1, from: at, to: now + h})
	q.wakeAt = time.Duration(at * float64(time.Second))
}

func (q *holding) push(b batch) {
	if b.visits <= 0 {
		return
	}
	if len(q.batches) == maxBatches {
		first, second := &q.batches[0], &q.batches[1]
		second.visits += first.visits
		second.from = first.from
		q.batches = append(q.batches[:0], q.batches[1:]...)
	}
	q.batches = append(q.batches, b)
}

// heldNow is the number of visits held by now.
func (q *holding) heldNow() float64 {
	if q.atZero {
		return 0
	}
	return q.count
}

// handOver fills the free workers of replicas with visits that are held.
func (e *Engine) handOver(s *service, now float64) {
	free := 0.0
	for i := range s.cohorts {
		free += s.cohorts[i].free(s)
	}
	give := min(s.held.count, free)
	if give <= 0 {
		return
	}
	for i := range s.cohorts {
		if c := &s.cohorts[i]; c.pods > 0 {
			each := give * c.free(s) / free / float64(c.pods)
			c.crowd += each
			c.extra += each
		}
	}
	s.held.atZero = false
	e.takeHeld(s, give, now)
}

func (c *cohort) free(s *service) float64 {
	return max(s.workers-c.crowd-c.calling, 0) * float64(c.pods)
}

// throughput is the visits per second of replicas whose workers are all busy.
func (e *Engine) throughput(s *service, d *demand) (sum float64) {
	for i := range s.cohorts {
		c := &s.cohorts[i]
		sum += min(c.limit/d.cpu, s.workers/(d.cpu/min(1, c.limit)+d.hold)) * float64(c.pods)
	}
	return sum
}

// takeHeld removes the oldest visits from the queue at an instant, and records how long they
// were held. From then on they are warm.
func (e *Engine) takeHeld(s *service, n, at float64) {
	q := &s.held
	if q.warm > 0 {
		e.mixing.add(&q.wait, q.warm)
	}
	n = min(n, q.count)
	taken := 0.0
	used := 0
	for i := range q.batches {
		b := &q.batches[i]
		part := min(n-taken, b.visits)
		if part <= 0 && taken >= n {
			break
		}
		const points = 4
		to := b.from + (b.to-b.from)*part/max(b.visits, 1e-12)
		for j := range points {
			came := b.from + (to-b.from)*(float64(j)+0.5)/points
			e.mixing.addValue(max(at-came, 0), part/points)
		}
		taken += part
		b.visits -= part
		b.from = to
		if b.visits <= 1e-12 {
			used++
		}
	}
	q.batches = append(q.batches[:0], q.batches[used:]...)
	q.warm += taken
	if q.warm > 0 {
		e.mixing.cut(&q.wait, q.warm)
	}
	q.count -= n
	if len(q.batches) == 0 || q.count < 1e-9 {
		q.count, q.batches = 0, q.batches[:0]
	}
}

// expire drops held visits whose users timed out. Only users time out: a calling service waits.
func (e *Engine) expire(s *service, m *sim.ServiceMeter) {
	q := &s.held
	if q.heldNow() <= 0 || math.IsInf(q.patience, 1) {
		return
	}
	g := e.p.groups[s.position]
	users := 0.0
	for n := g.from; n < g.to; n++ {
		if e.p.nodes[n].parent < 0 {
			users += e.pop[n]
		}
	}
	if users <= 0 || s.crowd <= 0 {
		return
	}
	gone, deadline := 0.0, e.now.Seconds()-q.patience
	for i := range q.batches {
		b := &q.batches[i]
		if b.firm || b.from >= deadline {
			continue
		}
		part := 1.0
		if b.to > deadline {
			part = (deadline - b.from) / (b.to - b.from)
			b.from = deadline
		} else {
			b.firm = true
		}
		lost := b.visits * part * min(users/s.crowd, 1)
		b.visits -= lost
		gone += lost
	}
	gone = min(gone, users)
	q.count = max(q.count-gone, 0)
	m.Ended += gone
	m.Failed += gone
	for n := g.from; n < g.to; n++ {
		if e.p.nodes[n].parent < 0 {
			lost := gone * e.pop[n] / users
			e.pop[n] -= lost
			s.crowd -= lost
			kd := &e.kinds[e.p.nodes[n].kind]
			kd.lost += lost
			kd.expired += lost
		}
	}
}

// mixHeld computes which share of the visits that end in this step was held. Visits that call
// others end with their calls, so they are drawn from everything in flight below a service.
func (e *Engine) mixHeld(s *service, g span) {
	q := &s.held
	q.share = 0
	if q.warm <= 0 {
		return
	}
	q.pool = e.inFlight(s, g)
	for n := g.from; n < g.to; n++ {
		q.pool += e.taken[n] * (1 - s.refused)
	}
	q.share = min(q.warm/max(q.pool, 1e-12), 1)
	e.unrest = true
}

// inFlight is the visits of a service that have not ended, their calls included, without held
// ones.
func (e *Engine) inFlight(s *service, g span) (sum float64) {
	for n := g.from; n < g.to; n++ {
		sum += e.inflight[n] * e.p.nodes[n].times
	}
	return max(sum-s.held.count, 0)
}

// settleHeld ends a step of the services that hold visits: visits that ended are no longer
// warm, and services that are due are woken.
func (e *Engine) settleHeld() {
	for _, i := range e.holders {
		s := &e.services[i]
		q := &s.held
		if q.warm > 0 {
			left := e.inFlight(s, e.p.groups[s.position])
			q.warm = min(max(q.warm-q.share*max(q.pool-left, 0), 0), left)
			if q.warm < 1e-6 {
				q.warm = 0
			}
		}
		if q.wakeAt != sim.Never {
			e.cp.Wake(i, q.wakeAt)
			q.wakeAt = sim.Never
			e.nextControl = e.cp.Next()
		}
		e.checkZero(i)
	}
}

func (e *Engine) checkZero(i int) {
	if q := &e.services[i].held; q.count == 0 && e.cp.Allocation()[i].Replicas == 0 {
		q.atZero = true
	}
}

// wakeHolders adds a replica wherever a plan has left none for held visits.
func (e *Engine) wakeHolders() {
	for _, i := range e.holders {
		if e.services[i].held.heldNow() > 0 {
			e.cp.Wake(i, e.now)
		}
		e.checkZero(i)
	}
}

// holdStep is the longest step that the services with held visits allow: one at zero replicas
// is simulated to the instant of its wake-up, and the waits of a start-up and the drain after
// it are resolved.
func (e *Engine) holdStep() time.Duration {
	step := math.Inf(1)
	for _, i := range e.holders {
		s := &e.services[i]
		q := &s.held
		switch {
		case q.heldNow() > 0 && s.ready == 0:
			step = min(step, q.fine)
		case s.ready == 0:
			rate := 0.0
			for k := range e.kinds {
				rate += e.kinds[k].rate * e.perRequest[k][i].visits
			}
			if rate > 0 {
				step = min(step, max((1-q.count)/rate, q.fine))
			}
		case q.count > 0 || q.warm > 0:
			drain := q.fine
			for c := range s.cohorts {
				if extra := s.cohorts[c].extra; extra > 0 {
					drain = min(drain, extra*s.work.cpu/s.cohorts[c].limit/4)
				}
			}
			step = min(step, max(drain, 0.02))
		}
	}
	if math.IsInf(step, 1) {
		return sim.Never
	}
	return time.Duration(step * float64(time.Second))
}

// addHeld adds the time for which visits were held to their latency.
func (e *Engine) addHeld(s *service, out *dist) {
	late := *out
	e.blend.sum(&late, &late, &s.held.wait)
	e.mixing.add(out, 1-s.held.share)
	e.mixing.add(&late, s.held.share)
	e.mixing.cut(out, 1)
}

// forget drops the remainder of visits that the flow leaves in a replica without arrivals, so
// that an idle service is recognised as idle.
func (c *cohort) forget(in, h float64) {
	const trace = 1e-6
	if in == 0 && c.crowd+c.calling < trace {
		c.out += c.crowd / h
		c.crowd, c.calling, c.extra = 0, 0, 0
	}
}

// addInStep is the sum of two times that are fully correlated: in a chain of services that were
// all at zero, the request that waited longest for the first has waited longest for the next.
func (d *dist) addInStep(y *dist) {
	for k := range d.part {
		d.part[k] += y.part[k]
	}
	d.settle()
}
