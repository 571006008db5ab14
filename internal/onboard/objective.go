package onboard

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/history"
)

// headroom between the response times that were measured and the objective that is guessed.
const headroom = 1.25

// entry is a service that users call.
type entry struct {
	name string
	rate float64
	p99  []history.Series // by operation; of the service itself if calls are not measured
}

// entries of a group, the busiest first: the services with requests from outside. Where calls are
// not measured, they are the services that no other one calls.
func entries(h *history.History, members map[string]bool) []entry {
	var found []entry
	called := map[string]bool{}
	for i := range h.Calls {
		c := &h.Calls[i]
		if !members[c.To] {
			continue
		}
		if c.From != "" {
			called[c.To] = true
			continue
		}
		at := slices.IndexFunc(found, func(e entry) bool { return e.name == c.To })
		if at < 0 {
			at = len(found)
			found = append(found, entry{name: c.To})
		}
		found[at].rate += highest(c.Series[loadline.CallRate])
		if s := c.Series[loadline.CallP99]; s.Present() > 0 {
			found[at].p99 = append(found[at].p99, s)
		}
	}
	if len(found) == 0 {
		for i := range h.Services {
			if s := &h.Services[i]; members[s.Name] && !called[s.Name] {
				found = append(found, entry{name: s.Name, rate: highest(s.Series[loadline.ServiceRate])})
			}
		}
	}
	for i := range found {
		if s := h.Service(found[i].name); len(found[i].p99) == 0 && s != nil {
			found[i].p99 = []history.Series{s.Series[loadline.ServiceLatencyP99]}
		}
	}
	found = slices.DeleteFunc(found, func(e entry) bool { return !(e.rate > 0) })
	slices.SortStableFunc(found, func(a, b entry) int { return cmp.Or(cmp.Compare(b.rate, a.rate), cmp.Compare(a.name, b.name)) })
	return found
}

// guess an objective from the response times of an entry; false = they were never measured. The
// slowest operation counts.
func (e *entry) guess(step time.Duration) (Guess, bool) {
	var worst []float64
	for _, s := range e.p99 {
		for i := range s {
			if v, present := s.Get(i); present {
				for len(worst) <= i {
					worst = append(worst, math.NaN())
				}
				if !(worst[i] > v) {
					worst[i] = v
				}
			}
		}
	}
	worst = slices.DeleteFunc(worst, math.IsNaN)
	if len(worst) == 0 {
		return Guess{}, false
	}
	slices.Sort(worst)
	at := func(q float64) time.Duration {
		return time.Duration(worst[int(math.Ceil(q*float64(len(worst))))-1] * float64(time.Second))
	}
	g := Guess{Service: e.name, Typical: at(0.5), High: at(0.95), Values: len(worst), Over: time.Duration(len(worst)) * step}
	g.Latency = roundUp(time.Duration(headroom * float64(g.High)))
	return g, true
}

// shortest and longest objective that is guessed; the second is the schema's.
const (
	shortest = 5 * time.Millisecond
	longest  = time.Hour
)

// roundUp to a number that people write.
func roundUp(d time.Duration) time.Duration {
	d = min(max(d, shortest), longest)
	for unit := time.Millisecond; ; unit *= 10 {
		for _, factor := range []float64{1, 1.5, 2, 2.5, 3, 4, 5, 7.5} {
			if nice := time.Duration(factor * float64(unit)); nice >= d {
				return min(nice, longest)
			}
		}
	}
}

// highest present value of a series; 0 = none.
func highest(s history.Series) float64 {
	most := 0.0
	for i := range s {
		if v, present := s.Get(i); present {
			most = max(most, v)
		}
	}
	return most
}
