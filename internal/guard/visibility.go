package guard

import (
	"time"

	"github.com/loadline/loadline"
)

// observed returns the current observation of a service; nil if there is none.
func observed(s loadline.Situation, service int) *loadline.ServiceObservation {
	if len(s.Window) == 0 {
		return nil
	}
	if o := s.Now(); service < len(o.Services) {
		return &o.Services[service]
	}
	return nil
}

// visible reports whether the load of a service is measured now: its rate of visits, or
// the CPU that it or one of its pods uses. Starting pods show no load, and latency does
// not count: without visits there is none.
func visible(o *loadline.ServiceObservation, now time.Time, maxAge time.Duration) bool {
	if o == nil {
		return false
	}
	if usable(o.Rate, now, maxAge) || usable(o.CPU, now, maxAge) {
		return true
	}
	for i := range o.Pods {
		serves := o.Pods[i].Phase == loadline.PodReady || o.Pods[i].Phase == loadline.PodDraining
		if serves && usable(o.Pods[i].CPU, now, maxAge) {
			return true
		}
	}
	return false
}

// visibility keeps when the load of each service was last measured.
type visibility struct {
	maxAge time.Duration
	seen   []time.Duration // by service, on the clock
	blind  []bool          // by service, now
}

func newVisibility(maxAge time.Duration, services int) visibility {
	return visibility{maxAge: maxAge, seen: make([]time.Duration, services), blind: make([]bool, services)}
}

func (v *visibility) update(at time.Duration, now time.Time, s loadline.Situation) {
	for i := range v.seen {
		v.blind[i] = !visible(observed(s, i), now, v.maxAge)
		if !v.blind[i] {
			v.seen[i] = at
		}
	}
}

// any reports whether the load of any service is measured.
func (v *visibility) any() bool {
	for _, blind := range v.blind {
		if !blind {
			return true
		}
	}
	return false
}

// unseen is how long the load of a service has not been measured; at first, since the
// start.
func (v *visibility) unseen(service int, at time.Duration) time.Duration {
	if !v.blind[service] {
		return 0
	}
	return at - v.seen[service]
}
