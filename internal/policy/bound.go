package policy

import (
	"math"
	"time"

	"github.com/loadline/loadline"
)

// Bound is a cost that no policy can go below: a run that costs less is a bug, in
// the simulator or here.
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
// Deviation is an upper estimate of the standard deviation of the work. What is
// a bug is a cost below Least.
type Bound struct {
	CoreHours float64
	Deviation float64 // core-hours
}

// boundWindow is long beside latencies and short beside changes of the load.
const boundWindow = time.Minute

// boundForgives is the share of requests that may be over the SLO.
const boundForgives = 0.01

// Least is the cost below which random variation is no explanation: one run in 30,000 has its
// work four standard deviations below the mean.
func (b Bound) Least() float64 { return b.CoreHours - 4*b.Deviation }

// LowerBound of a run's cost. cpu: the CPU request is among the axes. Requests that arrive
// during the warm-up are not evaluated, so their work is not counted.
func LowerBound(app *loadline.App, cpu bool, warmUp, duration time.Duration, rate Rate) Bound {
	work := workPerRequest(app, false)
	requests := 0.0
	for k := range app.Kinds {
		requests += requestsWithin(rate, k, warmUp, duration)
	}
	var total Bound
	for s := range app.Services {
		request := app.Services[s].Size.CPURequest
		if b := app.Services[s].Bounds; cpu {
			request = min(request, b.MinCPU)
		}
		least := float64(max(app.Services[s].Bounds.MinReplicas, 0)) * request // cores
		dearest, variance, coreSeconds := 0.0, 0.0, 0.0
		for from := time.Duration(0); from < duration; from += boundWindow {
			to := min(from+boundWindow, duration)
			done := 0.0
			for k := range app.Kinds {
				w := work[k][s]
				if w.mean == 0 {
					continue
				}
				n := requestsWithin(rate, k, max(from, warmUp), to-app.Kinds[k].SLO.Latency)
				done += n * w.mean
				variance += n * w.meanSquare
				if n > 0 {
					dearest = max(dearest, w.mean)
				}
			}
			coreSeconds += max(least*(to-from).Seconds(), done)
		}
		floor := least * duration.Seconds()
		coreSeconds = max(floor, coreSeconds-boundForgives*requests*dearest)
		total.CoreHours += coreSeconds / 3600
		if coreSeconds > floor {
			// Deviations of services that serve the same requests add up.
			total.Deviation += math.Sqrt(variance) / 3600
		}
	}
	return total
}
