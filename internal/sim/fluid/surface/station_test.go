package surface

import (
	"math"
	"math/rand/v2"
)

// station is one replica with Poisson arrivals and unbounded workers. The mean
// demand is the unit of time.
type station struct {
	cores, cv, load float64
	period          float64 // of the quota; 0 = the limit is a speed
}

// running is a station at work. Its jobs advance together: v is the CPU time that
// each has got, so a job that arrives at v with demand d is done at v+d.
type running struct {
	station
	jobs      []job // heap by finish
	now, v    float64
	budget    float64
	periodEnd float64
	throttled bool
	sojourns  tally

	measuring        bool
	active, cutShort float64 // periods
}

type job struct{ finish, arrived float64 }

// measure simulates until so many visits have been seen, divided by the free
// share of the station: correlation grows as it fills up.
func (s station) measure(seed, index uint64, visits float64) Cell {
	rng := rand.New(rand.NewPCG(seed, index))
	visits /= 1 - s.load
	sigma2 := math.Log1p(s.cv * s.cv)
	mu, sigma := -sigma2/2, math.Sqrt(sigma2)
	r := &running{station: s}
	rate := s.load * s.cores
	total, warm := int(visits*1.1), int(visits*0.1)
	arrival := rng.ExpFloat64() / rate
	for n := 0; n < total; {
		if r.step(arrival) {
			r.arrive(math.Exp(mu + sigma*rng.NormFloat64()))
			arrival += rng.ExpFloat64() / rate
			if n++; n == warm {
				r.measuring = true
			}
		}
	}
	cell := Cell{Parts: r.sojourns.parts()}
	switch {
	case s.period > 0:
		cell.Throttled = r.cutShort / max(r.active, 1)
	case s.cores == 1:
		// The mean is known, so what chance has done to it can be undone.
		known := 1 / (1 - s.load)
		for k := range cell.Parts {
			cell.Parts[k] *= known / r.sojourns.mean()
		}
	}
	return cell
}

// step moves to the next event and reports whether that is the arrival. The event
// sets what it is about exactly, so that rounding can never make it recur.
func (r *running) step(arrival float64) bool {
	n := float64(len(r.jobs))
	at, rate, what := arrival, 0.0, arrives
	switch {
	case r.throttled:
		at, what = earlier(at, what, r.periodEnd, periodEnds)
	case n > 0:
		rate = 1
		if r.period == 0 {
			rate = min(1, r.cores/n)
		}
		if r.period > 0 {
			at, what = earlier(at, what, r.periodEnd, periodEnds)
			at, what = earlier(at, what, r.now+max(r.budget, 0)/n, exhausted)
		}
		at, what = earlier(at, what, r.now+max(r.jobs[0].finish-r.v, 0)/rate, jobDone)
	}
	dt := max(at-r.now, 0)
	r.now = at
	r.v += rate * dt
	r.budget -= rate * n * dt
	switch what {
	case arrives:
		return true
	case jobDone:
		j := r.pop()
		r.v = j.finish
		if r.measuring {
			r.sojourns.add(r.now - j.arrived)
		}
	case exhausted:
		r.throttled = true
		if r.measuring {
			r.cutShort++
		}
	case periodEnds:
		r.throttled = false
		if len(r.jobs) > 0 {
			r.open(r.periodEnd + r.period)
		}
	}
	return false
}

type event int

const (
	arrives event = iota
	jobDone
	exhausted
	periodEnds
)

func earlier(at float64, what event, other float64, otherWhat event) (float64, event) {
	if other <= at {
		return other, otherWhat
	}
	return at, what
}

// open gives the quota of the period that ends then.
func (r *running) open(end float64) {
	r.periodEnd = end
	r.budget = r.cores * r.period
	if r.measuring {
		r.active++
	}
}

func (r *running) arrive(demand float64) {
	if len(r.jobs) == 0 {
		r.v = 0
		if r.period > 0 && r.now >= r.periodEnd {
			r.open((math.Floor(r.now/r.period) + 1) * r.period)
		}
	}
	r.push(job{finish: r.v + demand, arrived: r.now})
}

func (r *running) push(j job) {
	r.jobs = append(r.jobs, j)
	i := len(r.jobs) - 1
	for i > 0 {
		p := (i - 1) / 2
		if r.jobs[p].finish <= j.finish {
			break
		}
		r.jobs[i] = r.jobs[p]
		i = p
	}
	r.jobs[i] = j
}

func (r *running) pop() job {
	top := r.jobs[0]
	last := len(r.jobs) - 1
	j := r.jobs[last]
	r.jobs = r.jobs[:last]
	i := 0
	for {
		c := 2*i + 1
		if c >= last {
			break
		}
		if c+1 < last && r.jobs[c+1].finish < r.jobs[c].finish {
			c++
		}
		if r.jobs[c].finish >= j.finish {
			break
		}
		r.jobs[i] = r.jobs[c]
		i = c
	}
	if last > 0 {
		r.jobs[i] = j
	}
	return top
}
