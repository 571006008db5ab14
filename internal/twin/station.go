package twin

import (
	"math"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/history"
)

// station is the load-latency profile of a service, in the simulator's terms: the variation of
// its CPU time, its waiting time, and its workers. The knee follows from queueing.
type station struct {
	guess
	backlog int
	fewest  int     // workers that are consistent with the history; 0 = their number is known
	largest int     // likewise
	misfit  float64 // mean relative error at the points; NaN = nothing to fit to
	points  []point
	fitted  []answer // at the points
}

// manyWorkers is a service without a limit of workers.
const manyWorkers = 1000

// fitStation finds the profile with which the simulator comes closest to the measured response
// times.
func fitStation(p *past, g *graph, i int, m *model) station {
	name := p.tracks[i].name
	field := "services." + name
	t := &trial{p: p, g: g, service: i, m: m, callees: g.callees(i)}
	for k := range g.kinds {
		t.clumped = t.clumped || g.kinds[k].visits[i] > 1.1
	}
	most := maxPoints
	if len(t.callees) > 0 || t.clumped || m.demand.work != nil {
		most = fewPoints
	}
	t.points = p.points(g, i, m, most)
	s := station{guess: guess{cpuCV: 1, waitCV: 1, workers: manyWorkers}, misfit: math.NaN(), points: t.points}
	known, least := p.tracks[i].workers(p, m)
	if known > 0 {
		s.workers = known
	}
	if len(t.points) == 0 {
		m.notes.warn("service %s: no response times to fit: its load-latency profile is assumed", name)
		m.notes.assume(field+".cpu.cv", s.cpuCV, "no response times were measured")
		m.notes.assume(field+".wait", 0, "no response times were measured")
	} else {
		s.search(t, known, least)
		s.remark(t, name, m)
	}
	if known == 0 {
		s.boundWorkers(t, least)
	}
	if known == 0 && s.workers == manyWorkers {
		m.notes.assume(field+".workers", s.workers, "no request waited for a worker")
	}
	s.backlog = max(100, s.workers)
	m.notes.assume(field+".backlog", s.backlog, "metrics do not tell when a service refuses")
	return s
}

// workers of a replica, if requests were observed to wait for one: the number in service
// meanwhile. Otherwise 0, and the most that were in service at once.
func (t *track) workers(p *past, m *model) (known, least int) {
	var at []float64
	most := 0.0
	for i := range t.windows {
		w := &t.windows[i]
		if w.from < m.demand.from || !w.even || math.IsNaN(w.inside) {
			continue
		}
		busy := w.inside / w.ready
		if w.queue > 0 {
			busy -= w.queue / w.ready
		}
		most = max(most, busy)
		if w.queue/w.ready > 0.5*busy {
			at = append(at, busy)
		}
	}
	if len(at) >= pointLeast {
		// In a window that is not saturated throughout, fewer than all are busy.
		slices.Sort(at)
		return max(1, int(math.Round(quantile(at, 0.95)))), 0
	}
	return 0, max(1, int(most))
}

// goodFit is a misfit that needs no explanation.
const goodFit = 0.02

// search finds the best guess; then, if it is not good, whether few workers or parallel calls
// explain more.
func (s *station) search(t *trial, known, least int) {
	first := t.start()
	if known > 0 {
		first.workers = known
	}
	best := math.Inf(1)
	try := func(g guess) {
		// An unusual explanation must be clearly better.
		if found, off := t.descend(g); off < best-0.01 {
			s.guess, best = found, off
		}
	}
	try(first)
	if t.overlaps() {
		side := first
		side.parallel = true
		try(side)
	}
	if known == 0 && best > goodFit && t.p.tracks[t.service].series[history.Queue].Present() == 0 {
		// Without a count of waiting requests, the shape of the profile must show it. More
		// workers than are ever busy change nothing.
		g := s.guess
		for n := 1; n <= 3*t.mostInside()+1; n *= 2 {
			if n >= least {
				g.workers = n
				try(g)
			}
		}
	}
	s.misfit = best
	s.fitted = t.run(s.guess)
}

// likeFit is how much worse a number of workers may fit than the best and still be as likely.
const likeFit = 0.01

// boundWorkers finds the fewest and the most workers that explain the response times as well as
// the fitted number: fewer than the requests that were in a replica at once are impossible, and
// too few would have made requests wait.
func (s *station) boundWorkers(t *trial, least int) {
	s.fewest, s.largest = max(least, 1), s.workers
	if len(t.points) == 0 {
		return
	}
	g := s.guess
	fits := func(n int) bool {
		g.workers = n
		return t.misfit(g) <= s.misfit+likeFit
	}
	for s.fewest < s.workers && !fits(s.fewest) {
		s.fewest = min(s.fewest+max(1, s.fewest/4), s.workers)
	}
	for n := 2 * s.workers; n <= manyWorkers; n *= 2 {
		if !fits(n) {
			return
		}
		s.largest = n
	}
	s.largest = manyWorkers
}

