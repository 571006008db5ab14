package event

import (
	"math/rand/v2"
	"time"
)

// source generates the arrivals of one kind of request: requests, or users who send several.
type source struct {
	rng   *rand.Rand
	root  int32 // call
	until int64 // the load's rate is constant up to here
	rate  float64

	users *users // nil = open loop
	keeps bool   // each request needs a user: it may be retried, or is one of several
}

// scheduleArrival draws the next arrival of a kind. It is exact for a piecewise constant rate,
// because the exponential distribution is memoryless.
func (e *Engine) scheduleArrival(kind int32) {
	src := &e.sources[kind]
	at := float64(e.now)
	for {
		if int64(at) >= src.until {
			rate, until := e.cfg.Load.Rate(int(kind), time.Duration(at))
			src.rate, src.until = rate, int64(until)
			if src.users != nil {
				src.rate /= src.users.requests
			}
		}
		if src.rate > 0 {
			next := at + src.rng.ExpFloat64()*1e9/src.rate
			if next < float64(src.until) {
				e.queue.push(int64(next), arrival, kind)
				return
			}
		}
		if src.until == never {
			return
		}
		if e.live { // the rate after it is not known yet
			e.queue.push(src.until, rateOver, kind)
			return
		}
		at = float64(src.until)
	}
}

// arrive handles the arrival of a user's request, or of a user with its first one.
func (e *Engine) arrive(kind int32) {
	src := &e.sources[kind]
	u := none
	if src.keeps {
		u = e.newUser(kind)
	}
	e.send(kind, u)
	e.scheduleArrival(kind)
}

// send sends a user's request.
func (e *Engine) send(kind, u int32) {
	e.meter.Kinds[kind].Arrived++
	i := e.newVisit(e.sources[kind].root, none, 1)
	if u != none {
		e.users[u].asked = e.now
		e.visits[i].user = u
	}
	e.start(i)
}

// endRequest ends a user's request after its last attempt.
func (e *Engine) endRequest(a attempt, ok bool) {
	kind := e.calls[a.call].kind
	asked := a.arrived
	if a.user != none {
		asked = e.users[a.user].asked
	}
	if ok {
		e.meter.CompletedAttempt(int(kind), time.Duration(asked), time.Duration(a.arrived), e.time())
	} else {
		if a.timedOut {
			e.meter.Kinds[kind].TimedOut++
		}
		e.meter.Failed(int(kind), time.Duration(asked), e.time())
	}
	if a.user != none {
		e.served(kind, a.user, ok)
	}
}

// deadlines times out the attempts of one call, or of one kind of users' requests. All have the
// same time-out, so they expire in the order in which they were sent, and one ring with one timer
// for its head suffices.
type deadlines struct {
	timeout    int64
	ring       []waiter
	head, size int
	armed      bool // the timer is set
}

// waiter is an attempt that may time out.
type waiter struct {
	deadline int64
	visit    int32
	gen      uint32
}

// await begins an attempt's time-out.
func (e *Engine) await(d, i int32) {
	q := &e.deadlines[d]
	if q.size == len(q.ring) {
		bigger := make([]waiter, max(64, 2*len(q.ring)))
		for i := range q.size {
			bigger[i] = q.ring[(q.head+i)%len(q.ring)]
		}
		q.ring, q.head = bigger, 0
	}
	w := waiter{deadline: e.now + q.timeout, visit: i, gen: e.visits[i].gen}
	q.ring[(q.head+q.size)%len(q.ring)] = w
	q.size++
	if !q.armed {
		q.armed = true
		e.queue.push(w.deadline, giveUp, d)
	}
}

// timeOut fails the attempts whose time-out is over.
func (e *Engine) timeOut(d int32) {
	q := &e.deadlines[d]
	for q.size > 0 {
		w := q.ring[q.head]
		waits := e.visits[w.visit].gen == w.gen
		if waits && w.deadline > e.now {
			e.queue.push(w.deadline, giveUp, d)
			return
		}
		q.head = (q.head + 1) % len(q.ring)
		q.size--
		if waits {
			e.stopWaiting(w.visit)
		}
	}
	q.armed = false
}

// stopWaiting fails an attempt for its caller. The callee's work continues, in vain, unless it is
// still held.
func (e *Engine) stopWaiting(i int32) {
	a := e.detach(i)
	a.timedOut = true
	if e.visits[i].state == held {
		e.dropHeld(i)
	}
	e.attemptEnded(a, false)
}
