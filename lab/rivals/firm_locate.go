package rivals

import (
	"math"

	"github.com/loadline/loadline"
)

// LocateWidth is how many symptoms a service has.
const LocateWidth = 2

// LocateFeatures names them.
var LocateFeatures = [LocateWidth]string{"correlation", "congestion"}

// minObservations are needed before two series can be said to go together.
const minObservations = 4

// symptoms of a service on a critical path: how its own response time goes together
// with that of the path (Pearson), and how far its 99th percentile is from its
// median, as a logarithm. What was not measured is 0, which is neither.
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

// Pearson's correlation of two series; 0 where it is not defined.
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
