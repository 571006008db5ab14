package guard

import (
	"fmt"
	"math"
	"time"

	"github.com/loadline/loadline"
)

// Adviser returns the proposals of the rule. The ladder is one: it calls the rule even
// while the model is followed.
type Adviser interface {
	// Advice is the rule's latest setting for a service; false if it has none
	// or it is old.
	Advice(service int) (loadline.Setting, bool)
}

// Disagreement bounds the distance of a policy from the rule. It compares capacity,
// replicas times CPU, so that fewer but larger replicas are no disagreement, and corrects
// the number of replicas. A policy that proposes nothing for a service is taken to propose
// the present allocation, and is corrected upwards only.
type Disagreement struct {
	Rule      Adviser
	Low, High float64 // capacity, as factors of the rule's
	Slack     int     // replicas more or less that are always allowed
}

// Name returns the name of the guard in records.
func (Disagreement) Name() string { return "disagreement" }

// Check limits the replicas to the allowed distance.
func (g Disagreement) Check(_ time.Time, s loadline.Situation, service int, want loadline.Setting) (loadline.Setting, string) {
	advice, known := g.Rule.Advice(service)
	if !known {
		return want, ""
	}
	is := &s.InFlight[service]
	if is.Replicas == 0 && !want.Replicas.Set || is.Brownout || want.Brownout.Or(false) {
		return want, "" // at zero on purpose
	}
	theirs, ours := is.With(advice), is.With(want)
	ratio := 1.0 // of the rule's capacity of a replica to ours
	if a, b := capacity(theirs.Size), capacity(ours.Size); a > 0 && b > 0 {
		ratio = a / b
	}
	same := float64(theirs.Replicas) * ratio // replicas of ours that the rule's are worth
	low := math.Ceil(min(g.Low*same, same-float64(g.Slack)))
	high := math.Floor(max(g.High*same, same+float64(g.Slack)))
	v := float64(ours.Replicas)
	switch silent := !want.Replicas.Set; {
	case v < low:
		v = low
	case v > high && !silent:
		v = max(high, low)
	default:
		return want, ""
	}
	replicas.set(&want, v)
	return want, fmt.Sprintf("%d replicas are too far from the rule's %d: %.0f", ours.Replicas, theirs.Replicas, v)
}

// capacity of a replica is its CPU limit, or its request without one.
func capacity(size loadline.Size) float64 {
	if size.CPULimit > 0 {
		return size.CPULimit
	}
	return size.CPURequest
}
