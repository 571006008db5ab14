package event

// visit is one call at one service, from its arrival to its reply. Visits live in one slice and
// are referred to by index; free places are chained for reuse, so a run allocates only while
// the number of concurrent visits reaches a new maximum.
type visit struct {
	arrived    int64
	stageStart int64
	inCalls    int64 // ns spent in stages
	cpu        float64
	gen        uint32 // counts the uses of this place
	parent     int32  // -1: a user's request
	call       int32
	slot       int32 // of its replica
	next       int32 // in the backlog, or in the chain of free places
	pending    int32 // calls of the current stage that have not ended
	times      int32 // repetitions left, this one included
	user       int32 // index into Engine.users; none = a call, or a request whose user needs no memory
	stage      int16
	version    uint8
	state      state
	failed     bool  // a call that it requires has failed
	abandoned  bool  // its caller has given it up
	tried      uint8 // attempts before this one
}

// attempt is what the caller of a visit needs to know of it when it ends.
type attempt struct {
	arrived                   int64
	parent, call, times, user int32
	tried                     uint8
	timedOut                  bool
}

func (v *visit) attempt() attempt {
	return attempt{arrived: v.arrived, parent: v.parent, call: v.call, times: v.times, user: v.user, tried: v.tried}
}

type state uint8

const (
	free state = iota
	queued
	onCPU
	waiting // the service's own time without CPU
	calling
	held       // no replica of its service is ready
	connecting // its replica is on a lost node
	backingOff // its caller waits before a retry
	dead       // its replica was killed; the place is reused after its timer or its calls have ended
)

const none = int32(-1)

func (e *Engine) newVisit(call, parent, times int32) int32 {
	i := e.freeVisit
	if i == none {
		e.visits = append(e.visits, visit{})
		i = int32(len(e.visits) - 1)
	} else {
		e.freeVisit = e.visits[i].next
	}
	v := &e.visits[i]
	*v = visit{arrived: e.now, gen: v.gen + 1, parent: parent, call: call, slot: none, next: none, times: times,
		user: none}
	return i
}

func (e *Engine) release(i int32) {
	v := &e.visits[i]
	v.state = free
	v.gen++
	v.next = e.freeVisit
	e.freeVisit = i
}

// start sends a new visit to a replica of its service.
func (e *Engine) start(i int32) {
	v := &e.visits[i]
	c := &e.calls[v.call]
	s := &e.services[c.service]
	m := &e.meter.Services[c.service]
	m.Arrived++
	e.events++
	if c.deadlines != none {
		e.await(c.deadlines, i)
	}
	if c.retries > 0 && v.tried == 0 {
		e.budgetOf(v.parent, v.call).add()
	}
	if s.hold > 0 && (len(s.ready) == 0 || s.held.count > 0) {
		e.holdVisit(i)
		return
	}
	slot := none
	if e.connections != nil {
		slot = e.connect(i)
	} else {
		slot = e.route(s)
	}
	if slot == none {
		m.Refused++
		e.refuse(i)
		return
	}
	e.admit(i, slot)
}

// admit adds a visit to a replica.
func (e *Engine) admit(i, slot int32) {
	v := &e.visits[i]
	c := &e.calls[v.call]
	s := &e.services[c.service]
	m := &e.meter.Services[c.service]
	v.version = s.drawVersion()
	v.cpu = s.cpu.Draw(s.rng, s.cpuFactor[v.version]*c.work)
	r := &e.replicas[slot]
	if r.lost {
		e.connectLost(i, slot)
		return
	}
	full := r.holding >= s.workers
	if full && r.inside-r.holding >= s.backlog {
		m.Refused++
		e.refuse(i)
		return
	}
	v.slot = slot
	r.count(e.now, +1)
	s.count(e.now, +1)
	if full {
		v.state = queued
		s.countQueue(e.now, +1)
		r.enqueue(e.visits, i)
	} else {
		v.state = onCPU
		r.holding++
	}
	if r.inside > r.maxInside {
		e.cp.Killed(int(slot), e.time()) // fails this visit with the others
		e.cpDirty = true
		return
	}
	if !full {
		e.work(i)
	}
}

