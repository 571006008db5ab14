package policy

import (
	"time"

	"github.com/loadline/loadline"
)

// startTimes is how long the pods of a service take from creation to readiness, waiting for a
// node included, and therefore how far ahead its replicas are to be planned.
type startTimes struct {
	of   decayingHistogram // seconds
	seen time.Time         // pods that were ready by then have been counted
}

const (
	// startPrior is assumed before pods were seen starting, with the weight of startPriorWeight
	// pods: a node of a cloud that takes 45 s, and a pod. Ten times as many faster starts are
	// needed to plan for less.
	startPrior, startPriorWeight = 50, 2
	// startQuantile of the starts counts: some pods find room, the last ones wait for a node.
	startQuantile = 0.9
	startHalfLife = 24 * time.Hour
	longestStart  = 3600 // seconds
)

// learn from the pods that have become ready since the last observation.
func (t *startTimes) learn(now time.Time, pods []loadline.PodObservation) {
	t.begin(now)
	if t.seen.IsZero() {
		t.seen = now // pods from before may have waited for other reasons
	}
	latest := t.seen
	for i := range pods {
		if p := &pods[i]; p.Ready.After(t.seen) && !p.Created.IsZero() {
			t.of.add(p.Ready.Sub(p.Created).Seconds(), 1, now)
			if p.Ready.After(latest) {
				latest = p.Ready
			}
		}
	}
	t.seen = latest
}

// begin with the prior.
func (t *startTimes) begin(now time.Time) {
	if t.of.weights == nil {
		t.of = newDecayingHistogram(1, longestStart, startHalfLife)
		t.of.add(startPrior, startPriorWeight, now)
	}
}

// add a start of a history, in seconds.
func (t *startTimes) add(at time.Time, seconds float64) {
	t.begin(at)
	t.of.add(min(seconds, longestStart), 1, at)
}

// quantile of the starts. A pod that has been waiting for longer shows that starts take longer now.
func (t *startTimes) quantile(now time.Time, pods []loadline.PodObservation) time.Duration {
	start := time.Duration(t.of.quantile(startQuantile) * float64(time.Second))
	for i := range pods {
		if p := &pods[i]; p.Phase == loadline.PodPending || p.Phase == loadline.PodStarting {
			start = max(start, min(now.Sub(p.Created), longestStart*time.Second))
		}
	}
	return start
}
