package guard

import (
	"math"
	"time"

	"github.com/loadline/loadline"
)

// ahead is the tolerated clock difference between machines: samples further in the future
// are ignored.
const ahead = time.Minute

// usable reports whether a sample may be used: it is present, finite, not negative, and
// recent.
func usable(v loadline.Sample, now time.Time, maxAge time.Duration) bool {
	if !v.Present() || math.IsNaN(v.Value) || math.IsInf(v.Value, 0) || v.Value < 0 {
		return false
	}
	age := now.Sub(v.At)
	return age <= maxAge && age >= -ahead
}

// Fresh marks samples as absent that must not be used: those that are late, in the future,
// not numbers or negative. Policies that do not check ages can read the rest.
func Fresh(now time.Time, maxAge time.Duration, o *loadline.Observation) {
	keep := func(samples ...*loadline.Sample) {
		for _, v := range samples {
			if !usable(*v, now, maxAge) {
				*v = loadline.Sample{}
			}
		}
	}
	latency := func(l *loadline.Latency) { keep(&l.Mean, &l.P50, &l.P90, &l.P95, &l.P99) }
	for i := range o.Services {
		s := &o.Services[i]
		keep(&s.Rate, &s.Errors, &s.Refused, &s.Dropped, &s.Concurrency, &s.Queue, &s.Held, &s.CPU, &s.Memory, &s.Throttled, &s.Restarts)
		latency(&s.Latency)
		latency(&s.Own)
		for j := range s.Pods {
			keep(&s.Pods[j].CPU, &s.Pods[j].Memory, &s.Pods[j].Busy)
		}
	}
	for i := range o.Kinds {
		k := &o.Kinds[i]
		keep(&k.Rate, &k.Failed, &k.OverSLO, &k.AtSLO)
		latency(&k.Latency)
	}
	for i := range o.Nodes {
		keep(&o.Nodes[i].CPU, &o.Nodes[i].Memory)
	}
}