// route picks a ready replica.
func (e *Engine) route(s *service) int32 {
	n := len(s.ready)
	switch n {
	case 0:
		return none
	case 1:
		return s.ready[0]
	}
	a := s.ready[s.routing.IntN(n)]
	if e.leastRequest {
		if b := s.ready[s.routing.IntN(n)]; e.replicas[b].inside < e.replicas[a].inside {
			return b
		}
	}
	return a
}

func (r *replica) enqueue(visits []visit, i int32) {
	if r.queueTail == none {
		r.queueHead = i
	} else {
		visits[r.queueTail].next = i
	}
	r.queueTail = i
}

// work starts a visit's own work: first the CPU.
func (e *Engine) work(i int32) {
	v := &e.visits[i]
	v.state = onCPU
	if v.cpu > 0 {
		if s := &e.services[e.calls[v.call].service]; s.contention > 0 {
			v.cpu *= 1 + s.contention*float64(e.replicas[v.slot].holding-1)
		}
		e.addJob(v.slot, i, v.cpu)
		return
	}
	e.cpuDone(i)
}

// cpuDone continues with the waiting time.
func (e *Engine) cpuDone(i int32) {
	e.events++
	v := &e.visits[i]
	c := &e.calls[v.call]
	s := &e.services[c.service]
	if s.waits {
		if wait := s.wait.Draw(s.rng, s.waitFactor[v.version]*c.work); wait >= 1 {
			v.state = waiting
			e.queue.push(e.now+int64(wait), waitOver, i)
			return
		}
	}
	e.nextStage(i)
}

// waitDone continues with the calls.
func (e *Engine) waitDone(i int32) {
	e.events++
	if e.visits[i].state == dead {
		e.release(i)
		return
	}
	if e.visits[i].state == connecting {
		e.connectFailed(i)
		return
	}
	e.nextStage(i)
}

// nextStage makes the calls of the next stage that has any, or replies when there is none left.
func (e *Engine) nextStage(i int32) {
	for {
		v := &e.visits[i]
		stages := e.calls[v.call].stages
		if int(v.stage) == len(stages) {
			e.reply(i, true)
			return
		}
		st := stages[v.stage]
		v.stage++
		v.state = calling
		v.stageStart = e.now
		v.pending = 1 // a reference of our own, so that it cannot end while calls are being made
		for c := st.from; c < st.to; c++ {
			e.makeCall(c, i)
			if e.visits[i].state == dead { // a call's failure ended this visit through its replica
				break
			}
		}
		if !e.endPending(i) {
			return
		}
	}
}

// endPending ends one pending call of a visit. It reports whether the visit may go
// on to its next stage at once.
func (e *Engine) endPending(i int32) bool {
	v := &e.visits[i]
	v.pending--
	if v.pending > 0 {
		return false
	}
	if v.state == dead {
		e.release(i)
		return false
	}
	v.inCalls += e.now - v.stageStart
	if v.failed {
		e.reply(i, false)
		return false
	}
	return true
}

// makeCall makes one call of a stage, if its probability and brownout allow.
func (e *Engine) makeCall(c, parent int32) {
	call := &e.calls[c]
	if !call.always {
		caller := e.calls[e.visits[parent].call].service
		if call.versions != 0 && call.versions>>e.visits[parent].version&1 == 0 {
			return
		}
		if call.prob < 1 && e.services[caller].calls.Float64() >= call.prob {
			return
		}
	}
	if call.optional {
		m := &e.meter.Services[call.service]
		m.OptionalAsked += float64(call.times)
		if e.cp.Allocation()[call.service].Brownout {
			m.OptionalDropped += float64(call.times)
			return
		}
	}
	e.visits[parent].pending++
	e.start(e.newVisit(c, parent, call.times))
}

// reply ends a visit that occupies a worker.
func (e *Engine) reply(i int32, ok bool) {
	v := &e.visits[i]
	c := &e.calls[v.call]
	s := &e.services[c.service]
	slot := v.slot
	r := &e.replicas[slot]
	r.count(e.now, -1)
	s.count(e.now, -1)
	r.holding--
	e.recordVisit(v, c.service, ok)
	e.notifyCaller(i, ok)
	e.freeWorker(slot)
}

