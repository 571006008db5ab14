package guard

import "time"

// peak is the highest value within a span of time, in a few buckets. It drops a value
// between one span and one span plus one bucket after it was added.
type peak struct {
	highest [peakBuckets]float64
	newest  int64 // number of the newest bucket
	begun   bool
	last    time.Duration
}

const peakBuckets = 7 // a span is six of them, and one is being filled

func (p *peak) add(at, span time.Duration, v float64) {
	n := p.turn(at, span)
	if slot := &p.highest[n%peakBuckets]; v > *slot {
		*slot = v
	}
	p.begun, p.last = true, at
}

// turn drops expired buckets and returns the number of the newest.
func (p *peak) turn(at, span time.Duration) int64 {
	width := max(span/(peakBuckets-1), 1)
	n := int64(at / width)
	for k := max(p.newest+1, n-peakBuckets+1); k <= n; k++ {
		p.highest[k%peakBuckets] = 0
	}
	p.newest = max(p.newest, n)
	return p.newest
}

// get returns the highest value, if one came within the span.
func (p *peak) get(at, span time.Duration) (float64, bool) {
	if !p.begun || at-p.last > span {
		return 0, false
	}
	p.turn(at, span)
	highest := 0.0
	for _, v := range p.highest {
		highest = max(highest, v)
	}
	return highest, true
}
