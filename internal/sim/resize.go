package sim

import (
	"time"

	"github.com/loadline/loadline"
)

// resizeNow performs a resize. If its node has no room, it is Deferred until there is; if the
// node is too small altogether, it is Infeasible, and the pod keeps its size.
func (c *ControlPlane) resizeNow(slot int, now time.Duration) {
	p := &c.pods[slot]
	p.resizeAt = Never
	if p.Node >= 0 && !c.reserveResize(p) {
		c.recreate(slot, now)
		return
	}
	c.meterPod(slot, now)
	smaller := p.resizeTo.CPURequest < p.Size.CPURequest || p.resizeTo.MemoryRequest < p.Size.MemoryRequest
	p.Size, p.deferred, p.waiting = p.resizeTo, false, 0
	if c.cfg.ResizeRestarts && p.Phase == loadline.PodReady {
		c.kubelet.PodStopped(slot)
		p.Phase = loadline.PodStarting
		p.startAt = now
		p.due = now + c.startup[p.Service].DrawTime(c.rng[p.Service], c.cfg.StartupFactor)
		c.startContainer(slot, now)
	} else {
		c.kubelet.PodResized(slot)
	}
	if smaller && p.Node >= 0 {
		c.retryResizes(p.Node, now)
		if len(c.pending) > 0 {
			c.placePending(now)
		}
	}
}

// reserveResize changes what a pod requests of its node, or defers the resize or gives it up.
func (c *ControlPlane) reserveResize(p *Pod) bool {
	n := &c.nodes[p.Node]
	to := &p.resizeTo
	if to.CPURequest > n.Offered.Cores+1e-9 || to.MemoryRequest > n.Offered.Memory {
		p.deferred = false
		c.meter.ResizesInfeasible++
		return false
	}
	if !n.fits(max(0, to.CPURequest-p.Size.CPURequest), max(0, to.MemoryRequest-p.Size.MemoryRequest)) {
		if !p.deferred {
			p.deferred = true
			c.meter.ResizesDeferred++
		}
		return false
	}
	n.Requested.Cores += to.CPURequest - p.Size.CPURequest
	n.Requested.Memory += to.MemoryRequest - p.Size.MemoryRequest
	return true
}

// retryResizes tries the deferred resizes of a node again: room has appeared. They come before
// pending pods, since the scheduler counts a deferred resize as room taken.
func (c *ControlPlane) retryResizes(node int, now time.Duration) {
	if c.meter.ResizesDeferred == 0 {
		return
	}
	for _, slots := range c.byService {
		for _, slot := range slots {
			if p := &c.pods[slot]; p.deferred && p.Node == node {
				c.resizeNow(slot, now)
			}
		}
	}
}
