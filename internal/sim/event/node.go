package event

import "math"

// node is a machine whose cores are shared by its replicas and by others.
//
// Everything on a node has a weight, as the kubelet sets it (weight), and the kernel hands out
// CPU in proportion to the weights; what one does not need goes to the rest. Weights are flat
// here. The kubelet nests them: guaranteed pods and the parent of the burstable pods, whose
// weight is the sum of their requests, are siblings; best-effort pods share a parent with the
// minimum weight. The two are the same among burstable pods, and among all pods as long as
// every burstable pod wants more than it gets. They differ where a guaranteed pod competes with
// burstable pods of which some are idle: nested, the busy ones inherit the weight of the idle
// ones. Several best-effort pods weigh more here than their parent does there.
// TestSharesAreTheKubeletsTree checks each of these.
type node struct {
	id      int32
	cores   float64
	work    float64 // cores wanted for requests, sum over its replicas
	base    float64 // cores wanted without requests, sum over its replicas
	crowded bool    // the last sharing gave less than was wanted
	slots   []int32 // its replicas
	active  []int32 // of them, those that sharing must look at; the others get their base
	others  others
	cpuNs   float64 // used by replicas and others
}

func (n *node) want() float64 { return n.work + n.base + n.others.want }

// fits allows for the rounding of sums.
func (n *node) fits() bool { return n.want() <= n.cores+1e-9 }

// minWeight is the kernel's least, two shares of 1024 per core. With cgroup v2 it is 1 of some
// 39 per core, so requests below 50m weigh more than here, up to 26m.
const minWeight = 0.002

// weight of a replica on a crowded node: its CPU request.
func (r *replica) weight() float64 { return max(r.request, minWeight) }

// join adds a replica to its node.
func (e *Engine) join(slot int32) {
	r := &e.replicas[slot]
	if r.node < 0 || r.joined {
		return
	}
	r.joined = true
	n := &e.nodes[r.node]
	n.slots = append(n.slots, slot)
	n.base += r.base
	if !n.fits() || n.crowded {
		e.shareNode(n)
	}
}

// leave removes a replica from its node and gives its cores to the rest.
func (e *Engine) leave(slot int32) {
	r := &e.replicas[slot]
	r.got, r.baseGot, r.rate = 0, 0, 0
	if !r.joined {
		r.work, r.base = 0, 0
		return
	}
	r.joined = false
	n := &e.nodes[r.node]
	n.remove(&n.slots, slot)
	if r.active {
		r.active = false
		n.remove(&n.active, slot)
	}
	n.work -= r.work
	r.work, r.base = 0, 0
	e.addUp(n)
	if n.crowded {
		e.shareNode(n)
	}
}

func (n *node) remove(list *[]int32, slot int32) {
	l := *list
	for i, s := range l {
		if s == slot {
			l[i] = l[len(l)-1]
			*list = l[:len(l)-1]
			return
		}
	}
}

// addUp sums what a node's replicas want without requests, and clears the rounding of the rest.
func (e *Engine) addUp(n *node) {
	n.base = 0
	for _, slot := range n.slots {
		n.base += e.replicas[slot].base
	}
	if len(n.active) == 0 {
		n.work = 0
	}
}

// setBase sets the cores that a replica wants without requests. It must have been synced.
func (e *Engine) setBase(slot int32, cores float64) {
	r := &e.replicas[slot]
	r.base = cores
	if r.joined {
		e.addUp(&e.nodes[r.node])
	}
}

// activate keeps the list of replicas that sharing must look at: those with requests, and those
// whose base may not be granted in full. The base of the others is: it is at most their weight,
// and the scheduler keeps the sum of the weights within the cores.
func (e *Engine) activate(n *node, slot int32) {
	r := &e.replicas[slot]
	active := r.work > 0 || r.base > r.weight()
	if active == r.active {
		return
	}
	r.active = active
	if active {
		n.active = append(n.active, slot)
	} else {
		n.remove(&n.active, slot)
	}
}

// shareNode divides a node's cores. Those whose share does not change are not touched.
func (e *Engine) shareNode(n *node) {
	e.syncOthers(n)
	n.crowded = !n.fits()
	level := math.MaxFloat64 // not infinite: a weight may be 0
	if n.crowded {
		level = e.fillLevel(n)
	}
	for _, slot := range n.active {
		r := &e.replicas[slot]
		share := min(r.work+r.base, level*r.weight())
		if share == r.share {
			continue
		}
		e.sync(r)
		e.grant(slot, share)
	}
	e.grantOthers(n, min(n.others.want, level*n.others.weight))
}

// fillLevel solves the water-filling of the node's cores: each gets level*weight, at most what
// it wants. A few rounds suffice, because each settles at least one.
func (e *Engine) fillLevel(n *node) float64 {
	offered := n.cores - n.base
	for _, slot := range n.active {
		offered += e.replicas[slot].base
	}
	level := 0.0
	for range len(n.active) + 1 {
		free, weights := offered, 0.0
		for _, slot := range n.active {
			r := &e.replicas[slot]
			if want, w := r.work+r.base, r.weight(); want <= level*w {
				free -= want
			} else {
				weights += w
			}
		}
		if o := &n.others; o.want <= level*o.weight {
			free -= o.want
		} else {
			weights += o.weight
		}
		next := max(free, 0) / weights
		if weights == 0 || next <= level*(1+1e-12) {
			break
		}
		level = next
	}
	return level
}
