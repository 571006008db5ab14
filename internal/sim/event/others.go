package event

import (
	"math"
	"math/rand/v2"

	"github.com/loadline/loadline/internal/sim"
)

// others are the neighbours and DaemonSets of one node: servers whose requests arrive at random
// and need a random amount of CPU on one thread each (bursts). Arrivals are Poisson, so that on
// an empty node the number of bursts at work is Poisson with the wanted cores as its mean. On a
// crowded node bursts last longer and are more; the work is not lost, up to a backlog of one
// second, after which clients would have given up.
//
// The CPU time of a burst is exponential. It has no memory, so the number at work is the whole
// state, and one timer serves both the next arrival and the next end.
type others struct {
	want   float64 // cores: the bursts at work; steady others: the mean
	weight float64 // of those at work
	got    float64 // cores
	at     int64

	rate     float64 // bursts per ns; 0 = steady
	bursts   int
	toArrive float64 // bursts expected until the next one arrives
	toFinish float64 // CPU ns until the next one is done

	request float64 // cores, of all their pods
	pods    float64
	most    int // bursts at work

	arrivals, sizes *rand.Rand
}

// maxBacklog is the work of the others that may wait, as time of the whole node; bursts that
// come on top are refused.
const maxBacklog = 1e9 // ns

// changeOthers sets what the others of a node want from now on.
func (e *Engine) changeOthers(i int, want, request float64) {
	n := &e.nodes[i]
	e.syncOthers(n)
	o := &n.others
	cfg := e.cfg.Cluster.Neighbours
	o.request, o.pods = request, max(1, math.Round(cfg.PodsPerCore*n.cores))
	o.most = int(max(1, maxBacklog*n.cores/float64(cfg.Burst)))
	switch {
	case want <= 0:
		o.rate, o.bursts, o.want = 0, 0, 0
	case cfg.Burst < 0:
		o.rate, o.want = 0, want
	default:
		if o.rate == 0 { // they have just come: start where they would be on an empty node
			if o.arrivals == nil {
				o.arrivals = sim.Stream(e.cfg.Seed, sim.StreamNeighbours, 2*uint64(i))
				o.sizes = sim.Stream(e.cfg.Seed, sim.StreamNeighbours, 2*uint64(i)+1)
			}
			o.bursts = int(math.Round(want))
			o.toArrive = o.arrivals.ExpFloat64()
			o.toFinish = o.sizes.ExpFloat64() * float64(cfg.Burst)
		}
		o.rate = want / float64(cfg.Burst)
		o.want = float64(o.bursts)
	}
	o.weigh()
}

// weigh sets the weight of the others at work. A pod that has no burst does not compete, and
// each burst is one of another pod while there are as many.
func (o *others) weigh() {
	busy := o.pods
	if o.rate > 0 {
		busy = min(o.want, o.pods)
	}
	o.weight = max(o.request/o.pods, minWeight) * busy
}

// burstEvent handles the timer of a node's others: a burst arrives or ends.
func (e *Engine) burstEvent(i int32) {
	n := &e.nodes[i]
	e.syncOthers(n)
	o := &n.others
	if o.toFinish <= doneEps && o.bursts > 0 {
		e.events++
		o.bursts--
		o.toFinish = o.sizes.ExpFloat64() * float64(e.cfg.Cluster.Neighbours.Burst)
	}
	if o.toArrive <= doneEps*o.rate {
		e.events++
		o.toArrive = o.arrivals.ExpFloat64()
		if o.bursts < o.most {
			o.bursts++
		}
	}
	o.want = float64(o.bursts)
	o.weigh()
	if n.fits() && !n.crowded {
		e.grantOthers(n, o.want)
		return
	}
	e.shareNode(n)
}

// syncOthers advances the others of a node to now.
func (e *Engine) syncOthers(n *node) {
	o := &n.others
	dt := float64(e.now - o.at)
	o.at = e.now
	used := o.got * dt
	n.cpuNs += used
	o.toFinish -= used
	o.toArrive -= o.rate * dt
}

// grantOthers gives the others their cores and sets their timer. They must have been synced.
func (e *Engine) grantOthers(n *node, cores float64) {
	o := &n.others
	o.got = cores
	if o.rate == 0 {
		e.queue.set(nodeTimer, n.id, never)
		return
	}
	at := e.in(o.toArrive, o.rate)
	if o.bursts > 0 {
		at = min(at, e.in(o.toFinish, cores))
	}
	e.queue.set(nodeTimer, n.id, at)
}
