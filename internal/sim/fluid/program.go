package fluid

import (
	"fmt"
	"math"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
)

// program is an app laid out flat: what is constant during a run.
type program struct {
	order  []int32 // services, callers before those they call
	nodes  []node  // calls of all kinds, grouped by service in that order
	groups []span  // by position in order: its nodes
	// Read for every node in every step; separate for cache locality.
	shapeOf, profileOf []int32
	workOf             []float64
	roots              []int32 // by kind: node
	shapes             []shape // distinct call trees, inner ones first
	stages             []span  // into calls
	calls              []stageCall
	profiles           []profile
	edges              int       // distinct pairs of caller and callee
	edgeOf             []int32   // by node; -1 = a user's request
	withShape          [][]int32 // by shape: its nodes
}

type span struct{ from, to int32 }

// node is one call in one kind's tree.
type node struct {
	service  int32
	kind     int32
	parent   int32 // -1 = a user's request
	shape    int32
	times    float64
	prob     float64
	versions uint64 // of the caller, that make it; 0 = all
	work     float64
	optional bool

	kids      []int32 // nodes it calls, in the order of stages
	kidStages []int32 // by kid: position of its stage among the node's stages
}

// shape is a call tree up to equality: where kinds or callers share one, its latency is
// computed once.
type shape struct {
	service int32
	profile int32
	stages  span // into program.stages
}

// stageCall is one call of a stage of a shape.
type stageCall struct {
	shape    int32
	caller   int32 // service
	service  int32
	times    int32
	prob     float64
	versions uint64
	optional bool
}

// profile is a service's own part of a visit with one factor on its work.
type profile struct {
	service int32
	work    float64
}

// compile lays out an app.
func compile(app *loadline.App) *program {
	c := &compiler{
		p:        &program{roots: make([]int32, len(app.Kinds))},
		shapes:   map[string]int32{},
		profiles: map[profile]int32{},
	}
	for k := range app.Kinds {
		c.p.roots[k] = c.node(&app.Kinds[k].Root, int32(k), -1)
	}
	c.p.order = callersFirst(len(app.Services), c.p.nodes)
	c.group()
	c.p.setEdges(sim.Edges(app))
	return c.p
}

type compiler struct {
	p        *program
	shapes   map[string]int32
	profiles map[profile]int32
}

func (c *compiler) node(call *loadline.Call, kind, parent int32) int32 {
	at := int32(len(c.p.nodes))
	n := node{
		service: int32(call.Service), kind: kind, parent: parent,
		times: float64(max(call.Times, 1)), prob: call.Probability, work: call.Work, optional: call.Optional,
		versions: versionSet(call.Versions),
	}
	if parent < 0 {
		n.prob, n.times = 1, 1
	}
	c.p.nodes = append(c.p.nodes, n)
	var kids, kidStages []int32
	for s := range call.Stages {
		for i := range call.Stages[s] {
			kids = append(kids, c.node(&call.Stages[s][i], kind, at))
			kidStages = append(kidStages, int32(s))
		}
	}
	c.p.nodes[at].kids, c.p.nodes[at].kidStages = kids, kidStages
	c.p.nodes[at].shape = c.shape(call, kids)
	return at
}

func versionSet(versions []int) (set uint64) {
	for _, v := range versions {
		set |= 1 << v
	}
	return set
}

