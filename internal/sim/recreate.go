package sim

import (
	"time"

	"github.com/loadline/loadline"
)

// recreate evicts a pod whose resize has waited for room for Config.RecreateAfter, or for which
// its node is too small altogether; its service gets another pod of the new size. It reports
// whether it did.
//
// The limits are those of VPA's updater at its defaults: a service keeps at least half of its
// replicas ready, and the only replica of a service is not evicted.
func (c *ControlPlane) recreate(slot int, now time.Duration) bool {
	p := &c.pods[slot]
	if c.cfg.RecreateAfter <= 0 {
		return false
	}
	if p.waiting == 0 {
		p.waiting = now
	}
	n := &c.nodes[p.Node]
	infeasible := p.resizeTo.CPURequest > n.Offered.Cores || p.resizeTo.MemoryRequest > n.Offered.Memory
	if !infeasible && now-p.waiting < c.cfg.RecreateAfter {
		return false
	}
	service, replicas := p.Service, c.alloc[p.Service].Replicas
	if p.Phase == loadline.PodReady && (replicas < 2 || 2*(c.Ready(service)-1) < replicas) {
		return false
	}
	c.remove(slot, now)
	c.reconcile(service, now)
	return true
}
