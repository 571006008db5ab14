package realapp

import "sync/atomic"

// gate admits visits to the workers of a replica, in their order.
type gate struct {
	workers chan struct{}
	backlog int64

	waiting, inside atomic.Int64
}

func newGate(workers, backlog int) *gate {
	return &gate{workers: make(chan struct{}, workers), backlog: int64(backlog)}
}

// enter takes a worker, and waits for one in the backlog if it has room. It reports how many visits
// are at work, this one included, and false if there was no room.
func (g *gate) enter() (atWork int, ok bool) {
	select {
	case g.workers <- struct{}{}:
	default:
		if g.waiting.Add(1) > g.backlog {
			g.waiting.Add(-1)
			return 0, false
		}
		g.workers <- struct{}{}
		g.waiting.Add(-1)
	}
	g.inside.Add(1)
	return len(g.workers), true
}

func (g *gate) leave() {
	g.inside.Add(-1)
	<-g.workers
}
