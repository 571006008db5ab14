package live

import (
	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/history"
)

// service fills in what is known of one.
func (a *answers) service(name string, queued bool, into *loadline.ServiceObservation) {
	e := entry{name: name}
	for _, m := range observed() {
		*loadline.ServiceTable[m].Field(into) = a.sample(a.plan.service[m], e)
	}
	if queued {
		into.Latency = a.timeInQueue(e)
		return
	}
	into.Latency = a.latency(a.plan.service[history.LatencyMean], a.buckets, e, a.plan.service[history.LatencyP50:])
}

// latency from the buckets, or from a question for each quantile.
func (a *answers) latency(mean, histogram int, e entry, each []int) loadline.Latency {
	l := loadline.Latency{Mean: a.sample(mean, e)}
	for i, field := range latencyFields(&l) {
		if histogram == none {
			*field = a.sample(each[i], e)
		} else if v, known := a.histogram(histogram, e).quantile(quantiles[i]); known {
			*field = loadline.Sample{Value: v, At: a.at(histogram, e)}
		}
	}
	return l
}

// latencyFields are the quantiles in their order.
func latencyFields(l *loadline.Latency) []*loadline.Sample {
	return []*loadline.Sample{&l.P50, &l.P90, &l.P95, &l.P99}
}

// pods fills in what is known of a service's pods.
func (a *answers) pods(names []string, into []loadline.PodObservation) {
	for i := range min(len(names), len(into)) {
		e, p := entry{name: names[i]}, &into[i]
		for m, row := range loadline.PodTable {
			if row.Field != nil {
				*row.Field(p) = a.sample(a.pod[m], e)
			}
		}
	}
}
