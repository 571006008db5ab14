package fluid

import (
	"math"

	"github.com/loadline/loadline/internal/sim"
)

// clump describes how visits to a service arrive in batches: a request that calls it ten times
// in a row brings the work of ten visits within one or two quota periods, and meets the quota
// as one visit of ten times the demand would.
type clump struct {
	size float64 // mean number of visits that arrive together
	cv   float64 // of a clump's CPU time
}

// alone is a service whose visits arrive one by one.
var alone = clump{size: 1}

// quantum is how finely clumps are distinguished: a curve belongs to one.
const quantum = 20

func (c clump) rounded() (c2 clump, size, cv int) {
	size, cv = int(math.Round(math.Log(c.size)*quantum)), int(math.Round(c.cv*quantum))
	return clump{math.Exp(float64(size) / quantum), float64(cv) / quantum}, size, cv
}

// setClumps computes the clumps of every service from the mix of requests, if the mix has
// changed.
func (e *Engine) setClumps() {
	if e.cfg.CPU != sim.Quota || !e.mixChanged() && !e.replicasChanged {
		return
	}
	e.replicasChanged = false
	clear(e.clumpSums)
	for k := range e.kinds {
		e.addClumps(k)
	}
	for i := range e.services {
		s := &e.services[i]
		if next := e.clumpSums[i].clump(s.work.cpuCV, s.ready); next != s.clump {
			s.clump = next
			for c := range s.cohorts {
				s.cohorts[c].curve = e.curveFor(s, s.cohorts[c].limit, s.cohorts[c].quota)
			}
		}
	}
}

// among is the clump that one of several replicas gets: each visit goes to one of them.
func (c clump) among(replicas int) clump {
	if replicas > 1 {
		c.size = 1 + (c.size-1)/float64(replicas)
	}
	return c
}

// clumpSum adds up clumps: their number, their visits and the squares of these.
type clumpSum struct{ clumps, visits, squares float64 }

// addClumps adds those of one kind. Repetitions of one call always stay together; other visits
// of a request to the same service do so as far as the request ends within a period.
func (e *Engine) addClumps(k int) {
	rate, mine := e.kinds[k].rate, e.perRequest[k]
	together := min(1, sim.QuotaPeriod.Seconds()/max(e.kinds[k].unhindered, 1e-9))
	for i := range mine {
		e.clumpSums[i].add(&mine[i], rate, together)
	}
}

// add adds the visits of requests of one kind. together is how far visits that are no
// repetitions stay together.
func (c *clumpSum) add(v *visitCount, rate, together float64) {
	if v.visits <= 0 {
		return
	}
	n := v.visits / min(v.reach, 1)
	n = v.row + max(n-v.row, 0)*together
	clumps := rate * v.visits / n
	c.clumps += clumps
	c.visits += clumps * n
	c.squares += clumps * n * n
}

// clump is the mean clump, of visits with a variation of their CPU time, that one of several
// replicas gets.
func (c *clumpSum) clump(cpuCV float64, replicas int) clump {
	next := alone
	if c.clumps > 0 && c.visits > 1.1*c.clumps {
		n, n2 := c.visits/c.clumps, c.squares/c.clumps
		next = clump{n, math.Sqrt(max((n2+n*cpuCV*cpuCV)/(n*n)-1, 0))}.among(replicas)
	}
	next, _, _ = next.rounded()
	return next
}

// visitCount describes how requests of one kind visit one service.
type visitCount struct {
	visits float64 // mean
	reach  float64 // probability of at least one
	row    float64 // longest sequence of repetitions
}

// countVisits fills perRequest, and what else depends on the probabilities of calls and the
// work of services.
func (e *Engine) countVisits() {
	for k := range e.kinds {
		clear(e.perRequest[k])
		e.kinds[k].unhindered = e.countBelow(k, e.p.roots[k], 1)
		e.kinds[k].lastRate = -1
		e.kinds[k].waits = e.waitOf(e.p.roots[k])
	}
}

func (e *Engine) countBelow(k int, n int32, visits float64) (seconds float64) {
	at := &e.p.nodes[n]
	v := &e.perRequest[k][at.service]
	v.visits += visits
	v.reach = max(v.reach, visits/at.times)
	if visits > 0 {
		v.row = max(v.row, at.times)
	}
	w := &e.services[at.service].work
	seconds = visits * at.work * (w.cpu + w.wait)
	for _, kid := range at.kids {
		seconds += e.countBelow(k, kid, visits*e.nodeProb[kid])
	}
	return seconds
}

// mixChanged reports whether the shares of the kinds have moved by more than a few
// per cent since clumps were set.
func (e *Engine) mixChanged() bool {
	now, then := 0.0, 0.0
	for k := range e.kinds {
		if e.kinds[k].lastRate < 0 {
			then = 0
			break
		}
		now += e.kinds[k].rate
		then += e.kinds[k].lastRate
	}
	changed := then == 0
	for k := range e.kinds {
		if !changed && now > 0 && math.Abs(e.kinds[k].rate/now-e.kinds[k].lastRate/then) > 0.03 {
			changed = true
		}
	}
	if changed {
		for k := range e.kinds {
			e.kinds[k].lastRate = e.kinds[k].rate
		}
	}
	return changed
}
