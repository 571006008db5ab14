package rivals

import (
	"math"

	"github.com/loadline/loadline"
)

// LocateWidth is the number of symptoms of a service.
const LocateWidth = 2

// LocateFeatures are the names of the symptoms.
var LocateFeatures = [LocateWidth]string{"correlation", "congestion"}

// minObservations is the number of observations that a correlation takes at least.
const minObservations = 4

// symptoms of a service on a critical path: the correlation of its own response time with
// that of the path (Pearson), and the logarithm of its 99th percentile over its median.
// What was not measured is 0, which is neutral.
func (p pathFinder) symptoms(window []loadline.Observation, kind, service int, into []float64) []float64 {
	var own, path []float64
	for i := range window {
		took := window[i].Services[service].Own.Mean
		if !took.Present() {
			continue
		}
		_, seconds := p.critical(&window[i], kind)
		own, path = append(own, took.Value), append(path, seconds)
	}
	congestion := 0.0
	now := &window[len(window)-1].Services[service].Own
	if now.P99.Present() && now.P50.Present() && now.P50.Value > 0 {
		congestion = math.Log2(max(now.P99.Value/now.P50.Value, 1))
	}
	return append(into, Pearson(own, path), congestion)
}

// Pearson's correlation of two series; 0 if undefined.
func Pearson(a, b []float64) float64 {
	n := float64(len(a))
	if len(a) < minObservations {
		return 0
	}
	var meanA, meanB float64
	for i := range a {
		meanA += a[i] / n
		meanB += b[i] / n
	}
	var both, squareA, squareB float64
	for i := range a {
		da, db := a[i]-meanA, b[i]-meanB
		both += da * db
		squareA += da * da
		squareB += db * db
	}
	r := both / math.Sqrt(squareA*squareB)
	if math.IsNaN(r) || math.IsInf(r, 0) {
		return 0
	}
	return r
}
