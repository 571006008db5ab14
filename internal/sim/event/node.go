package event

// node is a machine whose cores are shared by its replicas.
type node struct {
	cores   float64
	want    float64 // sum over its replicas
	crowded bool    // the last sharing gave some replica less than it wanted
	slots   []int32
	cpuNs   float64 // used by requests
}

// shareNode divides a node's cores among its replicas in proportion to their CPU requests, as
// the kernel's weights do; cores that one does not need go to the others.
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

// weight of a replica without a CPU request is the kernel's minimum.
func (r *replica) weight() float64 { return max(r.request, 0.002) }

// fillLevel solves the water-filling of the node's cores: each replica gets level*weight, at
// most what it wants. A few rounds suffice, because each settles at least one replica.
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