// shape finds or makes the shape of a call whose children have theirs.
func (c *compiler) shape(call *loadline.Call, kids []int32) int32 {
	key := fmt.Sprintf("%d*%v", call.Service, call.Work)
	var calls []stageCall
	var sizes []int
	next := 0
	for s := range call.Stages {
		key += ";"
		for range call.Stages[s] {
			kid := &c.p.nodes[kids[next]]
			next++
			calls = append(calls, stageCall{
				shape: kid.shape, caller: int32(call.Service), service: kid.service,
				times: int32(kid.times), prob: kid.prob, versions: kid.versions, optional: kid.optional,
			})
			key += fmt.Sprintf("(%d,%v,%v,%x,%v)", kid.shape, kid.times, kid.prob, kid.versions, kid.optional)
		}
		sizes = append(sizes, len(call.Stages[s]))
	}
	if at, ok := c.shapes[key]; ok {
		return at
	}
	from := int32(len(c.p.stages))
	start := int32(len(c.p.calls))
	c.p.calls = append(c.p.calls, calls...)
	for _, n := range sizes {
		c.p.stages = append(c.p.stages, span{start, start + int32(n)})
		start += int32(n)
	}
	at := int32(len(c.p.shapes))
	c.p.shapes = append(c.p.shapes, shape{
		service: int32(call.Service),
		profile: c.profile(profile{int32(call.Service), call.Work}),
		stages:  span{from, int32(len(c.p.stages))},
	})
	c.shapes[key] = at
	return at
}

func (c *compiler) profile(p profile) int32 {
	if math.IsNaN(p.work) {
		p.work = 0
	}
	at, ok := c.profiles[p]
	if !ok {
		at = int32(len(c.p.profiles))
		c.p.profiles = append(c.p.profiles, p)
		c.profiles[p] = at
	}
	return at
}

// callersFirst orders services so that each comes after its callers. If services call each
// other in a cycle, across kinds, the rest keeps its order and gets its callers' visits one
// step late.
func callersFirst(services int, nodes []node) []int32 {
	calls := make([]map[int32]bool, services)
	waiting := make([]int, services)
	for _, n := range nodes {
		if n.parent < 0 {
			continue
		}
		from := nodes[n.parent].service
		if calls[from] == nil {
			calls[from] = map[int32]bool{}
		}
		if from != n.service && !calls[from][n.service] {
			calls[from][n.service] = true
			waiting[n.service]++
		}
	}
	done := make([]bool, services)
	var order []int32
	for len(order) < services {
		found := -1
		for s := range services {
			if !done[s] && (waiting[s] <= 0 || found < 0) {
				if waiting[s] <= 0 {
					found = s
					break
				}
				found = s
			}
		}
		done[found] = true
		order = append(order, int32(found))
		for to := range calls[found] {
			waiting[to]--
		}
	}
	return order
}

// group sorts the nodes by service in calling order and updates all references.
func (c *compiler) group() {
	old := c.p.nodes
	name := make([]int32, len(old))
	var sorted []node
	for _, s := range c.p.order {
		from := int32(len(sorted))
		for i := range old {
			if old[i].service == s {
				name[i] = int32(len(sorted))
				sorted = append(sorted, old[i])
			}
		}
		c.p.groups = append(c.p.groups, span{from, int32(len(sorted))})
	}
	for i := range sorted {
		n := &sorted[i]
		if n.parent >= 0 {
			n.parent = name[n.parent]
		}
		for k := range n.kids {
			n.kids[k] = name[n.kids[k]]
		}
	}
	for k := range c.p.roots {
		c.p.roots[k] = name[c.p.roots[k]]
	}
	c.p.nodes = sorted
	for i := range sorted {
		sh := sorted[i].shape
		c.p.shapeOf = append(c.p.shapeOf, sh)
		c.p.profileOf = append(c.p.profileOf, c.p.shapes[sh].profile)
		c.p.workOf = append(c.p.workOf, sorted[i].work)
	}
}

// setEdges finds the pair of caller and callee of every node.
func (p *program) setEdges(edges []sim.Edge) {
	p.edges = len(edges)
	p.edgeOf = make([]int32, len(p.nodes))
	p.withShape = make([][]int32, len(p.shapes))
	for i := range p.nodes {
		n := &p.nodes[i]
		p.edgeOf[i] = -1
		if n.parent >= 0 {
			from := int(p.nodes[n.parent].service)
			p.edgeOf[i] = int32(sim.EdgeIndex(edges, sim.Edge{From: from, To: int(n.service)}))
		}
		p.withShape[n.shape] = append(p.withShape[n.shape], int32(i))
	}
}
