package sim

import (
	"time"

	"github.com/loadline/loadline"
)

// relievePressure is the kubelet's eviction loop: on each node whose pods use more memory
// than is allocatable, which is its memory without what the system reserves and without the
// eviction threshold, one pod is evicted at once, without grace. The system is assumed to use
// what is reserved for it. Neighbours and DaemonSets are never evicted.
func (c *ControlPlane) relievePressure(now time.Duration) {
	clear(c.memory)
	for _, slots := range c.byService {
		for _, slot := range slots {
			if p := &c.pods[slot]; p.Node >= 0 && !p.lost {
				c.memory[p.Node] += c.kubelet.PodMemory(slot)
			}
		}
	}
	for i := range c.nodes {
		if n := &c.nodes[i]; n.Up && c.memory[i]+float64(n.Others.Memory) > float64(n.allocatable) {
			if victim := c.mostOverRequest(i); victim >= 0 {
				c.meter.Evictions++
				service := c.pods[victim].Service
				c.stop(victim, now)
				c.reconcile(service, now)
			}
		}
	}
}

// mostOverRequest is the pod to evict from a node: the one that uses the most memory beyond
// its request. That order includes QoS: pods without a request come early, and pods below
// theirs last.
func (c *ControlPlane) mostOverRequest(node int) int {
	victim, most := -1, 0.0
	for _, slots := range c.byService {
		for _, slot := range slots {
			p := &c.pods[slot]
			if p.Node != node || p.Phase == loadline.PodDraining {
				continue
			}
			over := c.kubelet.PodMemory(slot) - float64(p.Size.MemoryRequest)
			if victim < 0 || over > most {
				victim, most = slot, over
			}
		}
	}
	return victim
}
