package sim

import (
	"math"
	"slices"
	"time"

	"github.com/loadline/loadline"
)

// series returns the latency reading of a scrape; nil = it was lost.
type series func(scrape int) *LatencyReading

// latency answers for the requests that ended between two scrapes, with one additional
// quantile.
func (o *observer) latency(oldest, newest int, of series, extra float64) (l loadline.Latency, atExtra loadline.Sample) {
	first, last := of(oldest), of(newest)
	at := Time(o.at(newest).At)
	l.Mean = sample(increase(first.SumSeconds, last.SumSeconds)/increase(first.Count, last.Count), at)
	if !l.Mean.Present() {
		return l, atExtra // nothing ended: no quantiles either
	}
	if last.Histogram != nil {
		if first.Histogram == nil {
			return l, atExtra
		}
		o.scratch.CopyFrom(last.Histogram)
		o.scratch.Sub(first.Histogram)
		seconds := func(q float64) loadline.Sample { return sample(o.scratch.Quantile(q)/1e9, at) }
		l.P50, l.P90, l.P95, l.P99 = seconds(0.50), seconds(0.90), seconds(0.95), seconds(0.99)
		return l, seconds(extra)
	}
	l.P50 = o.meanQuantile(oldest, newest, of, func(l *LatencyReading) float64 { return l.P50 })
	l.P90 = o.meanQuantile(oldest, newest, of, func(l *LatencyReading) float64 { return l.P90 })
	l.P95 = o.meanQuantile(oldest, newest, of, func(l *LatencyReading) float64 { return l.P95 })
	l.P99 = o.meanQuantile(oldest, newest, of, func(l *LatencyReading) float64 { return l.P99 })
	return l, o.meanQuantile(oldest, newest, of, func(l *LatencyReading) float64 { return l.AtSLO })
}

// meanQuantile is for engines that give quantiles per interval: their mean, weighted by the
// requests that ended in each.
func (o *observer) meanQuantile(oldest, newest int, of series, field func(*LatencyReading) float64) loadline.Sample {
	weighted, weight := 0.0, 0.0
	before := of(oldest).Count
	for s := oldest + 1; s <= newest; s++ {
		l := of(s)
		if l == nil {
			continue
		}
		ended := increase(before, l.Count)
		before = l.Count
		if v := field(l); ended > 0 && !math.IsNaN(v) {
			weighted += ended * v
			weight += ended
		}
	}
	return sample(weighted/weight, Time(o.at(newest).At))
}

// sample is absent where the value is NaN: 0/0 is not 0.
func sample(value float64, at time.Time) loadline.Sample {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return loadline.Sample{}
	}
	return loadline.Sample{Value: value, At: at}
}

func rate(first, last, seconds float64, at time.Time) loadline.Sample {
	return sample(increase(first, last)/seconds, at)
}

// increase of a counter. A lower value means a reset: the counter shows what was counted since.
func increase(first, last float64) float64 {
	if last < first {
		return last
	}
	return last - first
}

// resize keeps existing elements, and the memory that their slices hold.
func resize[T any](s []T, n int) []T {
	if cap(s) >= n {
		return s[:n]
	}
	return slices.Grow(s, n-len(s))[:n]
}

// serviceQuery describes how one metric of a service is read from its scrapes.
type serviceQuery struct {
	metric, per loadline.ServiceMetric
	aggregation loadline.Aggregation
	single      bool // one scrape is enough
	field       func(*loadline.ServiceObservation) *loadline.Sample
}

// serviceQueries are the metrics of the table that exporters show as numbers; latencies are
// read from histograms.
func serviceQueries() []serviceQuery {
	var list []serviceQuery
	for m, row := range loadline.ServiceTable {
		switch row.Aggregation {
		case loadline.PerSecond, loadline.Gauge, loadline.Total, loadline.Ratio:
			if row.Field != nil {
				single := row.Aggregation == loadline.Gauge || row.Aggregation == loadline.Total
				list = append(list, serviceQuery{loadline.ServiceMetric(m), row.Per, row.Aggregation, single, row.Field})
			}
		}
	}
	return list
}

// answer computes the metric from the oldest and the newest scrape of a window.
func (q *serviceQuery) answer(first, last *ServiceReading, seconds float64, at time.Time) loadline.Sample {
	switch q.aggregation {
	case loadline.PerSecond:
		return rate(first.Of[q.metric], last.Of[q.metric], seconds, at)
	case loadline.Ratio:
		return sample(increase(first.Of[q.metric], last.Of[q.metric])/increase(first.Of[q.per], last.Of[q.per]), at)
	}
	return sample(last.Of[q.metric], at)
}
