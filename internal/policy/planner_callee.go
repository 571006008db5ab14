package policy

import (
	"math"
	"strconv"
	"time"

	"github.com/loadline/loadline"
)

// calleeLimit is what is known of a service that others call and that cannot grow, such as a
// database of one replica: how much dearer its visits become with each other visit at work in it,
// and so how many at once leave it the capacity for the load. Replicas of its callers beyond that
// only send it more at once, which makes it slower: a load that it bears with few visits at once may
// be more than it bears with many, and then the queue does not drain by itself.
//
//	cores = (cost + slope * visits at work in a pod) * rate
//	most at once = (room * cores of a pod / rate of a pod - cost) / slope
type calleeLimit struct {
	model  cpuModel // cost, and the slope in place of idle CPU
	misfit average  // square of the error of a reading, relative to what the model expects
	most   float64  // visits at once of the service that it bears; +Inf = no limit is known
	slow   bool     // its own time of a visit is slowFrom times the usual
}

// callers are the calls of an application by its trees.
type callers struct {
	of     []calleeLimit
	calls  [][]int     // by caller: the services that it calls
	shares [][]float64 // by caller, likewise: the share of the callee's calls that are its own
}

const (
	// calleeRoom is the share of a callee's CPU up to which it is taken to keep up.
	calleeRoom = 0.85
	// surePart is how many standard deviations the slope is lowered by before it is used: one that is
	// not established is 0.
	surePart = 2
	// slopeDoubt is the initial uncertainty of the slope, relative to the cost.
	slopeDoubt = 0.05
	// eased is by how much the limit may rise from one decision to the next, whatever is measured:
	// it doubles in 17 minutes at a period of 15 s.
	eased = 1.01
	// busyCores is how many visits at once a core is given at least: fewer would leave it idle while
	// visits wait for something else than CPU.
	busyCores = 2
	// unlimitedWorkers is a service without a limit of workers: its replicas do not limit how many
	// visits it sends at once. As the twin's.
	unlimitedWorkers = 1000
)

func newCallers(app *loadline.App, costs []float64) callers {
	n := len(app.Services)
	c := callers{of: make([]calleeLimit, n), calls: make([][]int, n), shares: make([][]float64, n)}
	visits := make([][]float64, n) // by caller, then callee
	for i := range visits {
		visits[i] = make([]float64, n)
	}
	var walk func(call *loadline.Call, times float64)
	walk = func(call *loadline.Call, times float64) {
		for _, stage := range call.Stages {
			for k := range stage {
				t := times * stage[k].Probability * float64(max(stage[k].Times, 1))
				visits[call.Service][stage[k].Service] += t
				walk(&stage[k], t)
			}
		}
	}
	for k := range app.Kinds {
		walk(&app.Kinds[k].Root, app.Kinds[k].Share)
	}
	for j := range n {
		all := 0.0
		for i := range n {
			all += visits[i][j]
		}
		for i := range n {
			if i != j && visits[i][j] > 0 {
				c.calls[i] = append(c.calls[i], j)
				c.shares[i] = append(c.shares[i], visits[i][j]/all)
			}
		}
		c.of[j].begin(costs[j])
	}
	return c
}

// begin with the cost of the application's model, which may be 0: unknown. The slope is always
// learned.
func (c *calleeLimit) begin(cost float64) {
	c.model.begin(0, cost)
	if cost > 0 {
		c.model.ii = square(slopeDoubt * cost)
	}
	c.misfit, c.most = 1, math.Inf(1)
}

// learn from an observation, and what is known of the service's demand.
func (c *calleeLimit) learn(now time.Time, seen *loadline.ServiceObservation, d *serviceDemand, window float64) {
	own, measured := reliable(seen.Own.Mean)
	c.slow = measured && d.own > 0 && own > slowFrom*float64(d.own)
	if !startsWithin(now, seen, window) {
		c.learnFrom(seen, float64(seen.ReadyPods()), d, window)
	}
}

// learnFrom is learn with the number of ready pods, which a history has without the pods. Where visits
// pile up at the service, those that arrive are not those that it works on.
func (c *calleeLimit) learnFrom(seen *loadline.ServiceObservation, pods float64, d *serviceDemand, window float64) {
	rate, hasRate := reliable(seen.Rate)
	cpu, hasCPU := reliable(seen.CPU)
	inside, known := atWork(seen, rate)
	queued, _ := reliable(seen.Queue)
	if !hasRate || !hasCPU || !known || pods == 0 || rate*window < 1 || queued > queuedFrom*(inside+queued) {
		return
	}
	rate *= d.mix.orOne().work
	cpu = max(cpu-d.cpu.idle*pods, 0)
	crowd := rate * inside / pods
	m := &c.model
	expected := square(cpuNoise*cpu) + square(leastNoise) + m.cost*m.cost*rate/window +
		crowd*crowd*m.ii + 2*crowd*rate*m.ic + rate*rate*m.cc
	c.misfit.add(square(cpu-m.predict(crowd, rate)) / expected)
	m.learn(crowd, rate, cpu, window)
}

