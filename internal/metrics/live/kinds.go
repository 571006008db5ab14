package live

import (
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/history"
)

// kind fills in what users of one kind of request saw.
func (a *answers) kind(i int, p *place, k *loadline.Kind, into *loadline.KindObservation) {
	if p.why == "" {
		a.measured(p, k, into)
	}
	if share := a.plan.shares[i]; share != none {
		into.OverSLO = a.sample(share, entry{})
		into.OverSLO.Value = min(1, max(0, into.OverSLO.Value))
	}
}

// inQueue fills in the time that messages spend in a queue. They are taken in their order, so that all
// of them take about as long: the mean is every quantile, and all or none are over the SLO.
func (a *answers) inQueue(p *place, k *loadline.Kind, into *loadline.KindObservation) {
	e := entry{name: p.service}
	into.Rate = a.sample(a.plan.service[history.Rate], e)
	into.Latency = a.timeInQueue(e)
	into.AtSLO = into.Latency.Mean
	if into.AtSLO.Present() {
		into.OverSLO.At = into.AtSLO.At
		if into.AtSLO.Value > k.SLO.Latency.Seconds() {
			into.OverSLO.Value = 1
		}
	}
}

func (a *answers) timeInQueue(e entry) loadline.Latency {
	mean := a.sample(a.plan.service[history.LatencyMean], e)
	return loadline.Latency{Mean: mean, P50: mean, P90: mean, P95: mean, P99: mean}
}

func (a *answers) measured(p *place, k *loadline.Kind, into *loadline.KindObservation) {
	if p.queue {
		a.inQueue(p, k, into)
		return
	}
	m := a.measuredBy(p)
	into.Rate = a.sum(m.rate, m.entries)
	into.Failed = a.sum(m.errors, m.entries)
	if p.direct && into.Rate.Present() {
		into.Rate.Value = max(0, into.Rate.Value-a.known(p.service))
	}
	into.Latency.Mean = a.mean(m)
	if m.buckets != none {
		a.byBuckets(m, k, into)
		return
	}
	for i, field := range latencyFields(&into.Latency) {
		*field = a.worst(m.each[i], m.entries)
		if quantiles[i] == k.SLO.Percentile/100 {
			into.AtSLO = *field
		}
	}
}

// measure is the questions that speak of a kind, and whose answers count.
type measure struct {
	entries                             []entry
	rate, errors, mean, buckets, failed int
	each                                []int // by quantile, where there are no buckets
}

func (a *answers) measuredBy(p *place) measure {
	if p.service != "" {
		of := &a.plan.service
		return measure{
			entries: []entry{{name: p.service}}, rate: of[history.Rate], errors: of[history.Errors], mean: of[history.LatencyMean],
			buckets: a.buckets, failed: a.failed, each: of[history.LatencyP50:],
		}
	}
	of := &a.plan.call
	return measure{
		entries: p.entries, rate: of[history.CallRate], errors: of[history.CallErrors], mean: of[history.CallMean],
		buckets: a.users, failed: a.usersFail, each: of[history.CallP50:],
	}
}

// oldest is the age of a value that is made of several: it is as old as the oldest.
func (a *answers) oldest(question int, entries []entry) time.Time {
	return slices.MinFunc(a.times(question, entries), time.Time.Compare)
}

func (a *answers) times(question int, entries []entry) []time.Time {
	list := make([]time.Time, len(entries))
	for i, e := range entries {
		list[i] = a.at(question, e)
	}
	return list
}

// having are the entries of which a question has a value.
func (a *answers) having(question int, entries []entry) []entry {
	return slices.DeleteFunc(slices.Clone(entries), func(e entry) bool {
		_, has := a.value(question, e)
		return !has
	})
}

func (a *answers) sum(question int, entries []entry) loadline.Sample {
	entries = a.having(question, entries)
	if len(entries) == 0 {
		return loadline.Sample{}
	}
	sum := loadline.Sample{At: a.oldest(question, entries)}
	for _, e := range entries {
		v, _ := a.value(question, e)
		sum.Value += v
	}
	return sum
}

func (a *answers) worst(question int, entries []entry) loadline.Sample {
	entries = a.having(question, entries)
	if len(entries) == 0 {
		return loadline.Sample{}
	}
	worst := loadline.Sample{At: a.oldest(question, entries)}
	for _, e := range entries {
		v, _ := a.value(question, e)
		worst.Value = max(worst.Value, v)
	}
	return worst
}

// mean over the entries by how many requests each has; a single one needs no rate.
func (a *answers) mean(m measure) loadline.Sample {
	entries := a.having(m.mean, m.entries)
	if len(entries) == 1 {
		return a.sample(m.mean, entries[0])
	}
	entries = a.having(m.rate, entries)
	weight, sum := 0.0, 0.0
	for _, e := range entries {
		rate, _ := a.value(m.rate, e)
		mean, _ := a.value(m.mean, e)
		weight += rate
		sum += rate * mean
	}
	if weight == 0 {
		return loadline.Sample{}
	}
	return loadline.Sample{Value: sum / weight, At: a.oldest(m.mean, entries)}
}

// known is the rate at which users and services are seen to ask a service.
func (a *answers) known(service string) float64 {
	question := a.plan.call[history.CallRate]
	if question == none {
		return 0
	}
	rate := a.list[question].inside[service]
	for e, v := range a.list[question].values {
		if e.name == service {
			rate += v
		}
	}
	return rate
}

// byBuckets takes quantiles and the share over the SLO from the histogram.
func (a *answers) byBuckets(m measure, k *loadline.Kind, into *loadline.KindObservation) {
	var all, failed histogram
	var entries []entry
	for _, e := range m.entries {
		if h := a.histogram(m.buckets, e); h != nil {
			all = all.plus(h)
			failed = failed.plus(a.histogram(m.failed, e))
			entries = append(entries, e)
		}
	}
	if all.total() == 0 {
		return
	}
	at := a.oldest(m.buckets, entries)
	take := func(field *loadline.Sample, q float64) {
		if v, known := all.quantile(q); known {
			*field = loadline.Sample{Value: v, At: at}
		}
	}
	for i, field := range latencyFields(&into.Latency) {
		take(field, quantiles[i])
	}
	take(&into.AtSLO, k.SLO.Percentile/100)
	// Without any query for failures they count as good, as in a history; one that
	// failed itself leaves it open.
	if len(all) > 1 && (into.Failed.Present() || m.errors == none) {
		into.OverSLO = loadline.Sample{Value: overSLO(all, failed, into.Failed.Value, k.SLO.Latency.Seconds()), At: at}
	}
}

// overSLO is the share of requests that took longer than the SLO or failed. Failures
// that the histogram does not show as such may be among those within it, and are
// taken to be: many fail quickly.
func overSLO(all, failed histogram, errors, latency float64) float64 {
	hidden := max(0, errors-failed.total())
	good := all.within(latency) - failed.within(latency) - hidden
	return min(1, max(0, 1-good/all.total()))
}
