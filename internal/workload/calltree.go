package workload

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// callTrees merges the traces of each kind of request.
type callTrees struct {
	kinds map[string]*callNode
	nodes int
}

const maxCallNodes = 200_000

// underMillisecond is used for a response time of 0 in the files, which means less than a
// millisecond: the middle of the range.
const underMillisecond = 500 * time.Microsecond

// callNode is one place in the merged tree of a kind: all visits to a service
// that were reached through the same chain of services.
type callNode struct {
	service string
	visits  float64
	callers float64 // visits of the parent that made at least one such call
	place   float64 // sum over those of the position among the parent's calls
	own     moments // of the visits' own time, in seconds
	rt      moments
	calls   map[string]*callNode
	overlap map[[2]string]*pairing // of two services called here, in the order of their names
}

type moments struct{ n, sum, squares float64 }

func (m *moments) add(v float64) { m.n++; m.sum += v; m.squares += v * v }

func (m *moments) merge(o moments) { m.n += o.n; m.sum += o.sum; m.squares += o.squares }

func (m moments) mean() float64 {
	if m.n == 0 {
		return 0
	}
	return m.sum / m.n
}

// pairing counts the visits that called both services, and those in which the
// two overlapped in time.
type pairing struct{ both, overlapping float64 }

func newCallTrees() *callTrees { return &callTrees{kinds: map[string]*callNode{}} }

func newCallNode(service string) *callNode {
	return &callNode{service: service, calls: map[string]*callNode{}, overlap: map[[2]string]*pairing{}}
}

func (t *callTrees) add(root *visit) error {
	if t.nodes > maxCallNodes {
		return errTooLarge
	}
	// A kind may be entered at several services; each entry then becomes a kind.
	kind := root.kind
	node := t.kinds[kind]
	if node != nil && node.service != root.service {
		kind += "@" + root.service
		node = t.kinds[kind]
	}
	if node == nil {
		node = newCallNode(root.service)
		t.kinds[kind] = node
		t.nodes++
	}
	t.addVisit(node, root)
	return nil
}

func (t *callTrees) addVisit(node *callNode, v *visit) {
	node.visits++
	if v.timed {
		own, rt := v.own(), v.rt
		if rt == 0 {
			own, rt = underMillisecond, underMillisecond
		}
		node.own.add(own.Seconds())
		node.rt.add(rt.Seconds())
	}
	groups := groupCalls(v.calls)
	for i, g := range groups {
		child := node.calls[g.service]
		if child == nil {
			child = newCallNode(g.service)
			node.calls[g.service] = child
			t.nodes++
		}
		child.callers++
		child.place += float64(i)
		for _, c := range g.visits {
			t.addVisit(child, c)
		}
		for _, other := range groups[:i] {
			key := [2]string{min(g.service, other.service), max(g.service, other.service)}
			p := node.overlap[key]
			if p == nil {
				p = &pairing{}
				node.overlap[key] = p
			}
			p.both++
			if g.from < other.to && other.from < g.to {
				p.overlapping++
			}
		}
	}
}

// callGroup is the calls of one visit to one service.
type callGroup struct {
	service  string
	from, to int64
	visits   []*visit
}

func groupCalls(calls []*visit) []callGroup {
	var groups []callGroup
	for _, c := range calls {
		i := slices.IndexFunc(groups, func(g callGroup) bool { return g.service == c.service })
		if i < 0 {
			i = len(groups)
			groups = append(groups, callGroup{service: c.service, from: c.at, to: c.at})
		}
		groups[i].from = min(groups[i].from, c.at)
		groups[i].to = max(groups[i].to, c.at+int64(c.rt))
		groups[i].visits = append(groups[i].visits, c)
	}
	return groups
}

// sorted returns the calls of a node by their mean position, then by name.
func (n *callNode) sorted() []*callNode {
	return slices.SortedFunc(maps.Values(n.calls), func(a, b *callNode) int {
		return cmp.Or(cmp.Compare(a.place/a.callers, b.place/b.callers), cmp.Compare(a.service, b.service))
	})
}

// prune removes calls that a request of the kind makes less often than least,
// and returns how many.
func (n *callNode) prune(requests, least float64) int {
	removed := 0
	for name, c := range n.calls {
		if c.visits < least*requests {
			delete(n.calls, name)
			removed++
			continue
		}
		removed += c.prune(requests, least)
	}
	return removed
}

// edge is that one service calls another.
type edge struct{ from, to string }

func (n *callNode) countEdges(counts map[edge]float64) {
	for _, c := range n.calls {
		counts[edge{n.service, c.service}] += c.visits
		c.countEdges(counts)
	}
}

// withoutCycles returns the edges to keep: the most used first, each unless it
// would close a cycle among those kept before it.
func withoutCycles(counts map[edge]float64) map[edge]bool {
	order := slices.SortedFunc(maps.Keys(counts), func(a, b edge) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	})
	kept := map[edge]bool{}
	next := map[string][]string{}
	for _, e := range order {
		if e.from == e.to || reaches(next, e.to, e.from) {
			continue
		}
		kept[e] = true
		next[e.from] = append(next[e.from], e.to)
	}
	return kept
}

func reaches(next map[string][]string, from, to string) bool {
	seen := map[string]bool{from: true}
	stack := []string{from}
	for len(stack) > 0 {
		s := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if s == to {
			return true
		}
		for _, n := range next[s] {
			if !seen[n] {
				seen[n] = true
				stack = append(stack, n)
			}
		}
	}
	return false
}

// fold merges calls over edges that are not kept into their caller: their own time and their
// calls become the caller's. It returns how many were folded. The calls of a folded call may
// need folding from their new place, over an edge that no trace had; such an edge is folded too
// unless it is kept.
func (n *callNode) fold(kept map[edge]bool) int {
	folded := 0
	for again := true; again; {
		again = false
		for _, c := range n.sorted() {
			if kept[edge{n.service, c.service}] {
				continue
			}
			delete(n.calls, c.service)
			n.own.sum += c.own.sum
			if n.own.n == 0 {
				n.own.n = n.visits
			}
			for _, inner := range c.sorted() {
				n.adopt(inner)
			}
			folded++
			again = true
		}
	}
	for _, c := range n.calls {
		folded += c.fold(kept)
	}
	return folded
}

// adopt attaches a node as a call of this one.
func (n *callNode) adopt(c *callNode) {
	c.callers = min(c.callers, n.visits)
	own := n.calls[c.service]
	if own == nil {
		n.calls[c.service] = c
		return
	}
	own.visits += c.visits
	own.callers = min(own.callers+c.callers, n.visits)
	own.place += c.place
	own.own.merge(c.own)
	own.rt.merge(c.rt)
	for _, inner := range c.sorted() {
		own.adopt(inner)
	}
}
