package live

import (
	"maps"

	"github.com/loadline/loadline"
)

// restarts counts on while pods come and go: the metrics have each pod's own count,
// and a sum of those falls when a pod leaves, and rises when one that was out of
// view comes back.
type restarts struct {
	last  map[string]float64 // by pod
	total map[int]float64    // by service
}

// count is how often containers of a service have restarted; absent while none of
// its pods is in view.
func (r *restarts) count(a *answers, service int, pods []string) loadline.Sample {
	if r.last == nil {
		r.last, r.total = map[string]float64{}, map[int]float64{}
	}
	var newest loadline.Sample
	for _, pod := range pods {
		seen := a.sample(a.pod[loadline.PodRestarts], entry{name: pod})
		if !seen.Present() {
			continue
		}
		r.total[service] += max(0, seen.Value-r.last[pod])
		r.last[pod] = seen.Value
		if seen.At.After(newest.At) {
			newest = seen
		}
	}
	if newest.Present() {
		newest.Value = r.total[service]
	}
	return newest
}

// forget drops pods that are gone.
func (r *restarts) forget(there names) {
	maps.DeleteFunc(r.last, func(pod string, _ float64) bool { _, found := there[pod]; return !found })
}
