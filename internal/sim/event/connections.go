package event

import (
	"math/rand/v2"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
)

// connections are what callers keep open under keep-alive routing: for each calling replica, some
// to each service that it calls, and for each kind of request some of all its clients together.
// A connection carries any number of requests at once, as HTTP/2 does.
type connections struct {
	loadline.KeepAlive
	firstEdge []int32        // by service: index of its first call in the sorted list of edges
	callees   []int32        // by service: how many services it calls
	users     [][]connection // by kind
	replicas  []callerPool   // by pod slot
}

// callerPool is the connections of one replica, those to its first callee first.
type callerPool struct {
	podID, since int64
	open         []connection
}

type connection struct {
	opened, expires int64
	slot            int32 // none = not opened yet
}

func newConnections(app *loadline.App, edges []sim.Edge) *connections {
	if app.Routing != loadline.RouteKeepAlive {
		return nil
	}
	k := &connections{
		KeepAlive: app.KeepAlive, firstEdge: make([]int32, len(app.Services)), callees: make([]int32, len(app.Services)),
		users: make([][]connection, len(app.Kinds)),
	}
	for i := range k.users {
		k.users[i] = closed(nil, app.KeepAlive.Users)
	}
	for i, edge := range edges {
		if k.callees[edge.From] == 0 {
			k.firstEdge[edge.From] = int32(i)
		}
		k.callees[edge.From]++
	}
	return k
}

// closed returns n connections that are not open yet.
func closed(list []connection, n int) []connection {
	list = list[:0]
	for range n {
		list = append(list, connection{slot: none})
	}
	return list
}

// connect picks the replica of a visit: that of one of its caller's connections.
func (e *Engine) connect(i int32) int32 {
	v := &e.visits[i]
	c := &e.calls[v.call]
	s := &e.services[c.service]
	if len(s.ready) == 0 {
		return none
	}
	pool := e.poolOf(v, c)
	k := &pool[s.routing.IntN(len(pool))]
	if !e.usable(k, c.service) {
		e.open(k, s)
	}
	return k.slot
}

// poolOf is the connections of a visit's caller to its service.
func (e *Engine) poolOf(v *visit, c *call) []connection {
	k := e.connections
	if v.parent == none {
		return k.users[c.kind]
	}
	slot := e.visits[v.parent].slot
	for int(slot) >= len(k.replicas) {
		k.replicas = append(k.replicas, callerPool{})
	}
	p, r := &k.replicas[slot], &e.replicas[slot]
	if p.podID != r.podID || p.since != r.readyAt { // another pod, or its container has restarted
		p.podID, p.since = r.podID, r.readyAt
		p.open = closed(p.open, int(k.callees[r.service])*k.Connections)
	}
	from := int(c.edge-k.firstEdge[r.service]) * k.Connections
	return p.open[from : from+k.Connections]
}

// usable reports whether a connection is open. A draining replica closes its connections.
func (e *Engine) usable(k *connection, service int32) bool {
	if k.slot == none || e.now >= k.expires {
		return false
	}
	r := &e.replicas[k.slot]
	return r.serving && !r.draining && r.service == service && r.readyAt <= k.opened
}

// open connects to a ready replica. Lifetimes vary by a tenth, as gRPC's and Envoy's do; the
// first connections of a caller have a part of it behind them, as they would not all be of the
// same age.
func (e *Engine) open(k *connection, s *service) {
	first := k.slot == none
	k.slot = s.ready[s.routing.IntN(len(s.ready))]
	k.opened, k.expires = e.now, never
	if life := float64(e.connections.Lifetime); life > 0 {
		k.expires = e.now + int64(life*lifetimeFactor(s.routing, first))
	}
}

func lifetimeFactor(rng *rand.Rand, first bool) float64 {
	if first {
		return rng.Float64()
	}
	return 0.9 + 0.2*rng.Float64()
}
