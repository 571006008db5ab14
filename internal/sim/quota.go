package sim

import (
	"time"

	"github.com/loadline/loadline"
)

// Pods beyond the namespace's quota are not created, and resizes beyond it are refused, as by the API
// server. Pods that terminate count until they are gone. What is missing is tried again whenever the
// control plane acts, at least every MeterInterval.

// admits reports whether the quota has room for so much more.
func (c *ControlPlane) admits(more [loadline.QuotaResources]float64) bool {
	q := &c.cfg.Cluster.Quota
	if !q.Limits() {
		return true
	}
	for _, slots := range c.byService {
		for _, slot := range slots {
			p := &c.pods[slot]
			size := p.Size
			if p.resizeAt != Never || p.deferred {
				size = p.resizeTo
			}
			for r, used := range size.Uses() {
				more[r] += used
			}
		}
	}
	for r, hard := range q.Hard {
		if hard.Set && more[r] > hard.Value+1e-9 {
			return false
		}
	}
	return true
}

// admitsResize reports whether the quota has room for a pod of another size. What becomes smaller
// always has.
func (c *ControlPlane) admitsResize(from, to loadline.Size) bool {
	more, larger := to.Uses(), false
	for r, was := range from.Uses() {
		more[r] -= was
		larger = larger || more[r] > 0
	}
	return !larger || c.admits(more)
}

// createRefused creates the pods that the quota had no room for, as far as it has now.
func (c *ControlPlane) createRefused(now time.Duration) {
	if !c.refused {
		return
	}
	c.refused = false
	for service := range c.byService {
		if c.alloc[service].Replicas > 0 {
			c.grow(service, now)
		}
	}
}
