package guard

import (
	"fmt"
	"slices"
	"time"

	"github.com/loadline/loadline"
)

// Coverage is how much of a service is behind what is measured of it. A sum over the
// pods that happen to be scraped is not the load of the service.
type Coverage struct {
	CPU, Memory, Requests Count
}

// Least is the count of CPU or requests of which a smaller share is measured.
func (c Coverage) Least() Count {
	if c.Requests.Of > 0 && (c.CPU.Of == 0 || c.Requests.Share() < c.CPU.Share()) {
		return c.Requests
	}
	return c.CPU
}

// Count is how many of the pods that should be measured are. Of is 0 if the metric is
// not measured pod by pod at all: there is nothing to be incomplete then.
type Count struct{ Measured, Of int }

// Missing pods.
func (c Count) Missing() int { return c.Of - c.Measured }

// Complete reports whether no pod is missing.
func (c Count) Complete() bool { return c.Missing() == 0 }

// Enough reports whether a reduction may rely on the metric: at most one pod in ten is
// missing, so none of fewer than ten. One broken node among many then does not stop all
// scale-in; the guards count what is missing as fully used.
func (c Count) Enough() bool { return 10*c.Missing() <= c.Of }

// Share that is measured; 1 if nothing is to be measured.
func (c Count) Share() float64 {
	if c.Of == 0 {
		return 1
	}
	return float64(c.Measured) / float64(c.Of)
}

func (c Count) String() string { return fmt.Sprintf("%d of %d", c.Measured, c.Of) }

// scrapedWithin is how long a pod may take from becoming ready to its first sample: a
// rate needs two scrapes. Until then it is new, and not missing.
const scrapedWithin = time.Minute

// idleShare is the CPU, as a share of the others' mean, below which a pod whose
// requests are not measured is idle rather than missing: proxies show no series before
// the first request, and clients with long connections may never send one.
const idleShare = 0.25

// CoverageOf a service: of its ready pods, how many have usable samples. Settle is the
// time that a new pod's CPU is not load.
func CoverageOf(o *loadline.ServiceObservation, now time.Time, maxAge, settle time.Duration) Coverage {
	var c Coverage
	if o == nil {
		return c
	}
	young := settle + scrapedWithin
	served, servedCPU := 0, 0.0 // pods with requests, and the CPU of those
	for i := range o.Pods {
		p := &o.Pods[i]
		if p.Phase != loadline.PodReady {
			continue
		}
		old := now.Sub(p.Ready) >= young
		cpu, busy := usable(p.CPU, now, maxAge), usable(p.Busy, now, maxAge)
		c.CPU.add(cpu, old)
		c.Memory.add(usable(p.Memory, now, maxAge), old)
		c.Requests.add(busy, old)
		if cpu && busy {
			served++
			servedCPU += p.CPU.Value
		}
	}
	if c.Requests.Measured > 0 && c.Requests.Missing() > 0 && served > 0 {
		c.Requests.Of -= idlePods(o, now, maxAge, young, idleShare*servedCPU/float64(served))
	}
	for _, of := range []*Count{&c.CPU, &c.Memory, &c.Requests} {
		if of.Measured == 0 {
			*of = Count{} // not by pod, or not at all, which the samples of the service show
		}
	}
	return c
}

// add a ready pod. One that is neither measured nor old is not counted yet.
func (c *Count) add(measured, old bool) {
	switch {
	case measured:
		c.Measured++
		c.Of++
	case old:
		c.Of++
	}
}

// idlePods counts the pods without requests that use less CPU than the given.
func idlePods(o *loadline.ServiceObservation, now time.Time, maxAge, young time.Duration, least float64) int {
	n := 0
	for i := range o.Pods {
		p := &o.Pods[i]
		if p.Phase == loadline.PodReady && now.Sub(p.Ready) >= young && !usable(p.Busy, now, maxAge) &&
			usable(p.CPU, now, maxAge) && p.CPU.Value < least {
			n++
		}
	}
	return n
}

// Complete scales sums over pods to what all ready pods would show if the missing ones
// were as busy as the measured: a policy that sees half of a service would otherwise
// take it for half of the load. New pods are not missing.
func Complete(now time.Time, maxAge, settle time.Duration, o *loadline.Observation) {
	for i := range o.Services {
		s := &o.Services[i]
		c := CoverageOf(s, now, maxAge, settle)
		c.CPU.scale(&s.CPU)
		c.Memory.scale(&s.Memory)
		c.Requests.scale(&s.Rate, &s.Errors, &s.Refused, &s.Concurrency, &s.Queue)
	}
}

func (c Count) scale(sums ...*loadline.Sample) {
	if c.Missing() == 0 {
		return
	}
	for _, s := range sums {
		s.Value *= float64(c.Of) / float64(c.Measured)
	}
}

// fillMissing gives pods whose CPU or memory is missing the mean of the measured, in the
// newest observation of a window. It is for policies, which may read pods one by one:
// hpa counts pods without a sample as idle when it would add replicas. It applies only
// to services of which too little is measured to reduce them (see Absent), so that it
// can only raise them. The window that is passed stays as it is: the guards count what
// is missing in it.
func fillMissing(now time.Time, maxAge, settle time.Duration, window []loadline.Observation) []loadline.Observation {
	if len(window) == 0 {
		return window
	}
	copied := false
	for i := range window[len(window)-1].Services {
		if CoverageOf(&window[len(window)-1].Services[i], now, maxAge, settle).CPU.Enough() {
			continue
		}
		if !copied {
			window = slices.Clone(window)
			window[len(window)-1].Services = slices.Clone(window[len(window)-1].Services)
			copied = true
		}
		s := &window[len(window)-1].Services[i]
		s.Pods = slices.Clone(s.Pods)
		fillPods(now, maxAge, settle, s.Pods, func(p *loadline.PodObservation) *loadline.Sample { return &p.CPU })
		fillPods(now, maxAge, settle, s.Pods, func(p *loadline.PodObservation) *loadline.Sample { return &p.Memory })
	}
	return window
}

// fillPods sets one metric of the ready pods that are not new and lack it.
func fillPods(now time.Time, maxAge, settle time.Duration, pods []loadline.PodObservation,
	metric func(*loadline.PodObservation) *loadline.Sample) {
	var mean loadline.Sample // as old as the oldest
	measured := 0.0
	for i := range pods {
		m := metric(&pods[i])
		if pods[i].Phase != loadline.PodReady || !usable(*m, now, maxAge) {
			continue
		}
		measured++
		mean.Value += m.Value
		if !mean.Present() || m.At.Before(mean.At) {
			mean.At = m.At
		}
	}
	if measured == 0 {
		return
	}
	mean.Value /= measured
	for i := range pods {
		if p := &pods[i]; p.Phase == loadline.PodReady && now.Sub(p.Ready) >= settle+scrapedWithin && !usable(*metric(p), now, maxAge) {
			*metric(p) = mean
		}
	}
}
