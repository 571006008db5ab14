package policy

import (
	"github.com/loadline/loadline"
)

// attainment is how users fare, over all kinds of requests.
type attainment struct {
	known   bool
	over    float64 // share over the SLO beyond what it allows, of the worst kind
	latency float64 // at the SLO's percentile, relative to the SLO, of the worst kind; 0 = not measured
}

// burning: more requests are over the SLO than it allows.
func (a attainment) burning() bool { return a.over > 0 }

// attained reads the kinds of requests of an observation.
func attained(app *loadline.App, o *loadline.Observation) attainment {
	var a attainment
	for i := range o.Kinds {
		slo := app.Kinds[i].SLO
		if over, ok := reliable(o.Kinds[i].OverSLO); ok {
			a.known = true
			a.over = max(a.over, over-(1-slo.Percentile/100))
		}
		if at, ok := reliable(o.Kinds[i].AtSLO); ok && slo.Latency > 0 {
			a.latency = max(a.latency, at/slo.Latency.Seconds())
		}
	}
	return a
}

// margin is the capacity of a service beyond its plan, relative to it: an integral of how the SLO
// is attained. It rises fast and falls slowly, and below 0 while latencies are far from the SLO.
type margin float64

const (
	// marginGain is what a decision adds for a share of requests over the SLO: 10 % of them for a
	// minute of four decisions add 0.2.
	marginGain = 0.5
	// marginFade is what is left after a decision without any: half after six minutes.
	marginFade = 0.97
	// creditStep is what a decision takes away while latency is below creditBelow of the SLO: from 0
	// to leastMargin takes ten minutes.
	creditStep, creditBelow = 0.0025, 0.5
	// leastMargin and mostMargin bound it: a utilisation of 90 % becomes one of 100 % or 60 %.
	leastMargin, mostMargin = -0.1, 0.5
)

// adjust by one observation. Anti-windup: it does not rise while pods that were asked for are not
// ready, since the capacity is then on its way, nor where more of the service would not help.
func (m *margin) adjust(a attainment, limit limitation, arriving bool) {
	switch {
	case !a.known:
	case a.burning():
		if limit != limitElsewhere && !arriving {
			*m = min(max(*m, 0)+margin(marginGain*a.over), mostMargin)
		}
	case *m > 0:
		if *m *= marginFade; *m < creditStep {
			*m = 0
		}
	case a.latency > 0 && a.latency < creditBelow:
		*m = max(*m-creditStep, leastMargin)
	case a.latency >= creditBelow:
		*m = min(*m+creditStep, 0)
	}
}

// limitation is what keeps a service from serving faster.
type limitation int

const (
	// limitElsewhere: nothing of the service itself is short. It waits for others, or for nothing.
	limitElsewhere limitation = iota
	limitCPU
	limitWorkers
)

const (
	// slowFrom is the own time of a visit, relative to its usual one, from which the service itself
	// is slow.
	slowFrom = 2
	// fullFrom is the share of the CPU requests, or of the workers, in use from which they are short.
	fullFrom = 0.9
)

// limitOf a service now.
func limitOf(service *loadline.Service, seen *loadline.ServiceObservation, d *serviceDemand, request float64) limitation {
	pods := float64(seen.ReadyPods())
	inside, _ := reliable(seen.Concurrency)
	queued, _ := reliable(seen.Queue)
	if workers := float64(service.Workers) * pods; workers > 0 && (inside >= fullFrom*workers || queued >= 1 && queued > queuedFrom*inside) {
		return limitWorkers
	}
	throttled, _ := reliable(seen.Throttled)
	cpu, _ := reliable(seen.CPU)
	own, _ := reliable(seen.Own.Mean)
	if throttled > throttledFrom || pods > 0 && cpu > fullFrom*request*pods || d.own > 0 && own > slowFrom*float64(d.own) {
		return limitCPU
	}
	return limitElsewhere
}

// arriving: pods of the service are pending or starting.
func arriving(seen *loadline.ServiceObservation) bool {
	for i := range seen.Pods {
		if p := seen.Pods[i].Phase; p == loadline.PodPending || p == loadline.PodStarting {
			return true
		}
	}
	return false
}
