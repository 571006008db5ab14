package policy

import (
	"math"
	"time"

	"github.com/loadline/loadline"
)

// cpuModel is what a service's CPU depends on: cores = idle*pods + cost*rate. Both figures are at
// least 0 and drift slowly; they are estimated by recursive least squares in the form of a Kalman
// filter, whose gain follows from the noise of a reading and the drift of the figures.
type cpuModel struct {
	idle float64 // cores of a pod without requests
	cost float64 // CPU seconds of a visit
	// The covariance of the estimate.
	ii, ic, cc float64
	known      bool // from the application's model, or from samples
}

const (
	// cpuDoubt is the initial uncertainty of a figure of the application's model, relative to it;
	// idle CPU is uncertain by at least idleDoubt, in cores.
	cpuDoubt, idleDoubt = 0.5, 0.005
	// cpuDrift is by how much a figure may change from one sample to the next, relative to it: with
	// the noise below half of a change is learned within 20 samples.
	cpuDrift = 0.01
	// cpuNoise is the relative noise of a reading, leastNoise its least, in cores.
	cpuNoise, leastNoise = 0.03, 0.002
	// unknownIdle and unknownCost are what figures without a model may be: 20m of a pod, 50 ms of a
	// visit.
	unknownIdle, unknownCost = 0.02, 0.05
)

// begin with the figures of a model, which may be 0: unknown.
func (m *cpuModel) begin(idle, cost float64) {
	*m = cpuModel{idle: idle, cost: cost, known: cost > 0}
	m.ii, m.cc = square(unknownIdle), square(unknownCost)
	if cost > 0 {
		m.ii, m.cc = square(max(cpuDoubt*idle, idleDoubt)), square(cpuDoubt*cost)
	}
}

func square(x float64) float64 { return x * x }

// predict is the CPU of a number of pods at a rate.
func (m *cpuModel) predict(pods, rate float64) float64 { return m.idle*pods + m.cost*rate }

// learn from a sample: pods, visits per second and cores in use, over a window of seconds.
func (m *cpuModel) learn(pods, rate, cpu, window float64) {
	m.ii += square(cpuDrift * m.idle)
	m.cc += square(cpuDrift * m.cost)
	// Visits within the window are Poisson: the variance of the work is cost^2 * visits.
	noise := square(cpuNoise*cpu) + square(leastNoise) + m.cost*m.cost*rate/window
	gi, gc := m.ii*pods+m.ic*rate, m.ic*pods+m.cc*rate
	spread := pods*gi + rate*gc + noise
	ki, kc := gi/spread, gc/spread
	wrong := cpu - m.predict(pods, rate)
	m.idle, m.cost = max(m.idle+ki*wrong, 0), max(m.cost+kc*wrong, 0)
	m.ii, m.ic, m.cc = m.ii-ki*gi, m.ic-ki*gc, m.cc-kc*gc
	m.known = m.known || m.cost > 0
}

// visitRatio is how many visits to a service a request of users causes, as an average in which
// old samples fade.
type visitRatio struct {
	visits, requests float64
}

// ratioFade: half of a sample's weight is gone after 7 minutes at a period of 15 s.
const ratioFade = 0.975

func (r *visitRatio) learn(visits, requests float64) {
	r.visits = ratioFade*r.visits + visits
	r.requests = ratioFade*r.requests + requests
}

// of is the ratio, or false while there is none.
func (r *visitRatio) of() (float64, bool) {
	if r.requests <= 0 {
		return 0, false
	}
	return r.visits / r.requests, true
}

// average is an exponentially weighted mean; 0 before the first value.
type average float64

// averageGain of a new value: half of an old one's weight is gone after 7 values.
const averageGain = 0.1

func (a *average) add(value float64) {
	if *a == 0 {
		*a = average(value)
	}
	*a += average(averageGain * (value - float64(*a)))
}

// serviceDemand is what is learned of one service.
type serviceDemand struct {
	cpu    cpuModel
	visits visitRatio
	stay   average   // seconds that a visit occupies a worker, calls included
	own    average   // the same without calls to other services
	mix    mixFactor // of the kinds of requests now; zero = as in the model
	// distorted is when requests began to pile up or to be over the SLO, zero if they do not.
	distorted time.Time
}

