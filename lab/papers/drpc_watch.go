package papers

import (
	"math"
	"time"

	"github.com/loadline/loadline/internal/sim"
)

// drpcWatch adds up users' results, minute by minute, from the exported metrics.
type drpcWatch struct {
	minutes []usersMinute
	before  usersMinute // totals up to the last minute that is kept
}

// usersMinute counts users' requests.
type usersMinute struct {
	end, span       time.Duration
	ended, failed   float64
	answered, waits float64 // completed requests, and their total seconds
}

// scrape implements simulate.Hooks.Scrape. The policy's scrape interval applies, so a minute
// ends with the first scrape after it.
func (w *drpcWatch) scrape(r *sim.Reading, _ *sim.ControlPlane) {
	if r.At < w.before.end+minute {
		return
	}
	now := usersMinute{end: r.At}
	for i := range r.Kinds {
		k := &r.Kinds[i]
		now.ended += k.Ended
		now.failed += k.Failed
		now.answered += k.Latency.Count
		now.waits += k.Latency.SumSeconds
	}
	w.minutes = append(w.minutes, usersMinute{r.At, r.At - w.before.end, now.ended - w.before.ended, now.failed - w.before.failed,
		now.answered - w.before.answered, now.waits - w.before.waits})
	w.before = now
}

// period sums up users' results in the minutes between two instants.
func (w *drpcWatch) period(from, to time.Duration) (successPerSecond, failedPercent, meanMs float64) {
	sum := usersMinute{}
	for _, m := range w.minutes {
		if middle := m.end - m.span/2; middle <= from || middle > to {
			continue
		}
		sum.span += m.span
		sum.ended += m.ended
		sum.failed += m.failed
		sum.answered += m.answered
		sum.waits += m.waits
	}
	if sum.ended == 0 {
		return 0, math.NaN(), math.NaN()
	}
	return (sum.ended - sum.failed) / sum.span.Seconds(), 100 * sum.failed / sum.ended, 1000 * sum.waits / sum.answered
}

// volatility of throughput: the standard deviation over minutes of the successful share of
// requests, over its mean. The share is used, not the number, since the load's own variation is
// not caused by a policy.
func (w *drpcWatch) volatility(from time.Duration) float64 {
	var shares []float64
	for _, m := range w.minutes {
		if m.end > from && m.ended > 0 {
			shares = append(shares, 1-m.failed/m.ended)
		}
	}
	return variation(shares)
}

// variation is the standard deviation over the mean.
func variation(values []float64) float64 {
	if len(values) < 2 {
		return math.NaN()
	}
	m, squares := mean(values), 0.0
	for _, v := range values {
		squares += (v - m) * (v - m)
	}
	return math.Sqrt(squares/float64(len(values)-1)) / m
}
