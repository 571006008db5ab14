package kedascaler

import "math"

// DefaultHPATolerance is Kubernetes' default
// (--horizontal-pod-autoscaler-tolerance).
const DefaultHPATolerance = 0.1

// target is the metric's target per replica: one, so that the value is the number
// of replicas.
const target = 1

// HPAReplicas is the number of replicas that Kubernetes' HPA computes from an
// external metric whose target is an AverageValue of 1: it holds while
// value/replicas is within the tolerance of 1, and otherwise takes the value,
// rounded up. The value is in thousandths, as it reaches the HPA; current is the
// scale's status.replicas.
//
// It does not include what the HPA does afterwards: bounds, behaviour, other
// metrics.
func HPAReplicas(thousandths int64, current int, tolerance float64) int {
	ratio := float64(thousandths) / (1000 * target * float64(current))
	if 1-tolerance <= ratio && ratio <= 1+tolerance {
		return current
	}
	return int(math.Ceil(float64(thousandths) / (1000 * target)))
}

// justAbove is added to an integer so that it is rounded up to the next. It is a
// sum of powers of two, and more than a thousandth, so that it survives both a
// float64 and KEDA's thousandths.
const justAbove = 1.0 / 64

// ValueBeyondTolerance is the value for which the HPA, with this number of replicas and
// tolerance, ends as close to desired as possible, and not below. It is not
// higher than needed: where the HPA would take desired itself, that is the value.
//
// From 10 replicas on (at the default tolerance of 0.1) an increase of up to a
// tenth is ignored, and only a value beyond the tenth has an effect: 12 for a
// desired 11 of 10, 111 for a desired 101 of 100. So the excess is at most one up
// to 19 replicas, and at most a tenth of the replicas beyond.
//
// A decrease of up to a tenth is ignored as well. Because the HPA rounds up after
// applying the tolerance, a value just above desired-1 may have an effect where
// desired does not, and ends at desired: one fewer is reached up to 19 replicas.
// Beyond that the HPA stays above desired: every other value that has an effect
// ends below.
func ValueBeyondTolerance(desired, current int, tolerance float64) float64 {
	value := float64(desired)
	if current < 1 || desired < 1 || desired == current || takes(value, current, tolerance) {
		return value
	}
	if desired < current {
		if lower := value - 1 + justAbove; takes(lower, current, tolerance) {
			return lower
		}
		return value
	}
	value = max(value, math.Floor((1+tolerance)*float64(current)))
	for !takes(value, current, tolerance) {
		value++
	}
	return value
}

// takes reports whether the HPA changes the current replicas for this value.
func takes(value float64, current int, tolerance float64) bool {
	return HPAReplicas(int64(value*1000), current, tolerance) != current
}
