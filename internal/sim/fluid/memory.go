package fluid

import (
	"math"

	"github.com/loadline/loadline/internal/sim"
)

// checkMemory kills replicas whose visits exceed their memory limit, at the rate at which their
// number would pass it: the rate of arrivals times the probability that one more is too many.
// The expected kills add up until they reach a random threshold.
func (e *Engine) checkMemory(h float64) {
	for i := range e.services {
		s := &e.services[i]
		if s.perVisit <= 0 {
			continue
		}
		limit := leastMemory(e.cp, i)
		if math.IsInf(limit, 1) {
			continue
		}
		most := math.Floor((limit - s.base) / s.perVisit)
		for c := range s.cohorts {
			s.doom += s.cohorts[c].exceeds(most) * h * float64(s.cohorts[c].pods)
			if s.doom < s.fate {
				continue
			}
			if slot := e.smallest(i, c, limit); slot >= 0 {
				s.doom, s.fate = 0, e.fate.ExpFloat64()
				e.cp.Killed(slot, e.now)
				e.nextControl = e.cp.Next()
				break
			}
		}
	}
}

// exceeds is the rate, per replica and second, at which the visits in a replica become more
// than so many. Those in calls are Poisson, those on the CPU nearly geometric: the sum is taken
// as negative binomial. A backlog is as large as it is.
func (c *cohort) exceeds(most float64) float64 {
	const now = 1e9
	if most < 0 {
		return now
	}
	if c.pods == 0 || c.in <= 0 {
		return 0
	}
	usual := max(c.crowd-c.extra, 0)
	mean := usual + c.calling
	most -= c.extra
	if most < mean {
		return now
	}
	waiting := 1.0 // share of the visits on the CPU that wait for others, as for one core
	if c.limit > 1 {
		waiting = math.Pow(min(c.load, 1), math.Sqrt(2*(c.limit+1))-1)
	}
	vari := mean + usual*usual*waiting
	if most > mean+9*math.Sqrt(vari)+3 {
		return 0
	}
	// A number that has passed a level passes it again and again before it falls back; the first
	// time kills.
	first := math.Sqrt(max(1-c.load, 0.01))
	return c.in * first * probability(mean, vari, math.Floor(most))
}

// probability of exactly n, by the negative binomial distribution of a mean and a variance.
func probability(mean, vari, n float64) float64 {
	if mean <= 0 {
		return 0
	}
	over, _ := math.Lgamma(n + 1)
	if vari <= 1.001*mean { // Poisson
		return math.Exp(n*math.Log(mean) - mean - over)
	}
	r := mean * mean / (vari - mean)
	a, _ := math.Lgamma(n + r)
	b, _ := math.Lgamma(r)
	return math.Exp(a - b - over + r*math.Log(r/(r+mean)) + n*math.Log(mean/(r+mean)))
}

// smallest returns a pod of a cohort with the given memory limit, or -1.
func (e *Engine) smallest(service, at int, limit float64) int {
	for _, slot := range e.cp.Slots(service) {
		info := e.cp.Pod(slot)
		if slot < len(e.pods) && e.pods[slot].cohort == at && e.pods[slot].id == info.ID && float64(info.Size.MemoryLimit) == limit {
			return slot
		}
	}
	return -1
}

// leastMemory is the smallest memory limit of a service's pods, in bytes.
func leastMemory(cp *sim.ControlPlane, service int) float64 {
	least := math.Inf(1)
	for _, slot := range cp.Slots(service) {
		if limit := cp.Pod(slot).Size.MemoryLimit; limit > 0 {
			least = min(least, float64(limit))
		}
	}
	return least
}