// mostInside is the mean number of requests in a replica at its busiest point (Little).
func (t *trial) mostInside() int {
	most := 0.0
	for i := range t.points {
		if v := t.points[i].rate * t.points[i].mean; v > most {
			most = v
		}
	}
	return int(math.Ceil(most))
}

// start is the initial guess: the rest of the mean at low load is waiting.
func (t *trial) start() guess {
	pt := &t.points[0]
	alone := t.m.demand.perVisit
	calls := t.inCalls(pt)
	wait := pt.mean - alone/(1-min(pt.load, 0.9)) - calls
	if math.IsNaN(wait) {
		wait = 0
	}
	return guess{cpuCV: 1, wait: max(wait, 0), waitCV: 1, workers: manyWorkers}
}

// inCalls is the time of a visit in sequential calls.
func (t *trial) inCalls(pt *point) float64 {
	sum, rate := 0.0, 0.0
	for k := range t.g.kinds {
		if !(pt.kinds[k] > 0) {
			continue
		}
		rate += pt.kinds[k]
		for _, c := range t.g.kinds[k].calls[t.service] {
			sum += pt.kinds[k] * c.ratio * pt.callees[indexOf(t.callees, c.service)].whole()
		}
	}
	return ratio(sum, rate)
}

// overlaps reports whether the calls cannot all have been sequential: together they take longer
// than the whole visit.
func (t *trial) overlaps() bool {
	if len(t.callees) == 1 && t.g.bulky(t.service) {
		return false // the tree could not represent it
	}
	n := 0
	for i := range t.points {
		pt := &t.points[i]
		if t.inCalls(pt)+t.m.demand.perVisit > 1.02*pt.mean {
			n++
		}
	}
	return 2*n > len(t.points)
}

// descend tries steps in one parameter after the other, halving them as they stop helping.
func (t *trial) descend(g guess) (guess, float64) {
	best := t.misfit(g)
	base := t.points[0].mean
	if math.IsNaN(base) {
		base = t.points[0].quantiles[3] / 3
	}
	moves := []func(g *guess, by float64){
		func(g *guess, by float64) { g.cpuCV = min(max(g.cpuCV*math.Exp(by), 0.05), 3.5) },
		func(g *guess, by float64) { g.wait = max(g.wait+0.3*by*base, 0) },
		func(g *guess, by float64) { g.waitCV = min(max(g.waitCV*math.Exp(by), 0.05), 4) },
	}
	for step := 0.6; step > 0.02; {
		better := false
		for m, move := range moves {
			if m == 2 && g.wait < 0.01*base {
				continue // a constant has no variation to fit
			}
			for _, by := range []float64{step, -step} {
				next := g
				move(&next, by)
				if next == g {
					continue
				}
				if off := t.misfit(next); off < best-1e-6 {
					g, best, better = next, off, true
					break
				}
			}
		}
		if !better {
			step /= 2
		}
	}
	return g, best
}

// remark adds warnings on the reliability of the profile.
func (s *station) remark(t *trial, name string, m *model) {
	top := t.points[len(t.points)-1].load
	if top < kneeLoad {
		m.notes.warn("service %s was never near its limits: at most %.0f %% of its CPU limit was in use; the knee of its "+
			"load-latency profile is that of queueing theory, not a measured one. A load test up to its limit would show it", name,
			100*top)
	}
	if m.size.CPULimit == 0 {
		m.notes.warn("service %s has no CPU limit: its knee depends on the nodes, which are not in the history", name)
	}
	if s.parallel {
		m.notes.warn("service %s: its calls take longer together than the whole visit, so they are assumed to be parallel", name)
	}
	if s.misfit > 0.25 && t.clumped {
		m.notes.warn("service %s: the error of the fluid engine is %.0f %% on average where the service was fitted: requests visit "+
			"it several times in a row, for which it overestimates latency under a CPU limit; rely on the scores of the event engine",
			name, 100*s.misfit)
	} else if s.misfit > 0.25 {
		m.notes.warn("service %s: the error of the simulator's profile is %.0f %% on average where it was fitted: something other "+
			"than queueing for CPU and workers slows the service down", name, 100*s.misfit)
	}
	if s.wait == 0 {
		s.waitCV = 0
	}
}

// service returns the station's distributions.
func (s *station) service(m *model) (cpu, wait loadline.Dist) {
	cpu = loadline.Dist{Mean: max(seconds(m.demand.perVisit).Round(time.Microsecond/10), time.Microsecond/10), CV: round(s.cpuCV, 3)}
	wait = loadline.Dist{Mean: seconds(s.wait).Round(time.Microsecond), CV: round(s.waitCV, 3)}
	if wait.Mean == 0 {
		wait.CV = 0
	}
	return cpu, wait
}
