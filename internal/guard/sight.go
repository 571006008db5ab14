package guard

import (
	"time"

	"github.com/loadline/loadline"
)

// observed is what is known of a service now, nil if the observation does not
// have it.
func observed(s loadline.Situation, service int) *loadline.ServiceObservation {
	if len(s.Window) == 0 {
		return nil
	}
	if o := s.Now(); service < len(o.Services) {
		return &o.Services[service]
	}
	return nil
}

// visible says whether the load of a service can be seen now: its rate of
// visits, or the CPU that it or one of its pods uses. Pods that are starting show
// no load, and latency says nothing here: without visits there is none.
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

// sight remembers when each service was last seen.
type sight struct {
	maxAge time.Duration
	seen   []time.Duration // by service, on the clock
	blind  []bool          // by service, now
}

func newSight(maxAge time.Duration, services int) sight {
	return sight{maxAge: maxAge, seen: make([]time.Duration, services), blind: make([]bool, services)}
}

func (v *sight) look(at time.Duration, now time.Time, s loadline.Situation) {
	for i := range v.seen {
		v.blind[i] = !visible(observed(s, i), now, v.maxAge)
		if !v.blind[i] {
			v.seen[i] = at
		}
	}
}

// any says whether anything at all can be seen.
func (v *sight) any() bool {
	for _, blind := range v.blind {
		if !blind {
			return true
		}
	}
	return false
}

// unseen is for how long a service has not been seen; at first, since the
// beginning.
func (v *sight) unseen(service int, at time.Duration) time.Duration {
	if !v.blind[service] {
		return 0
	}
	return at - v.seen[service]
}
