package policy

import (
	"slices"
	"time"

	"github.com/loadline/loadline"
)

// startTimes is how long the pods of a service take from creation to readiness, waiting for a
// node included, and therefore how far ahead its replicas are to be planned.
type startTimes struct {
	of    decayingHistogram // seconds
	ready []int64           // pods that have been ready, sorted: they may restart, which is no start
	spare []int64
	begun bool
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

// learn from the pods that have become ready for the first time since the last observation.
func (t *startTimes) learn(now time.Time, pods []loadline.PodObservation) {
	t.begin(now)
	known := t.spare[:0]
	for i := range pods {
		p := &pods[i]
		_, before := slices.BinarySearch(t.ready, p.ID)
		if !before && p.Ready.IsZero() {
			continue
		}
		known = append(known, p.ID)
		// Pods from before the first observation may have waited for other reasons.
		if t.begun && !before && !p.Created.IsZero() {
			t.of.add(min(p.Ready.Sub(p.Created).Seconds(), longestStart), 1, now)
		}
	}
	slices.Sort(known)
	t.ready, t.spare, t.begun = known, t.ready, true
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
		p := &pods[i]
		if _, restarts := slices.BinarySearch(t.ready, p.ID); restarts {
			continue
		}
		if p.Phase == loadline.PodPending || p.Phase == loadline.PodStarting {
			start = max(start, min(now.Sub(p.Created), longestStart*time.Second))
		}
	}
	return start
}