// distortedAtMost is how long use that is distorted is not learned from at all. What lasts longer
// is no burst that is being worked off, but a service that has become dearer: it is learned then
// if it is more than what is known.
const distortedAtMost = 3 * time.Minute

// learn from one observation of the service. front is the rate of users' requests. Where work
// piles up, is throttled or is over the SLO (burning), CPU and visits are not what the load
// needs: a saturated service uses less than it needs, one that works off a backlog more.
func (d *serviceDemand) learn(now time.Time, seen *loadline.ServiceObservation, front, window float64, burning bool) {
	of := *seen
	if startsWithin(now, seen, window) {
		of.CPU = loadline.Sample{}
	}
	d.learnFrom(now, &of, float64(seen.ReadyPods()), front, window, burning)
}

// startsWithin reports whether CPU in the window is in part that of pods' starts, which is not what
// the load needs: a JVM uses a core for a minute.
func startsWithin(now time.Time, seen *loadline.ServiceObservation, window float64) bool {
	for i := range seen.Pods {
		switch p := &seen.Pods[i]; p.Phase {
		case loadline.PodStarting:
			return true
		case loadline.PodReady:
			if now.Sub(p.Ready).Seconds() < window && !p.Ready.Equal(p.Created) {
				return true
			}
		}
	}
	return false
}

// learnFrom is learn with the number of ready pods, which a history has without the pods.
func (d *serviceDemand) learnFrom(now time.Time, seen *loadline.ServiceObservation, pods, front, window float64, burning bool) {
	rate, ok := reliable(seen.Rate)
	if !ok || pods == 0 {
		return
	}
	mix := d.mix.orOne()
	front *= mix.visits
	work := rate * mix.work // visits of the usual cost
	cpu, hasCPU := reliable(seen.CPU)
	if burning || pilesUp(seen) {
		if d.distorted.IsZero() {
			d.distorted = now
		}
		if now.Sub(d.distorted) < distortedAtMost && d.cpu.known {
			return
		}
		if hasCPU && (cpu > d.cpu.predict(pods, work) || !d.cpu.known) {
			d.cpu.learn(pods, work, cpu, window)
		}
		if ratio, known := d.visits.of(); !known || rate > ratio*front {
			d.visits.learn(rate, front)
		}
		return
	}
	d.distorted = time.Time{}
	d.visits.learn(rate, front)
	if hasCPU {
		d.cpu.learn(pods, work, cpu, window)
	}
	if inside, ok := reliable(seen.Concurrency); ok && rate > 0 {
		d.stay.add(inside / rate) // Little's law
	}
	if own, ok := reliable(seen.Own.Mean); ok {
		d.own.add(own)
	}
}

// visitsOf a rate of users' requests with the mix of now; false while the ratio is unknown.
func (d *serviceDemand) visitsOf(requests float64) (float64, bool) {
	ratio, known := d.visits.of()
	return requests * d.mix.orOne().visits * ratio, known
}

// coresOf a rate of visits with the mix of now, without idle CPU.
func (d *serviceDemand) coresOf(visits float64) float64 {
	return d.cpu.cost * visits * d.mix.orOne().work
}

const (
	// throttledFrom is the share of quota periods from which CPU use is cut off noticeably, and
	// queuedFrom the share of visits that wait for a worker.
	throttledFrom, queuedFrom = 0.05, 0.1
)

// pilesUp: visits wait for workers, or pods are throttled.
func pilesUp(seen *loadline.ServiceObservation) bool {
	throttled, _ := reliable(seen.Throttled)
	queued, _ := reliable(seen.Queue)
	inside, ok := reliable(seen.Concurrency)
	return throttled > throttledFrom || ok && queued > queuedFrom*inside && queued >= 1
}

// reliable is a sample's value; false if it is absent or no finite number of at least 0.
func reliable(s loadline.Sample) (float64, bool) {
	if !s.Present() || !(s.Value >= 0) || math.IsInf(s.Value, 1) {
		return 0, false
	}
	return s.Value, true
}
