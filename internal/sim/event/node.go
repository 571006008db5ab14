package event

// node is a machine whose cores its replicas share.
type node struct {
	cores   float64
	want    float64 // sum over its replicas
	crowded bool    // the last sharing gave some replica less than it wanted
	slots   []int32
	cpuNs   float64 // used by requests
}

// shareNode divides a node's cores among its replicas: in proportion to their
// CPU requests, as the kernel's weights do, what one does not need going to the
// others.
func (e *Engine) shareNode(n *node) {
	for _, slot := range n.slots {
		e.sync(&e.replicas[slot])
	}
	n.crowded = n.want > n.cores+1e-9
	if !n.crowded {
		for _, slot := range n.slots {
			e.grant(slot, e.replicas[slot].want)
		}
		return
	}
	level := e.fillLevel(n)
	for _, slot := range n.slots {
		r := &e.replicas[slot]
		e.grant(slot, min(r.want, level*r.weight()))
	}
}

// weight of a replica that asked for nothing is the kernel's least.
func (r *replica) weight() float64 { return max(r.request, 0.002) }

// fillLevel is the height of water that fills the node's cores: each replica
// holds level*weight, at most what it wants. A few rounds suffice, because each
// settles at least one replica.
func (e *Engine) fillLevel(n *node) float64 {
	level := 0.0
	for range n.slots {
		free, weights := n.cores, 0.0
		for _, slot := range n.slots {
			r := &e.replicas[slot]
			if r.want <= level*r.weight() {
				free -= r.want
			} else {
				weights += r.weight()
			}
		}
		next := free / weights
		if weights == 0 || next <= level*(1+1e-12) {
			break
		}
		level = next
	}
	return level
}
