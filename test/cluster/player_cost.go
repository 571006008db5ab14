package cluster

import "time"

// reserved is what pods reserve on nodes while they do not serve: from binding to ready, and from
// deletion to gone. The engine has no pod for them then.
type reserved struct {
	until                    time.Duration
	coreSeconds, byteSeconds float64
}

// reserve counts up to now, for the pods as they were seen last. The lock is held.
func (p *Player) reserve() {
	seconds := (p.now - p.reserved.until).Seconds()
	p.reserved.until = p.now
	for _, played := range p.pods {
		if played.there && played.node >= 0 && p.engineOwn(played) == nil {
			p.reserved.coreSeconds += seconds * played.size.CPURequest
			p.reserved.byteSeconds += seconds * float64(played.size.MemoryRequest)
		}
	}
}

// Cost is the CPU and memory that all pods have taken so far, from binding to deletion: the larger
// of request and use, as sim.Meter counts it.
func (p *Player) Cost() (coreSeconds, byteSeconds float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.advance()
	p.reserve()
	p.engine.ControlPlane().Settle(p.now)
	for _, s := range p.engine.Meter().Services {
		coreSeconds += s.CoreSeconds
		byteSeconds += s.ByteSeconds
	}
	return coreSeconds + p.reserved.coreSeconds, byteSeconds + p.reserved.byteSeconds
}
