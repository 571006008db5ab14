package sim

import "time"

// accrueTheirs adds up what the neighbours of a node hold until now: the larger of what they
// request and what they want.
func (c *ControlPlane) accrueTheirs(n *Node, now time.Duration) {
	seconds := (now - n.theirsTo).Seconds()
	n.theirsTo = now
	n.theirs.CoreSeconds += max(n.neighbours.Request.Cores, n.neighbours.Want) * seconds
	n.theirs.ByteSeconds += float64(max(n.neighbours.Request.Memory, n.neighbours.Memory)) * seconds
}

// billNode charges a node's time up to now. A node of an elastic pool without neighbours is
// the application's own and is paid for from launch to removal; of another node the
// application pays its share.
func (c *ControlPlane) billNode(slot int, now time.Duration) {
	n := &c.nodes[slot]
	if n.state == nodeGone || n.noticed || now <= n.paid {
		return
	}
	c.accrueTheirs(n, now)
	prices := &c.cfg.Cluster.Prices
	paid := prices.Charge(n.kind, now-n.paid, n.ours, n.theirs)
	if n.Pool >= 0 && c.pools[n.Pool].Elastic && c.alone {
		paid = prices.Whole(n.kind, now-n.paid)
	}
	c.meter.Bill += paid.Money
	c.meter.NodeSeconds += paid.NodeSeconds
	c.meter.NodeCoreSeconds += paid.CoreSeconds
	n.paid = now
	n.ours.CoreSeconds, n.ours.ByteSeconds = 0, 0
	n.theirs.CoreSeconds, n.theirs.ByteSeconds = 0, 0
}

// meterPod counts a pod's cost up to now: the larger of what it asked for and
// what it used, averaged since it was last counted.
func (c *ControlPlane) meterPod(slot int, now time.Duration) {
	p := &c.pods[slot]
	if p.Node < 0 && !c.nowhere || now <= p.metered {
		return
	}
	dt := (now - p.metered).Seconds()
	cpu, mem := c.kubelet.PodUsage(slot, now)
	cores := max(p.Size.CPURequest*dt, cpu-p.meteredCPU)
	bytes := max(float64(p.Size.MemoryRequest)*dt, mem-p.meteredMem)
	s := &c.meter.Services[p.Service]
	s.CoreSeconds += cores
	s.ByteSeconds += bytes
	s.ReplicaSeconds += dt
	c.meter.ReplicaSeconds += dt
	c.meter.AllocatedCoreSeconds += p.Size.CPURequest * dt
	c.meter.UsedCoreSeconds += cpu - p.meteredCPU
	if p.Node >= 0 {
		n := &c.nodes[p.Node]
		n.ours.CoreSeconds += cores
		n.ours.ByteSeconds += bytes
	} else {
		c.meter.Bill += c.cfg.Cluster.Prices.Resources(cores, bytes)
	}
	p.metered, p.meteredCPU, p.meteredMem = now, cpu, mem
}

// Settle counts the cost of every pod and node up to now, at the end of a run.
func (c *ControlPlane) Settle(now time.Duration) {
	for _, slots := range c.byService {
		for _, slot := range slots {
			c.meterPod(slot, now)
		}
	}
	for i := range c.nodes {
		c.billNode(i, now)
	}
}
