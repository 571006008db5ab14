package simulate

import (
	"math"
	"strconv"

	"github.com/loadline/loadline/internal/sim"
)

// istioBuckets are the upper bounds of Istio's latency histograms, in
// milliseconds. The last bucket, +Inf, has all.
var istioBuckets = []float64{0.5, 1, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 30000, 60000, 300000, 600000, 1800000, 3600000}

// bucketLabel is a bound as the label "le" has it.
func bucketLabel(i int) string {
	if i == len(istioBuckets) {
		return "+Inf"
	}
	s := strconv.FormatFloat(istioBuckets[i], 'f', -1, 64)
	if istioBuckets[i] == math.Trunc(istioBuckets[i]) {
		s += ".0" // the canonical form of OpenMetrics
	}
	return s
}

// cumulative is what a latency reading comes to in Istio's buckets: how many
// requests took at most so long. The fluid engine knows the quantiles of the
// time since its last reading only, so its requests are added to what was there
// before, spread evenly between the quantiles.
func cumulative(l *sim.LatencyReading, before []float64, countBefore float64) []float64 {
	counts := make([]float64, len(istioBuckets)+1)
	counts[len(istioBuckets)] = l.Count
	for i, bound := range istioBuckets {
		switch {
		case l.Count <= 0:
		case l.Histogram != nil:
			counts[i] = l.Count * (1 - l.Histogram.ShareAbove(bound*1e6))
		default:
			counts[i] = before[i] + max(0, l.Count-countBefore)*shareWithin(l, bound/1000)
		}
	}
	return counts
}

// shareWithin is the share of requests that took at most so many seconds, by
// the quantiles that are known.
func shareWithin(l *sim.LatencyReading, seconds float64) float64 {
	if math.IsNaN(l.P50) {
		return 0
	}
	points := [...]struct{ at, share float64 }{
		{0, 0}, {l.P50, 0.5}, {l.P90, 0.9}, {l.P95, 0.95}, {l.P99, 0.99}, {1.5 * l.P99, 1},
	}
	for i := 1; i < len(points); i++ {
		if a, b := points[i-1], points[i]; seconds < b.at {
			return a.share + (b.share-a.share)*(seconds-a.at)/(b.at-a.at)
		}
	}
	return 1
}
