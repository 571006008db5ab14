package portfolio

import (
	"math"
	"time"

	"github.com/loadline/loadline"
)

const (
	loadStep = time.Minute
	loadSpan = 24 * time.Hour
	// longestGap in what was measured of the load that is bridged with the load before it.
	longestGap = 5 * time.Minute
)

// LoadRecord is the load of the last day, minute by minute. It is for one goroutine.
type LoadRecord struct {
	kinds  int
	end    time.Time   // of the last minute
	rates  [][]float64 // by minute and kind, the oldest first; NaN = not measured
	sum    []float64   // of the minute that is not over
	counts int
}

// NewLoadRecord of an application with so many kinds of requests.
func NewLoadRecord(kinds int) *LoadRecord {
	return &LoadRecord{kinds: kinds, sum: make([]float64, kinds)}
}

// Observe the requests per second. An observation without one of them is none.
func (r *LoadRecord) Observe(o *loadline.Observation) {
	minute := o.At.Truncate(loadStep)
	if r.end.IsZero() {
		r.end = minute
	}
	for r.end.Before(minute) {
		if minute.Sub(r.end) > loadSpan { // after a long pause all is gone
			r.rates, r.end, r.counts = r.rates[:0], minute, 0
			clear(r.sum)
			break
		}
		r.push()
		r.end = r.end.Add(loadStep)
	}
	for k := range o.Kinds {
		if !o.Kinds[k].Rate.Present() {
			return
		}
	}
	for k := range o.Kinds {
		r.sum[k] += o.Kinds[k].Rate.Value
	}
	r.counts++
}

// push the minute that is over.
func (r *LoadRecord) push() {
	row := make([]float64, r.kinds)
	if len(r.rates) >= int(loadSpan/loadStep) {
		row = r.rates[0]
		copy(r.rates, r.rates[1:])
		r.rates = r.rates[:len(r.rates)-1]
	}
	for k := range row {
		row[k] = math.NaN()
		if r.counts > 0 {
			row[k] = r.sum[k] / float64(r.counts)
		}
		r.sum[k] = 0
	}
	r.counts = 0
	r.rates = append(r.rates, row)
}

// Last is the load until now, at most so long, back to a gap that cannot be bridged; nil = none.
func (r *LoadRecord) Last(most time.Duration) *RecordedLoad {
	gap, first := time.Duration(0), len(r.rates)
	for i := len(r.rates) - 1; i >= 0 && len(r.rates)-i <= int(most/loadStep); i-- {
		if gap += loadStep; r.kinds > 0 && !math.IsNaN(r.rates[i][0]) {
			gap, first = 0, i
		}
		if gap > longestGap {
			break
		}
	}
	if first == len(r.rates) {
		return nil
	}
	l := &RecordedLoad{From: r.end.Add(-time.Duration(len(r.rates)-first) * loadStep)}
	for _, row := range r.rates[first:] {
		if math.IsNaN(row[0]) {
			row = l.rates[len(l.rates)-1]
		}
		l.rates = append(l.rates, append([]float64(nil), row...))
	}
	return l
}

// RecordedLoad is a load as it was observed: sim.Arrivals.
type RecordedLoad struct {
	From  time.Time
	rates [][]float64
}

// Duration of the load.
func (l *RecordedLoad) Duration() time.Duration { return time.Duration(len(l.rates)) * loadStep }

// Rate of a kind of request, constant for a minute.
func (l *RecordedLoad) Rate(kind int, t time.Duration) (perSecond float64, until time.Duration) {
	i := min(int(t/loadStep), len(l.rates)-1)
	return l.rates[i][kind], time.Duration(int(t/loadStep)+1) * loadStep
}

// Mean requests per second of all kinds.
func (l *RecordedLoad) Mean() float64 {
	sum := 0.0
	for _, row := range l.rates {
		for _, v := range row {
			sum += v
		}
	}
	return sum / float64(len(l.rates))
}

// Since is the same load without the time before the last part of it.
func (l *RecordedLoad) Since(last time.Duration) *RecordedLoad {
	if n := int(last / loadStep); n > 0 && n < len(l.rates) {
		cut := len(l.rates) - n
		return &RecordedLoad{From: l.From.Add(time.Duration(cut) * loadStep), rates: l.rates[cut:]}
	}
	return l
}
