package policy

import (
	"math"
	"sort"
	"time"

	"github.com/loadline/loadline/internal/forecast"
)

// boosted forecasts a quantile of the growth by boosted trees over features of the moment: the level,
// the growth over a minute, five and fifteen, how far below its height of the last quarter of an hour
// the load is, how much it varies, what followed a day and a week ago, and the time of the week. They
// are fitted to the moments of the analogs, a step of bounded cost at every load.
type boosted struct {
	fit     forecast.Boost
	fitting int // lead index + 1; 0 = none
	of      [len(leads)]forecast.Trees
	fitted  [len(leads)]int64 // Unix time in nanoseconds
	rows, y []float32
	row     [treeFeatures]float32
}

const (
	treeFeatures = 12
	// treeLevel is the quantile that is fitted. The record chooses a multiple of it.
	treeLevel = 0.98
	// treeMoments are needed for a fit: eight hours.
	treeMoments = 8 * 60
	// refitEvery is the time between fits for a lead.
	refitEvery = 2 * time.Hour
)

// recentLoad is what is said of the loads of the last recentOver before a moment.
type recentLoad struct {
	rise5, rise15 float32 // of the level over five and fifteen minutes
	below         float32 // the highest level
	swing         float32 // root of the mean squared change over about a minute
}

// recently describes the loads before the present one.
func (a *analogs) recently() (of recentLoad) {
	last := a.recent[len(a.recent)-1]
	highest, squares, n := last.level, 0.0, 0
	from5, mark := last.level, a.recent[0]
	for i := len(a.recent) - 1; i >= 0; i-- {
		r := &a.recent[i]
		highest = max(highest, r.level)
		if last.at.Sub(r.at) <= 5*time.Minute {
			from5 = r.level
		}
	}
	for _, r := range a.recent {
		if r.at.Sub(mark.at) >= trendOver {
			squares += square(r.level - mark.level)
			n++
			mark = r
		}
	}
	of.rise5, of.rise15 = float32(last.level-from5), float32(last.level-a.recent[0].level)
	of.below = float32(highest - last.level)
	of.swing = float32(math.Sqrt(squares / float64(max(n, 1))))
	return of
}

// work does a step of the fit in progress, or begins one that is due.
func (b *boosted) work(f *loadForecast) {
	if b.fitting == 0 {
		b.begin(f)
		return
	}
	if !b.fit.Step() {
		return
	}
	lead := b.fitting - 1
	b.of[lead].Copy(&b.fit.Trees)
	b.fitted[lead], b.fitting = f.newest(), 0
}

// begin the fit of the lead in use that has waited longest, if one is due.
func (b *boosted) begin(f *loadForecast) {
	if len(f.past) < treeMoments {
		return
	}
	due, since := -1, f.newest()-int64(refitEvery)
	for lead, used := range f.used {
		if used && b.fitted[lead] <= since {
			due, since = lead, b.fitted[lead]-1
		}
	}
	if due < 0 {
		return
	}
	b.rows, b.y = b.rows[:0], b.y[:0]
	for k := range f.past {
		m := &f.past[(f.oldest+k)%len(f.past)]
		if int(m.checked) <= due {
			continue
		}
		b.describe(f, m.at, float64(m.level), float64(m.trend), m.before, due)
		b.rows = append(b.rows, b.row[:]...)
		b.y = append(b.y, m.growth[due])
	}
	if len(b.y) < treeMoments {
		return
	}
	b.fit.Begin(b.rows, b.y, treeLevel)
	b.fitting = due + 1
}

// at is the quantile of the growth within one of the leads, from now; false if there are no trees.
func (b *boosted) at(f *loadForecast, lead int) (float64, bool) {
	if !b.of[lead].Fitted() {
		return 0, false
	}
	level, trend := f.state()
	b.describe(f, f.recent[len(f.recent)-1].at.UnixNano(), level, trend, f.recently(), lead)
	return max(b.of[lead].At(b.row[:]), 0), true
}

// describe a moment by its features.
func (b *boosted) describe(f *loadForecast, at int64, level, trend float64, before recentLoad, lead int) {
	const day, week = 24 * time.Hour, 7 * 24 * time.Hour
	hours := time.Duration(at).Hours()
	turn := 2 * math.Pi * hours / 24
	sin, cos := math.Sincos(turn)
	b.row = [treeFeatures]float32{
		float32(level), float32(trend), before.rise5, before.rise15, before.below, before.swing,
		f.followed(at-int64(day), level, lead), f.followed(at-int64(week), level, lead),
		float32(sin), float32(cos), float32(math.Sin(2 * turn)), float32(math.Mod(hours, 168)),
	}
}

// followed is the highest level within one of the leads after an earlier instant, relative to a level,
// by the moments before and after that instant; 0 if it is unknown.
func (f *loadForecast) followed(at int64, level float64, lead int) float32 {
	n := len(f.past)
	k := sort.Search(n, func(k int) bool { return f.past[(f.oldest+k)%n].at > at })
	if k == 0 || k == n {
		return 0
	}
	before, after := &f.past[(f.oldest+k-1)%n], &f.past[(f.oldest+k)%n]
	if after.at-before.at > int64(longestGap) || int(before.checked) <= lead || int(after.checked) <= lead {
		return 0
	}
	return max(before.level+before.growth[lead], after.level+after.growth[lead]) - float32(level)
}
