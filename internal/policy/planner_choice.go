package policy

import (
	"fmt"
	"math"
	"time"
)

// loadForecast chooses among forecasts of the load by their record. The candidates are analogs with
// the share in force, quantiles of the analogs, and multiples of what boosted trees forecast. A fading
// record keeps the capacity that each of them would have held, and the load that came in excess of it.
// The candidate with the least loss is used, which is capacity + price * excess: the pinball loss of a
// quantile of 1 - 1/price. The price is the lowest at which that candidate's excess was within the
// share that is asked for.
//
// For a given share of all load in excess, the mean capacity is least if the chance of an excess is
// the same at all moments: a quantile. Analogs by themselves hold the share at every moment, which
// costs more but needs no record; they apply until there is one.
type loadForecast struct {
	*analogs
	trees   boosted
	used    [len(leads)]bool
	records [len(leads)]forecastRecord
	pending []pendingForecast
	levels  [len(analogLevels)]float64
	planned [len(leads)]float64 // growth by the chosen candidate; NaN = not calculated yet
}

// The candidates, by index: the share in force, then the levels, then the multiples.
var (
	analogLevels = [...]float64{0.7, 0.8, 0.9, 0.95, 0.97, 0.98, 0.985, 0.99, 0.995, 0.998}
	treeFactors  = [...]float64{0.3, 0.5, 0.65, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 2}
)

const (
	byShare    = 0
	byLevel    = 1
	byTrees    = byLevel + len(analogLevels)
	candidates = byTrees + len(treeFactors)
	// recordHalfLife of what is recorded.
	recordHalfLife = 48 * time.Hour
	// recordLeast forecasts are recorded before one is chosen by them: half a day. A share of 0.2 %
	// is not known from less.
	recordLeast = 720
	// choiceGain is by how much the loss of another candidate must be less to be chosen.
	choiceGain = 0.02
	// lowestPrice and highestPrice of an excess: quantiles from 0.75 to 0.996. What no forecast can
	// cover is not paid for at any price.
	lowestPrice, highestPrice, priceStep = 4, 256, 1.4
	// mostCapacity of a candidate, relative to that of the analogs with the share in force: where no
	// forecast keeps the share, none may cost many times as much.
	mostCapacity = 1.5
	// shareSlack: the record of a share that is held as asked varies around it.
	shareSlack = 1.25
	// warmLead is recorded from the start, before lead times are asked for.
	warmLead = 75 * time.Second
)

// forecastRecord is what the candidates would have held within one of the leads.
type forecastRecord struct {
	load, count float64
	of          [candidates]struct{ capacity, excess float64 }
	last        int64 // Unix time in nanoseconds
	chosen      int
}

// pendingForecast are the candidates' forecasts at a moment, until the lead has passed.
type pendingForecast struct {
	at     int64
	lead   int8
	level  float64
	most   float64
	growth [candidates]float32
}

func newLoadForecast(shortfall float64) *loadForecast {
	f := &loadForecast{analogs: newAnalogs(shortfall)}
	f.used[leadIndex(warmLead)] = true
	return f
}

// learn adds the load now to all models, and settles the forecasts that it is the outcome of.
func (f *loadForecast) learn(now time.Time, load float64) {
	n := len(f.recent)
	if n > 0 && !now.After(f.recent[n-1].at) {
		return
	}
	if n > 0 && now.Sub(f.recent[n-1].at) > longestGap {
		f.pending = f.pending[:0]
	}
	f.settle(now.UnixNano(), math.Log1p(load))
	kept := f.newest()
	f.analogs.learn(now, load)
	for lead := range f.planned {
		f.planned[lead] = math.NaN()
	}
	if f.unchecked {
		return
	}
	f.trees.work(f)
	if f.newest() == kept {
		return
	}
	for lead, used := range f.used {
		if used {
			p := pendingForecast{at: now.UnixNano(), lead: int8(lead)}
			p.level, _ = f.state()
			p.most = p.level
			f.candidatesAt(lead, &p.growth)
			f.pending = append(f.pending, p)
		}
	}
}

// newest moment's time.
func (f *loadForecast) newest() int64 {
	if n := len(f.past); n > 0 {
		return f.past[(f.oldest+n-1)%n].at
	}
	return 0
}

