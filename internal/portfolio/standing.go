package portfolio

import (
	"math"

	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/result"
)

// Limits of the share of requests over the SLO: what may be, and what the fluid engine must find to
// contradict that, as in an evaluation.
const (
	overAllowed = result.CountsIf
	overClearly = 3 * result.CountsIf
	// leastError is the difference in cost that counts for nothing, as in an evaluation.
	leastError = 0.02
)

// InARow is how many estimates must agree that another deployment is better.
const InARow = 3

// Error of the ratio of two deployments' costs in the fluid engine: how far it was from that of the
// event engine when both were judged, and no less than an evaluation takes for nothing. NaN = it is
// not known.
func (j *Judged) Error(current, other string) float64 {
	a, b := j.deployment(current), j.deployment(other)
	if a == nil || b == nil {
		return math.NaN()
	}
	byEvent, byFluid := float64(b.PerMonth/a.PerMonth), float64(b.WholePerMonth/a.WholePerMonth)
	return max(leastError, math.Abs(byFluid/byEvent-1))
}

// Current is the deployment that a LoadLine with a baseline runs, or with a model if it is ""; -1 = it
// was not judged.
func (j *Judged) Current(baseline string) int {
	for i := range j.Deployments {
		if p := j.Deployments[i].Policy; p == "" && baseline == "" || p != "" && policy.Canonical(p) == policy.Canonical(baseline) {
			return i
		}
	}
	return -1
}

func (j *Judged) deployment(label string) *Deployment {
	for i := range j.Deployments {
		if j.Deployments[i].Label == label {
			return &j.Deployments[i]
		}
	}
	return nil
}

// Ahead reports whether an estimate is better than the current deployment's by more than the error:
// it meets the SLO, and costs less or the current one clearly violates it.
func Ahead(current, other Estimate, relativeError float64) bool {
	if !(other.Over <= overAllowed) || math.IsNaN(relativeError) {
		return false
	}
	return current.Over > overClearly || other.PerMonth < current.PerMonth*(1-relativeError)
}
