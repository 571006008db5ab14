package bench

import (
	"math"

	"github.com/loadline/loadline/internal/result"
)

// studentT is the 97.5 % quantile of Student's t by degrees of freedom, from 1.
var studentT = []float64{
	12.706205, 4.302653, 3.182446, 2.776445, 2.570582, 2.446912, 2.364624, 2.306004, 2.262157, 2.228139,
	2.200985, 2.178813, 2.160369, 2.144787, 2.131450, 2.119905, 2.109816, 2.100922, 2.093024, 2.085963,
	2.079614, 2.073873, 2.068658, 2.063899, 2.059539, 2.055529, 2.051831, 2.048407, 2.045230, 2.042272,
}

// tQuantile beyond the table is the normal one with the first terms of its
// expansion in 1/df, exact to five digits there.
func tQuantile(df int) float64 {
	if df <= len(studentT) {
		return studentT[df-1]
	}
	const z = 1.959964
	n := float64(df)
	return z + (z*z*z+z)/(4*n) + (5*math.Pow(z, 5)+16*z*z*z+3*z)/(96*n*n)
}

// intervalOf values: their mean and its 95 % confidence interval, by Student's t.
// Values that are absent (not a number) are left out. One value has a mean and no
// interval; none has neither.
func intervalOf(values []float64) Interval {
	var present []float64
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			present = append(present, v)
		}
	}
	n := float64(len(present))
	sum := 0.0
	for _, v := range present {
		sum += v
	}
	mean := sum / n
	squares := 0.0
	for _, v := range present {
		squares += (v - mean) * (v - mean)
	}
	half := math.NaN()
	if len(present) > 1 {
		half = tQuantile(len(present)-1) * math.Sqrt(squares/(n-1)/n)
	}
	return Interval{Mean: result.Number(mean), Low: result.Number(mean - half), High: result.Number(mean + half)}
}
