package guard

import (
	"time"

	"github.com/loadline/loadline"
)

// BurnWindows is one condition under which an error budget burns: it is spent at Rate times
// the sustainable pace over the long window, which excludes short spikes, and over the
// short window, which shows that it has not ended.
type BurnWindows struct {
	Short, Long time.Duration
	Rate        float64
}

// Burn measures how fast each kind of request spends its error budget: the
// share of requests over the SLO, divided by the share that the SLO allows.
type Burn struct {
	width   time.Duration // of a bucket
	maxAge  time.Duration
	clock   clock
	slos    []loadline.SLO // by kind
	budgets []float64      // likewise
	kinds   []spending
}

// spending is one kind's requests, bucket by bucket.
type spending struct {
	ring     []bucket
	newest   int64
	counted  time.Time // the sample that was counted last
	rate     float64   // last seen, requests per second
	measured instant
	covered  instant // since when every pass has measured it
}

type bucket struct{ over, all float64 } // requests

// NewBurn returns a meter for windows up to the longest, with a resolution of a sixth of
// the shortest.
func NewBurn(app *loadline.App, maxAge, shortest, longest time.Duration) *Burn {
	b := &Burn{width: max(shortest/6, time.Second), maxAge: maxAge}
	b.budgets = make([]float64, len(app.Kinds))
	b.slos = make([]loadline.SLO, len(app.Kinds))
	b.kinds = make([]spending, len(app.Kinds))
	for i := range b.kinds {
		const least = 1e-6 // an SLO of 100 % would burn infinitely with one request
		b.slos[i] = app.Kinds[i].SLO
		b.budgets[i] = max(1-app.Kinds[i].SLO.Percentile/100, least)
		b.kinds[i].ring = make([]bucket, int(longest/b.width)+2)
		b.kinds[i].rate = 1
	}
	return b
}

// See adds an observation.
func (b *Burn) See(now time.Time, s loadline.Situation) {
	at := b.clock.advance(now)
	for i := range b.kinds {
		k := &b.kinds[i]
		k.turn(int64(at / b.width))
		if len(s.Window) > 0 && i < len(s.Now().Kinds) {
			b.count(i, at, now, &s.Now().Kinds[i])
		}
		k.covered.keep(at, !b.clock.interrupted, k.measured.set && k.measured.at == at)
	}
}

// count adds the latest sample of one kind. A repeated sample counts once; each sample
// covers the time since the one before. A kind without requests has no share over the SLO,
// and that counts as measured.
func (b *Burn) count(kind int, at time.Duration, now time.Time, seen *loadline.KindObservation) {
	k := &b.kinds[kind]
	if usable(seen.Rate, now, b.maxAge) {
		k.rate = seen.Rate.Value
		if k.rate == 0 {
			k.measured.mark(at)
		}
	}
	over := seen.OverSLO
	if !usable(over, now, b.maxAge) || over.Value > 1 {
		return
	}
	k.measured.mark(at)
	once := b.width // what a sample stands for that no other precedes
	if b.clock.period != nil {
		once = max(once, b.clock.period())
	}
	elapsed := once
	if !k.counted.IsZero() && !over.At.Before(k.counted) { // else the clock was set back
		elapsed = min(over.At.Sub(k.counted), b.maxAge)
	}
	if b.clock.interrupted { // it says nothing about the time between, which does not count
		elapsed = min(elapsed, once)
		if over.Value <= b.budgets[kind] {
			elapsed, k.counted = 0, over.At // and does not dilute what comes
		}
	}
	if elapsed == 0 {
		return
	}
	k.counted = over.At
	all := k.rate * elapsed.Seconds()
	bucket := &k.ring[k.newest%int64(len(k.ring))]
	bucket.all += all
	bucket.over += all * over.Value
}

// turn empties expired buckets.
func (k *spending) turn(n int64) {
	size := int64(len(k.ring))
	for i := max(k.newest+1, n-size+1); i <= n; i++ {
		k.ring[i%size] = bucket{}
	}
	k.newest = max(k.newest, n)
}

// Rate is how many times faster than allowed a kind has spent its budget over a
// window, and how many requests were over; not known if the window holds no
// measurement.
func (b *Burn) Rate(kind int, window time.Duration) (rate, over float64, known bool) {
	k := &b.kinds[kind]
	all := 0.0
	size := int64(len(k.ring))
	for i := range min(int64(window/b.width)+1, size) {
		if k.newest-i < 0 {
			break
		}
		bucket := &k.ring[(k.newest-i)%size]
		over += bucket.over
		all += bucket.all
	}
	if all > 0 {
		rate = over / all / b.budgets[kind]
	}
	return rate, over, k.measured.within(b.clock.at, window)
}

// Worst is the kind that burns fastest over a window; not known if none is
// measured.
func (b *Burn) Worst(window time.Duration) (kind int, rate, over float64, known bool) {
	for i := range b.kinds {
		r, o, measured := b.Rate(i, window)
		if measured && (!known || r > rate) {
			kind, rate, over, known = i, r, o, true
		}
	}
	return kind, rate, over, known
}

// lost names a kind that was measured once and is not over the window, or -1.
func (b *Burn) lost(window time.Duration) int {
	for i := range b.kinds {
		if m := b.kinds[i].measured; m.set && !m.within(b.clock.at, window) {
			return i
		}
	}
	return -1
}

// uncovered names a kind that was measured once, and not in every pass of the window,
// or -1. What was not measured may have burned.
func (b *Burn) uncovered(window time.Duration) int {
	for i := range b.kinds {
		if k := &b.kinds[i]; k.measured.set && !k.covered.reaches(b.clock.at, window) {
			return i
		}
	}
	return -1
}

// Firing returns the first condition that holds, and the kind for which it does. minOver
// excludes a high share of very few requests. Time before the first observation counts as
// within the SLO: five minutes of data do not fill a window of an hour.
func (b *Burn) Firing(conditions []BurnWindows, minOver float64) (kind int, which BurnWindows, firing bool) {
	for _, c := range conditions {
		for i := range b.kinds {
			short, _, _ := b.Rate(i, c.Short)
			long, over, _ := b.Rate(i, c.Long)
			long *= min(1, float64(b.clock.at+b.width)/float64(c.Long))
			if short >= c.Rate && long >= c.Rate && over >= minOver {
				return i, c, true
			}
		}
	}
	return 0, BurnWindows{}, false
}
