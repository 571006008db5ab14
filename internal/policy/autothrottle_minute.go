package policy

import (
	"time"

	"github.com/loadline/loadline"
)

// minute aggregates the tower's inputs, second by second.
type minute struct {
	since      time.Time
	seconds    int
	allocation float64 // sum of cores
	kinds      []kindMinute
	use        []float64 // by service: sum of cores, since the beginning
	useSeconds []int
}

// kindMinute is one kind of request.
type kindMinute struct {
	rates   float64 // sum of requests per second
	seconds int     // with a rate
	ended   float64 // requests with known latency, approximately
	over    float64 // of them, over the SLO
	latency float64 // sum of latencies at the SLO's percentile, weighted by requests
}

func newMinute(services int) minute {
	return minute{use: make([]float64, services), useSeconds: make([]int, services)}
}

func (m *minute) add(s loadline.Situation) {
	seen := s.Now()
	if m.kinds == nil {
		m.kinds = make([]kindMinute, len(seen.Kinds))
	}
	m.seconds++
	for i := range s.Allocation {
		m.allocation += float64(s.Allocation[i].Replicas) * s.Allocation[i].Size.CPULimit
		if use := seen.Services[i].CPU; use.Present() {
			m.use[i] += use.Value
			m.useSeconds[i]++
		}
	}
	for k := range m.kinds {
		kind, into := &seen.Kinds[k], &m.kinds[k]
		if !kind.Rate.Present() {
			continue
		}
		into.rates += kind.Rate.Value
		into.seconds++
		if kind.OverSLO.Present() {
			into.ended += kind.Rate.Value
			into.over += kind.Rate.Value * kind.OverSLO.Value
			into.latency += kind.Rate.Value * kind.AtSLO.Or(0)
		}
	}
}

// close completes the minute and begins the next. False without requests.
func (m *minute) close(now time.Time, app *loadline.App) (TowerSample, bool) {
	sample := TowerSample{Met: true, Allocation: m.allocation / float64(m.seconds)}
	found := false
	for k := range m.kinds {
		sum, slo := &m.kinds[k], app.Kinds[k].SLO
		if sum.seconds > 0 {
			sample.RPS += sum.rates / float64(sum.seconds)
		}
		if sum.ended > 0 && slo.Latency > 0 {
			found = true
			sample.Met = sample.Met && sum.over/sum.ended <= 1-slo.Percentile/100
			sample.OverSLO = max(sample.OverSLO, sum.latency/sum.ended/slo.Latency.Seconds())
		}
	}
	clear(m.kinds)
	m.since, m.seconds, m.allocation = now, 0, 0
	return sample, found
}

// meanUse of each service since the beginning, in cores.
func (m *minute) meanUse() []float64 {
	mean := make([]float64, len(m.use))
	for i := range mean {
		mean[i] = m.use[i] / float64(max(m.useSeconds[i], 1))
	}
	return mean
}
