package fluid

import (
	"math"
	"slices"
)

// machine is a node whose cores are shared by its replicas and its neighbours.
type machine struct {
	slots     []int32 // serving pods
	crowdable bool    // what they and others may use exceeds its cores

	wants  float64 // cores that all on it would use
	level  float64 // see fillLevel
	others float64 // cores that others get

	starting, startWeight float64 // cores wanted by start-ups, and their weight

	chance chance
}

// weigh is a pod's weight on a full node, as the kernel's: its CPU request.
func (e *Engine) weigh(slot int) float64 { return max(e.cp.Pod(slot).Size.CPURequest, leastWeight) }

const leastWeight = 0.002 // cores

// enterNode and leaveNode keep the list of a node's serving pods.
func (e *Engine) enterNode(slot int) {
	p := &e.pods[slot]
	p.weight = e.weigh(slot)
	if p.node >= 0 {
		m := &e.nodes[p.node]
		m.slots = append(m.slots, int32(slot))
		e.recheck(p.node)
	}
}

func (e *Engine) leaveNode(slot int) {
	if n := e.pods[slot].node; n >= 0 {
		m := &e.nodes[n]
		if i := slices.Index(m.slots, int32(slot)); i >= 0 {
			m.slots = slices.Delete(m.slots, i, i+1)
		}
		e.recheck(n)
	}
}

// recheck determines whether those on a node may use more cores than it has, after a change. If
// no node is like that, steps skip the sharing.
func (e *Engine) recheck(n int) {
	m, node := &e.nodes[n], &e.cp.Nodes()[n]
	sum := node.Others.Want + m.starting
	for _, slot := range m.slots {
		cores, _ := e.limitOf(int(slot))
		sum += cores + e.services[e.cp.Pod(int(slot)).Service].idle
	}
	crowdable := node.Up && len(m.slots)+len(e.starts) > 0 && sum > node.Cores+1e-9
	if crowdable != m.crowdable {
		m.crowdable = crowdable
		if crowdable {
			e.crowdable++
		} else {
			e.crowdable--
		}
	}
	m.chance.stale = true
	e.sharesMoved = true
	if m.others = node.Others.Want; !node.Up {
		m.others = 0
	}
}

// shareNodes divides the cores of crowded nodes. Where those on a node want more than it has on
// average, limits are lowered: in proportion to CPU requests, and what one does not need goes
// to the others. Where they want more only now and then, visits are delayed (chance.go). A
// service whose replicas are on several nodes gets the mean.
func (e *Engine) shareNodes() {
	short := false
	for n := range e.nodes {
		m := &e.nodes[n]
		if !m.crowdable {
			continue
		}
		m.level = e.fillLevel(n)
		if !math.IsInf(m.level, 1) {
			short = true
		}
		if m.chance.outdated(m.wants) {
			e.drawLots(n)
			e.sharesMoved = true
		}
	}
	if !short && !e.short && !e.sharesMoved {
		return
	}
	e.short, e.sharesMoved = short, false
	e.clearShares()
	for n := range e.nodes {
		if m := &e.nodes[n]; m.crowdable {
			e.grantShares(m)
		}
	}
	e.takeShares()
}

func (e *Engine) clearShares() {
	for i := range e.services {
		s := &e.services[i]
		for c := range s.cohorts {
			k := &s.cohorts[c]
			k.lowered, k.stretch, k.delay, k.risk = 0, 0, 0, 0
		}
	}
}

// grantShares adds up, for the cohorts of a node's pods, by how much their limits are lowered
// and how long their visits are delayed.
func (e *Engine) grantShares(m *machine) {
	for _, slot := range m.slots {
		p := &e.pods[slot]
		s := &e.services[p.service]
		c := &s.cohorts[p.cohort]
		each := 1 / float64(c.pods)
		want := e.wantOf(s, c)
		if give := m.level * p.weight; give < want {
			c.lowered += (c.ownLimit - min(c.ownLimit, max(give-s.idle, 0.001))) * each
			continue
		}
		c.stretch += p.stretch * each
		c.delay += p.delay * each
		c.risk += p.risk * each
	}
}

// takeShares applies what grantShares has added up.
func (e *Engine) takeShares() {
	for i := range e.services {
		s := &e.services[i]
		for k := range s.cohorts {
			c := &s.cohorts[k]
			limit := c.ownLimit
			if c.lowered > 0.001*limit {
				limit -= c.lowered
			}
			if math.Abs(limit-c.limit) > 0.005*c.limit {
				c.limit = limit
				c.curve = e.curveFor(s, limit, c.quota)
			}
		}
	}
}

// wantOf is the cores that a replica would use for its arrivals, its backlog and itself.
func (e *Engine) wantOf(s *service, c *cohort) float64 {
	return min(c.ownLimit, c.in*s.work.cpu+c.extra*s.work.cpu/max(e.step.Seconds(), 1)) + s.idle
}

// fillLevel solves the water-filling of a node's cores: each replica gets level*weight, at most
// what it wants. +Inf: there is enough for all.
func (e *Engine) fillLevel(n int) float64 {
	m, node := &e.nodes[n], &e.cp.Nodes()[n]
	m.wants, m.others = node.Others.Want+m.starting, node.Others.Want
	for _, slot := range m.slots {
		p := &e.pods[slot]
		s := &e.services[p.service]
		p.want = e.wantOf(s, &s.cohorts[p.cohort])
		m.wants += p.want
	}
	if m.wants <= node.Cores {
		return math.Inf(1)
	}
	level := 0.0
	otherWeight := max(node.Others.Request.Cores, leastWeight)
	for range 16 {
		free, weights := node.Cores, 0.0
		share := func(weight, want float64) {
			if want <= level*weight {
				free -= want
			} else {
				weights += weight
			}
		}
		share(otherWeight, node.Others.Want)
		share(m.startWeight, m.starting)
		for _, slot := range m.slots {
			share(e.pods[slot].weight, e.pods[slot].want)
		}
		if next := free / weights; weights > 0 && next > level*(1+1e-9) {
			level = next
			continue
		}
		break
	}
	m.others = min(node.Others.Want, level*otherWeight)
	return level
}
