package kedascaler

import "math"

// DefaultHPATolerance is what a cluster has where nobody set it
// (--horizontal-pod-autoscaler-tolerance).
const DefaultHPATolerance = 0.1

// target is what each replica is to carry of the metric: one, so that the value
// is the number of replicas.
const target = 1

// HPAReplicas is what Kubernetes' HPA makes of an external metric whose target
// is an AverageValue of 1: it holds while value/replicas is within the tolerance
// of 1, and otherwise takes the value, rounded up. The value comes in
// thousandths, as it reaches the HPA; current is the scale's status.replicas.
//
// What the HPA does afterwards is not in it: bounds, behaviour, other metrics.
func HPAReplicas(thousandths int64, current int, tolerance float64) int {
	ratio := float64(thousandths) / (1000 * target * float64(current))
	if 1-tolerance <= ratio && ratio <= 1+tolerance {
		return current
	}
	return int(math.Ceil(float64(thousandths) / (1000 * target)))
}

// justAbove is added to a whole number so that it is rounded up to the next. It
// is a sum of powers of two, and more than a thousandth, so that it survives both
// a float64 and KEDA's thousandths.
const justAbove = 1.0 / 64

// Overshoot is the value with which the HPA, at so many replicas and with that
// tolerance, ends as near to desired as it can, and at no fewer. It is not more
// than needed: where the HPA would take desired itself, that is the value.
//
// From 10 replicas on (at the default tolerance of 0.1) a rise of up to a tenth
// is swallowed, and the only way past is a value beyond the tenth: 12 where 11 is
// wanted of 10, 111 where 101 is wanted of 100. So the excess is at most one up
// to 19 replicas, and at most a tenth of the replicas whatever their number.
//
// A fall of up to a tenth is swallowed as well. Since the HPA rounds up after it
// judged the tolerance, a value just above desired-1 may get past where desired
// does not, and lands on desired: one fewer is reached up to 19 replicas. Beyond
// that the HPA is left where it is, above desired: every other value that gets
// past ends below.
func Overshoot(desired, current int, tolerance float64) float64 {
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

// takes says whether the HPA leaves the replicas that there are for this value.
func takes(value float64, current int, tolerance float64) bool {
	return HPAReplicas(int64(value*1000), current, tolerance) != current
}