// atWork is how many visits a service works on: not those that wait for a worker, nor while they
// wait for its own calls.
func atWork(seen *loadline.ServiceObservation, rate float64) (float64, bool) {
	if own, ok := reliable(seen.Own.Mean); ok {
		return rate * own, true // Little's law
	}
	inside, ok := reliable(seen.Concurrency)
	if !ok {
		mean, known := reliable(seen.Latency.Mean)
		return rate * mean, known
	}
	queued, _ := reliable(seen.Queue)
	return max(inside-queued, 0), true
}

// slope is by how much CPU time of a visit rises with each other one at work in the pod, in seconds;
// 0 while it is not established.
func (c *calleeLimit) slope() float64 {
	return max(c.model.idle-surePart*math.Sqrt(max(c.model.ii, 0)*max(float64(c.misfit), 1)), 0)
}

// bear sets how many visits at once the service bears at a rate of visits, with its pods of a
// number of cores. It falls at once and rises slowly.
func (c *calleeLimit) bear(visits, pods, cores float64) {
	most := math.Inf(1)
	if slope := c.slope(); visits > 0 && cores > 0 && pods > 0 {
		spare := calleeRoom*cores*pods/visits - c.model.cost // CPU seconds that a visit may cost more
		switch {
		case spare <= 0:
			most = 0
		case slope > 0:
			most = spare / slope * pods
		}
		most = max(most, busyCores*cores*pods)
	}
	c.most = min(most, max(eased*c.most, busyCores*cores*pods))
}

// watchCallees learns what the services that are called bear, before their callers are planned.
func (p *Planner) watchCallees(now time.Time, s loadline.Situation, front float64) {
	o := s.Now()
	for j := range p.callers.of {
		c, seen, in := &p.callers.of[j], &o.Services[j], s.InFlight[j]
		c.learn(now, seen, &p.services[j].demand, p.needs.Window.Seconds())
		bounds := p.serviceOf(s, j).Bounds
		if bounds.MaxReplicas == 0 || in.Replicas < bounds.MaxReplicas || !c.model.known {
			c.most = math.Inf(1) // it grows with its load
			continue
		}
		lead := p.leadOf(now, j, seen.Pods)
		factor, _ := factorAhead(s.Announced, now, lead)
		if _, visits, known := p.aheadOf(j, front, seen.Rate, lead, factor); known {
			work := visits * p.services[j].demand.mix.orOne().work
			c.bear(work, float64(in.Replicas), in.Size.CPULimit)
		}
	}
}

// scarce is the callee that limits a service most, and the replicas beyond which more of the
// service would only send it more at once; false = none does.
func (p *Planner) scarce(i int, workers int) (callee, replicas int, ok bool) {
	least := math.Inf(1)
	if workers <= 0 || workers >= unlimitedWorkers {
		return 0, 0, false
	}
	for k, j := range p.callers.calls[i] {
		if most := p.callers.of[j].most * p.callers.shares[i][k] / float64(workers); most < least {
			callee, least = j, most
		}
	}
	if math.IsInf(least, 1) {
		return 0, 0, false
	}
	return callee, max(int(least), 1), true
}

// slowCallee is a service that this one calls whose own time is far above the usual; false = none is.
func (p *Planner) slowCallee(i int) (int, bool) {
	for _, j := range p.callers.calls[i] {
		if p.callers.of[j].slow {
			return j, true
		}
	}
	return 0, false
}

// hold the replicas of a service to what its callees bear, but not below those that have the workers
// for the load, nor below those that have the CPU for it at their limit. It returns the CPU request
// that they need then (0 = no callee is scarce), and whether they are fewer.
func (p *Planner) hold(t *target, i int, of *plannedService, service *loadline.Service,
	in loadline.Allocation) (request float64, fewer bool) {
	callee, most, ok := p.scarce(i, service.Workers)
	if !ok {
		return 0, false
	}
	largest := in.Size.CPULimit
	if service.Bounds.MaxCPU > 0 && (largest == 0 || p.cfg.vertical) {
		largest = service.Bounds.MaxCPU
	}
	most = max(most, t.byWorkers)
	if largest > 0 {
		capacity := largest*p.cfg.utilisation - of.demand.cpu.idle
		if capacity <= 0 {
			return 0, false
		}
		most = max(most, whole(t.cores/capacity))
	}
	request = (t.cores/float64(most) + of.demand.cpu.idle) / p.cfg.utilisation
	if t.replicas <= most {
		return request, false
	}
	t.callee, t.unheld, t.replicas = callee, t.replicas, most
	return request, true
}

// appendHeld says which callee a service is held for.
func (p *Planner) appendHeld(b []byte, s loadline.Situation, t *target, workers int) []byte {
	b = append(b, "; not "...)
	b = strconv.AppendInt(b, int64(t.unheld), 10)
	b = append(b, " replicas of "...)
	b = strconv.AppendInt(b, int64(workers), 10)
	b = append(b, " workers: at this load "...)
	b = append(b, s.App.Services[t.callee].Name...)
	b = append(b, " bears "...)
	b = strconv.AppendFloat(b, p.callers.of[t.callee].most, 'f', 0, 64)
	b = append(b, " visits at once"...)
	if slope := p.callers.of[t.callee].slope(); slope > 0 {
		b = append(b, ", each of which adds "...)
		b = strconv.AppendFloat(b, 100*slope/p.callers.of[t.callee].model.cost, 'f', 1, 64)
		b = append(b, " % to the CPU time of the others"...)
	}
	return b
}
