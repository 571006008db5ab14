package simulate

import (
	"math"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
)

// serviceSums is the current step of one service: growth of counters, means of gauges, by
// metric.
type serviceSums struct {
	grown   [loadline.ServiceMetrics]float64
	means   [loadline.ServiceMetrics]mean
	latency latencySums
}

// value of a metric at the end of a step. A ratio such as throttled periods is NaN, which is
// absent, if nothing happened.
func (s *serviceSums) value(m loadline.ServiceMetric, seconds float64) float64 {
	row := &loadline.ServiceTable[m]
	switch row.Aggregation {
	case loadline.PerSecond:
		return s.grown[m] / seconds
	case loadline.Total:
		return s.grown[m]
	case loadline.Ratio:
		return s.grown[m] / s.grown[row.Per]
	case loadline.Mean:
		return s.latency.mean()
	case loadline.Quantile:
		return s.latency.quantile(int(m - loadline.ServiceLatencyP50))
	}
	return s.means[m].value()
}

// callSums is the current step of the requests of one kind, or of the calls from one service to
// another.
type callSums struct {
	count, failed float64
	latency       latencySums
}

// latencySums is the latency of requests that ended in the step.
type latencySums struct {
	count, seconds float64
	buckets        *sim.Histogram // of an engine that counts in buckets; nil otherwise
	quantiles      [4]mean        // of an engine that gives quantiles per interval
}

// quantiles that a history keeps.
var quantiles = [4]float64{0.50, 0.90, 0.95, 0.99}

// add adds a share of the requests that ended between two readings.
func (l *latencySums) add(before, now *sim.LatencyReading, share float64) {
	ended := share * (now.Count - before.Count)
	if ended <= 0 {
		return
	}
	l.count += ended
	l.seconds += share * (now.SumSeconds - before.SumSeconds)
	if now.Histogram != nil {
		if l.buckets == nil {
			l.buckets = sim.NewHistogram(sim.ExporterBits)
		}
		l.buckets.AddSince(before.Histogram, now.Histogram, share)
		return
	}
	for i, v := range [4]float64{now.P50, now.P90, now.P95, now.P99} {
		l.quantiles[i].add(v, ended)
	}
}

// mean in seconds; NaN = nothing ended.
func (l *latencySums) mean() float64 { return l.seconds / l.count }

// quantile in seconds, by its place in quantiles; NaN = nothing ended.
func (l *latencySums) quantile(i int) float64 {
	if l.buckets != nil {
		return l.buckets.Quantile(quantiles[i]) / 1e9
	}
	return l.quantiles[i].value()
}

// reset begins the next step.
func (l *latencySums) reset() {
	buckets := l.buckets
	*l = latencySums{buckets: buckets}
	if buckets != nil {
		buckets.Reset()
	}
}

// mean is a weighted mean of the present values; NaN of none.
type mean struct{ sum, weight float64 }

func (m *mean) add(value, weight float64) {
	if !math.IsNaN(value) && weight > 0 {
		m.sum += weight * value
		m.weight += weight
	}
}

func (m *mean) value() float64 { return m.sum / m.weight }

// keepLatency copies a reading, whose histogram the engine reuses.
func keepLatency(into *sim.LatencyReading, from *sim.LatencyReading) {
	buckets := into.Histogram
	*into = *from
	if from.Histogram == nil {
		return
	}
	if buckets == nil {
		buckets = sim.NewHistogram(sim.ExporterBits)
	}
	buckets.CopyFrom(from.Histogram)
	into.Histogram = buckets
}
