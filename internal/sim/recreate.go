package sim

import (
	"time"

	"github.com/loadline/loadline"
)

// recreate evicts a pod whose resize has waited for room for Config.RecreateAfter, or for which
// its node is too small altogether; its service gets another pod of the new size.
//
// The limits are those of VPA's updater at its defaults: a service keeps at least half of its
// replicas ready, and the only replica of a service is not evicted.
func (c *ControlPlane) recreate(slot int, now time.Duration) {
	p := &c.pods[slot]
	if c.cfg.RecreateAfter <= 0 {
		return
	}
	if p.waiting == 0 {
		p.waiting = now
	}
	if due := p.waiting + c.cfg.RecreateAfter; p.deferred && now < due {
		p.resizeAt = due
		return
	}
	service, replicas := p.Service, c.alloc[p.Service].Replicas
	if p.Phase == loadline.PodReady && (replicas < 2 || 2*(c.Ready(service)-1) < replicas) {
		p.resizeAt = now + recreateRetry
		return
	}
	c.remove(slot, now)
	c.reconcile(service, now)
}

// recreateRetry is how long an eviction waits for other replicas to be ready.
const recreateRetry = 10 * time.Second