// settle adds a load to the pending forecasts and records those that have come due.
func (f *loadForecast) settle(now int64, level float64) {
	left := f.pending[:0]
	for i := range f.pending {
		p := &f.pending[i]
		age := time.Duration(now - p.at)
		if age <= leads[p.lead] {
			p.most = max(p.most, level)
		}
		if age < leads[p.lead] {
			left = append(left, *p)
			continue
		}
		f.records[p.lead].add(p, now, f.shortfall)
	}
	f.pending = left
}

// add forecasts with their outcome, and choose.
func (r *forecastRecord) add(p *pendingForecast, now int64, shortfall float64) {
	fade := 1.0
	if r.last != 0 {
		fade = math.Exp2(-float64(now-r.last) / float64(recordHalfLife))
	}
	r.last = now
	came := math.Expm1(p.most)
	r.load, r.count = fade*r.load+came, fade*r.count+1
	for c := range r.of {
		capacity := math.Expm1(p.level + float64(p.growth[c]))
		of := &r.of[c]
		of.capacity, of.excess = fade*of.capacity+capacity, fade*of.excess+max(came-capacity, 0)
	}
	if r.count >= recordLeast {
		r.choose(shortfall)
	}
}

// choose the candidate with the least loss at the lowest price with which its excess is within the
// share; the present one is kept if it is as good.
func (r *forecastRecord) choose(share float64) {
	allowed := shareSlack * share * r.load
	for price := float64(lowestPrice); ; price *= priceStep {
		loss := func(c int) float64 { return r.of[c].capacity - r.load + price*r.of[c].excess }
		best := byShare
		for c := range r.of {
			if loss(c) < loss(best) && r.of[c].capacity <= mostCapacity*r.of[byShare].capacity {
				best = c
			}
		}
		if r.of[best].excess > allowed && price < highestPrice {
			continue
		}
		if now := r.chosen; loss(now) > (1+choiceGain)*loss(best) || r.of[now].excess > max(allowed, r.of[best].excess) ||
			r.of[now].capacity > mostCapacity*r.of[byShare].capacity {
			r.chosen = best
		}
		return
	}
}

// candidatesAt are the growths of all candidates within one of the leads, from now.
func (f *loadForecast) candidatesAt(lead int, to *[candidates]float32) {
	f.weigh(lead)
	f.expected[lead] = f.weights.AtShare(f.inForce)
	to[byShare] = float32(f.expected[lead])
	f.weights.AtLevels(analogLevels[:], f.levels[:])
	for k, g := range f.levels {
		to[byLevel+k] = float32(g)
	}
	tree, known := f.trees.at(f, lead)
	for k, factor := range treeFactors {
		to[byTrees+k] = float32(factor * tree)
		if !known {
			to[byTrees+k] = to[byShare]
		}
	}
}

// growth within one of the leads by the candidate that its record chooses.
func (f *loadForecast) growth(lead int) float64 {
	if !math.IsNaN(f.planned[lead]) {
		return f.planned[lead]
	}
	c := f.records[lead].chosen
	tree, known := 0.0, false
	if c >= byTrees {
		tree, known = f.trees.at(f, lead)
	}
	switch {
	case known:
		f.planned[lead] = treeFactors[c-byTrees] * tree
	case c >= byLevel && c < byTrees:
		f.weigh(lead)
		f.planned[lead] = f.weights.AtLevel(analogLevels[c-byLevel])
	default:
		f.planned[lead] = f.analogs.growth(lead)
	}
	return f.planned[lead]
}

// ahead is the load within a lead time that there should be capacity for.
func (f *loadForecast) ahead(lead time.Duration) float64 {
	index := leadIndex(lead)
	f.used[index] = true
	level, _ := f.state()
	return math.Expm1(level + f.growth(index))
}

// candidateName of an index.
func candidateName(c int) string {
	switch {
	case c >= byTrees:
		return fmt.Sprintf("trees x %g", treeFactors[c-byTrees])
	case c >= byLevel:
		return fmt.Sprintf("analogs at %g %%", 100*analogLevels[c-byLevel])
	}
	return "analogs"
}
