package event

// holding is the queue of requests at a service without a ready replica, first come first
// served, as in Knative's activator. Held requests count as inside the service and as queued.
type holding struct {
	head, tail int32 // visits, chained by next
	count      int32
	giving     bool    // handOver is running
	ns         float64 // integral of count
	at         int64
}

func (h *holding) add(now int64, by int32) {
	h.ns += float64(h.count) * float64(now-h.at)
	h.at = now
	h.count += by
}

// holdVisit keeps a visit until a replica has a worker for it, or refuses it.
func (e *Engine) holdVisit(i int32) {
	v := &e.visits[i]
	service := e.calls[v.call].service
	s := &e.services[service]
	if s.held.count >= s.hold {
		e.meter.Services[service].Refused++
		e.refuse(i)
		return
	}
	v.state = held
	s.count(e.now, +1)
	s.countQueue(e.now, +1)
	s.held.add(e.now, +1)
	if s.held.tail == none {
		s.held.head = i
	} else {
		e.visits[s.held.tail].next = i
	}
	s.held.tail = i
	e.cpDirty = e.cpDirty || len(s.ready) == 0 // it may have to be woken
}

// unhold removes a visit from the queue; before is the visit ahead of it.
func (e *Engine) unhold(s *service, i, before int32) {
	v := &e.visits[i]
	if before == none {
		s.held.head = v.next
	} else {
		e.visits[before].next = v.next
	}
	if s.held.tail == i {
		s.held.tail = before
	}
	v.next = none
	s.count(e.now, -1)
	s.countQueue(e.now, -1)
	s.held.add(e.now, -1)
}

// handOver gives a replica as many held visits as it has free workers. While visits are held,
// every worker of the other replicas is busy.
func (e *Engine) handOver(slot int32) {
	s := &e.services[e.replicas[slot].service]
	if s.held.giving { // a visit that took no time freed a worker meanwhile
		return
	}
	s.held.giving = true
	for s.held.count > 0 {
		if r := &e.replicas[slot]; !r.serving || r.draining || r.holding >= s.workers {
			break
		}
		i := s.held.head
		e.unhold(s, i, none)
		e.admit(i, slot)
	}
	s.held.giving = false
}

// dropHeld drops a held visit whose user timed out before it was started.
func (e *Engine) dropHeld(i int32) {
	service := e.calls[e.visits[i].call].service
	s := &e.services[service]
	before := none
	for at := s.held.head; at != i; at = e.visits[at].next {
		before = at
	}
	e.unhold(s, i, before)
	m := &e.meter.Services[service]
	m.Ended++
	m.Failed++
	e.release(i)
}

// serveHolders updates the services that hold visits after pods were added or removed: newly
// ready replicas take held visits, and a service with zero desired replicas is woken.
func (e *Engine) serveHolders() {
	for _, i := range e.holders {
		for at := 0; e.services[i].held.count > 0 && at < len(e.services[i].ready); at++ {
			e.handOver(e.services[i].ready[at])
		}
		if e.services[i].held.count > 0 {
			e.cp.Wake(int(i), e.time())
		}
	}
}