func (e *Engine) recordVisit(v *visit, service int32, ok bool) {
	m := &e.meter.Services[service]
	m.Ended++
	if !ok {
		m.Failed++
	}
	m.Latency.Add(e.now - v.arrived)
	m.Own.Add(e.now - v.arrived - v.inCalls)
}

// freeWorker gives a free worker to the next visit in the backlog, or ends the replica if it is
// draining and empty.
func (e *Engine) freeWorker(slot int32) {
	r := &e.replicas[slot]
	s := &e.services[r.service]
	if i := r.queueHead; i != none && r.holding < s.workers {
		v := &e.visits[i]
		r.queueHead = v.next
		if r.queueHead == none {
			r.queueTail = none
		}
		v.next = none
		r.holding++
		s.countQueue(e.now, -1)
		e.work(i)
		return
	}
	if e.endIfDrained(slot) {
		return
	}
	if s.held.count > 0 {
		e.handOver(slot)
	}
}

// refuse ends a visit that found the backlog full.
func (e *Engine) refuse(i int32) {
	v := &e.visits[i]
	m := &e.meter.Services[e.calls[v.call].service]
	m.Ended++
	m.Failed++
	e.notifyCaller(i, false)
}

// notifyCaller reports to the caller how a visit ended, and frees its place.
func (e *Engine) notifyCaller(i int32, ok bool) {
	v := &e.visits[i]
	a, abandoned := v.attempt(), v.abandoned
	e.release(i)
	if !abandoned {
		e.attemptEnded(a, ok)
	}
}

// detach removes a visit from its caller; its work may continue.
func (e *Engine) detach(i int32) attempt {
	v := &e.visits[i]
	a := v.attempt()
	v.parent, v.user, v.abandoned = none, none, true
	return a
}

// attemptEnded continues with the caller of an attempt: it retries, makes the next repetition, or
// has one call less to wait for.
func (e *Engine) attemptEnded(a attempt, ok bool) {
	c := &e.calls[a.call]
	if a.parent != none {
		made := &e.made[c.edge]
		made.Count++
		made.SumSeconds += float64(e.now-a.arrived) / 1e9
		if !ok {
			made.Failed++
		}
	}
	if !ok && c.retries > 0 && e.retry(a) {
		return
	}
	if a.parent == none {
		e.endRequest(a, ok)
		return
	}
	if ok && a.times > 1 && e.visits[a.parent].state != dead {
		e.start(e.newVisit(a.call, a.parent, a.times-1))
		return
	}
	if !ok && !c.optional {
		e.visits[a.parent].failed = true
	}
	if e.endPending(a.parent) {
		e.nextStage(a.parent)
	}
}

// killAll fails every visit in a replica that stops.
func (e *Engine) killAll(slot int32) {
	r := &e.replicas[slot]
	s := &e.services[r.service]
	s.count(e.now, -r.inside)
	left := r.inside
	r.count(e.now, -left)
	r.holding = 0
	r.jobs = r.jobs[:0]
	r.queueHead, r.queueTail = none, none
	for i := 0; left > 0 && i < len(e.visits); i++ {
		v := &e.visits[i]
		if v.slot != slot || v.state == free || v.state == dead {
			continue
		}
		left--
		e.kill(int32(i), s)
	}
}

// kill ends one visit of a stopped replica. Its caller is notified at once; its
// place is kept while a timer or calls that are still under way refer to it.
func (e *Engine) kill(i int32, s *service) {
	v := &e.visits[i]
	was := v.state
	if was == queued {
		s.countQueue(e.now, -1)
	}
	m := &e.meter.Services[e.calls[v.call].service]
	m.Ended++
	m.Failed++
	if was == queued || was == onCPU {
		e.notifyCaller(i, false)
		return
	}
	// The place is kept without a caller until its timer or its calls have ended.
	abandoned := v.abandoned
	a := e.detach(i)
	v.gen++ // a time-out no longer refers to it
	v.state = dead
	if !abandoned {
		e.attemptEnded(a, false)
	}
}
