package event

import (
	"math/rand/v2"
	"time"
)

// source generates the arrivals of one kind of request, and times requests out.
type source struct {
	rng   *rand.Rand
	root  int32 // call
	until int64 // the load's rate is constant up to here
	rate  float64

	patience int64 // ns; 0 = no timeout
	// Requests time out in order of arrival, so one ring and one timer for its head suffice.
	ring       []waiter
	head, size int
}

// waiter is a request that may time out.
type waiter struct {
	deadline int64
	visit    int32
	gen      uint32
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
		at = float64(src.until)
	}
}

// arrive handles the arrival of a user's request.
func (e *Engine) arrive(kind int32) {
	src := &e.sources[kind]
	e.meter.Kinds[kind].Arrived++
	i := e.newVisit(src.root, none, 1)
	if src.patience > 0 {
		e.await(kind, waiter{deadline: e.now + src.patience, visit: i, gen: e.visits[i].gen})
	}
	e.start(i)
	e.scheduleArrival(kind)
}

func (e *Engine) await(kind int32, w waiter) {
	src := &e.sources[kind]
	if src.size == len(src.ring) {
		bigger := make([]waiter, max(64, 2*len(src.ring)))
		for i := range src.size {
			bigger[i] = src.ring[(src.head+i)%len(src.ring)]
		}
		src.ring, src.head = bigger, 0
	}
	src.ring[(src.head+src.size)%len(src.ring)] = w
	src.size++
	if src.size == 1 {
		e.queue.push(w.deadline, giveUp, kind)
	}
}

// timeOut fails the requests that have timed out. Their work continues, in vain, unless it
// is still held.
func (e *Engine) timeOut(kind int32) {
	src := &e.sources[kind]
	for src.size > 0 {
		w := src.ring[src.head]
		v := &e.visits[w.visit]
		waits := v.gen == w.gen
		if waits && w.deadline > e.now {
			e.queue.push(w.deadline, giveUp, kind)
			return
		}
		src.head = (src.head + 1) % len(src.ring)
		src.size--
		if waits {
			v.abandoned = true
			e.meter.Kinds[kind].TimedOut++
			e.meter.Failed(int(kind), time.Duration(v.arrived), e.time())
			if v.state == held {
				e.dropHeld(w.visit)
			}
		}
	}
}

// endRequest ends a user's request.
func (e *Engine) endRequest(i int32, ok bool) {
	v := &e.visits[i]
	kind := int(e.calls[v.call].kind)
	if !v.abandoned {
		if ok {
			e.meter.Completed(kind, time.Duration(v.arrived), e.time())
		} else {
			e.meter.Failed(kind, time.Duration(v.arrived), e.time())
		}
	}
	e.release(i)
}
