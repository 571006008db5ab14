package policy

import (
	"math"
	"time"

	"github.com/loadline/loadline"
)

// PodUse is the CPU that the ready pods of each service use, as a histogram of samples.
type PodUse struct{ of []decayingHistogram }

// NewPodUse is empty.
func NewPodUse(services int) *PodUse {
	u := &PodUse{}
	for range services {
		// All samples count alike: the half-life is longer than any run.
		u.of = append(u.of, newDecayingHistogram(0.001, 1000, 100000*time.Hour))
	}
	return u
}

// Watch adds an observation, and reports whether it has a sample.
func (u *PodUse) Watch(o *loadline.Observation) (seen bool) {
	for i := range o.Services {
		for p := range o.Services[i].Pods {
			if pod := &o.Services[i].Pods[p]; pod.Phase == loadline.PodReady && pod.CPU.Present() {
				u.of[i].add(pod.CPU.Value, 1, pod.CPU.At)
				seen = true
			}
		}
	}
	return seen
}

// Request covers a share of the samples of a service, in whole milli-cores; false without
// samples.
func (u *PodUse) Request(service int, share float64) (cores float64, ok bool) {
	h := &u.of[service]
	if h.empty() {
		return 0, false
	}
	return max(math.Ceil(h.quantile(share)*1000-1e-6)/1000, leastRequest), true
}
