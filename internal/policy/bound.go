package policy

import (
	"math"
	"time"

	"github.com/loadline/loadline"
)

// Bound is a lower bound on the core-hours of any policy.
//
// The argument, service by service, each as if it were alone. The cost of a pod
// is the integral of max(request, usage), so the cost of a service over a window
// is at least
//
//   - what the fewest replicas within the user's bounds ask for: start-up,
//     placement and the replicas of the beginning are left out, and with the CPU
//     among the axes the request is the smallest within the bounds;
//   - the CPU time used in it. However many replicas there are, and be it a
//     fraction of one, a request that is served in time has had all its CPU work
//     done within its SLO's latency. So the window did at least the work of those
//     that arrived in it no later than that latency before its end.
//
// At most 1 % of the requests may fail or be late. Failed ones may use no CPU at
// all, so that share of the requests is taken off where it is dearest. Work of
// optional calls does not count: they may be browned out, and their failure is
// forgiven. Nor does what replicas burn when idle.
//
// Summed over windows of a minute: max(least, work) is convex, so finer windows
// bound more tightly, and coarser ones lose less to requests that straddle two.
//
// Arrivals and demands are drawn at random: the bound is on the expectation, and
// Deviation is an upper estimate of the standard deviation of the work.
type Bound struct {
	CoreHours float64
	Deviation float64 // core-hours
}

// boundWindow is long beside latencies and short beside changes of the load.
const boundWindow = time.Minute

// boundForgives is the share of requests that may be over the SLO.
const boundForgives = 0.01

// LowerBound of a run's cost. cpu: the CPU request is among the axes. Requests that arrive
// during the warm-up are not evaluated, so their work is not counted.
func LowerBound(app *loadline.App, cpu bool, warmUp, duration time.Duration, rate Rate) Bound {
	work := LeastWorkOf(app, warmUp, duration, duration, rate)
	var total Bound
	for s := range app.Services {
		request := app.Services[s].Size.CPURequest
		if b := app.Services[s].Bounds; cpu {
			request = min(request, b.MinCPU)
		}
		least := float64(max(app.Services[s].Bounds.MinReplicas, 0)) * request // cores
		coreSeconds := 0.0
		for i, done := range work.CoreSeconds[s] {
			coreSeconds += max(least*work.Length(i).Seconds(), done)
		}
		floor := least * duration.Seconds()
		coreSeconds = max(floor, coreSeconds-work.Forgiven[s])
		total.CoreHours += coreSeconds / 3600
		if coreSeconds > floor {
			// Deviations of services that serve the same requests add up.
			total.Deviation += work.Deviation[s] / 3600
		}
	}
	return total
}

// LeastWork is the CPU time, in core-seconds, that a run within the SLO does at least.
type LeastWork struct {
	Duration    time.Duration
	CoreSeconds [][]float64 // by service, then window of a minute; in expectation
	Forgiven    []float64   // by service: of the requests that may fail, as if all were the dearest ones
	Deviation   []float64   // by service: standard deviation
}

// Length of a window: the last one may be shorter.
func (w *LeastWork) Length(window int) time.Duration {
	return min(boundWindow, w.Duration-time.Duration(window)*boundWindow)
}

// LeastWorkOf the requests that arrive after the warm-up and before an instant from which the
// demand is not known, such as a roll-out. Users in a closed loop send later when replies come
// later, so the work of their requests is not counted.
func LeastWorkOf(app *loadline.App, warmUp, known, duration time.Duration, rate Rate) LeastWork {
	perRequest := workPerRequest(app, false)
	requests := 0.0
	for k := range app.Kinds {
		requests += requestsWithin(rate, k, warmUp, duration)
	}
	all := LeastWork{Duration: duration, CoreSeconds: make([][]float64, len(app.Services))}
	for s := range app.Services {
		dearest, variance := 0.0, 0.0
		for from := time.Duration(0); from < duration; from += boundWindow {
			to := min(from+boundWindow, duration)
			done := 0.0
			for k := range app.Kinds {
				w := perRequest[k][s]
				if w.mean == 0 || app.Kinds[k].Users.Requests > 0 {
					continue
				}
				n := requestsWithin(rate, k, max(from, warmUp), min(to-app.Kinds[k].SLO.Latency, known))
				done += n * w.mean
				variance += n * w.meanSquare
				if n > 0 {
					dearest = max(dearest, w.mean)
				}
			}
			all.CoreSeconds[s] = append(all.CoreSeconds[s], done)
		}
		all.Forgiven = append(all.Forgiven, boundForgives*requests*dearest)
		all.Deviation = append(all.Deviation, math.Sqrt(variance))
	}
	return all
}
