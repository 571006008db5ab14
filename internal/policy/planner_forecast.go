package policy

import (
	"math"
	"time"

	"github.com/loadline/loadline/internal/forecast"
)

// analogs forecasts the largest load within a lead time from what followed similar moments: those
// with about the same load and the same trend, preferably at the same time of the day and the week
// (the method of analogs, Lorenz 1969). The forecast is the capacity with which only a given share
// of the requests is expected to come in excess of it. The SLO counts requests, and so does this: a
// quantile counts instants, however much comes in them. The share is corrected by what really came
// in excess (as rolling risk control does, Feldman et al. 2022).
//
// Loads are on the scale log(1 + requests/s): differences are ratios, and an idle application is
// no special case.
type analogs struct {
	shortfall float64 // share of the requests in excess, as asked for
	inForce   float64 // as corrected by what came
	recent    []loadAt
	past      []analog // a ring once it is full
	oldest    int
	expected  [len(leads)]float64 // growth within each of the leads; NaN = not calculated yet
	weights   forecast.Growth     // by similarity of the moments
	// unchecked: moments are kept without a forecast, so that they do not correct the share.
	unchecked bool
	next      time.Duration // until a moment is kept
	draws     uint32        // of its variation
}

type loadAt struct {
	at    time.Time
	level float64
}

// analog is one moment of the past and what followed.
type analog struct {
	at           int64 // Unix time in nanoseconds
	level, trend float32
	growth       [len(leads)]float32 // of the level, at most, within each of the leads
	promised     float32             // growth within checkedLead, as it was forecast; NaN = it was not
	checked      int8                // leads that have passed
	cut          bool                // the loads after it were not all seen: its further leads are unknown
	before       recentLoad
}

// leads are the lead times for which growth is kept; others are rounded up.
var leads = [...]time.Duration{
	15 * time.Second, 30 * time.Second, 45 * time.Second, time.Minute, 75 * time.Second, 90 * time.Second,
	2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 16 * time.Minute,
}

const (
	// analogEvery is the mean time between kept moments. Closer ones are nearly the same. It varies by
	// analogVary: what begins on the minute, as jobs do, would otherwise be seen at one phase only.
	analogEvery, analogVary = time.Minute, 15 * time.Second
	// mostAnalogs are those of a week.
	mostAnalogs = 7 * 24 * 60
	// longestGap between loads; after a longer one it is unknown what followed.
	longestGap = 2 * time.Minute
	// trendOver is the time over which the trend is taken, recentOver that of all that is said of the
	// loads before a moment.
	trendOver, recentOver = time.Minute, 15 * time.Minute
	// similar is the difference of levels and trends from which moments have no weight: 30 % of the
	// load. Within it the weight falls with the square of the difference (Epanechnikov's kernel).
	similar = 0.3
	// sameHour is within which difference of the time of day a moment has sameDayWeight times the
	// weight, and sameWeekWeight times on the same weekday.
	sameHour                      = 30 * time.Minute
	sameDayWeight, sameWeekWeight = 2, 4
	// correctionStep: a jump to the double that was not expected lowers the share in force by 0.0025.
	correctionStep = 0.005
	// leastShare and mostShare bound the share in force, relative to the one asked for.
	leastShare, mostShare = 0.25, 2
)

// growthPrior is what is assumed before similar moments were seen: the load varies by some per
// cent, and what it has gained over trendOver it gains again not at all, in part or in full. The
// weights sum to one moment.
var growthPrior = [...]struct{ noise, rise, weight float64 }{
	{0, 0, 0.5}, {0.05, 0.25, 0.4}, {0.1, 0.5, 0.1},
}

func newAnalogs(shortfall float64) *analogs {
	return &analogs{shortfall: shortfall, inForce: shortfall}
}

// learn adds the load now, and what it tells of the moments before. Of two loads of one instant
// the first counts.
func (a *analogs) learn(now time.Time, load float64) {
	if n := len(a.recent); n > 0 && !now.After(a.recent[n-1].at) {
		return
	}
	level := math.Log1p(load)
	gap := len(a.recent) > 0 && now.Sub(a.recent[len(a.recent)-1].at) > longestGap
	for i := len(a.past) - 1; i >= 0; i-- {
		moment := &a.past[(a.oldest+i)%len(a.past)]
		if moment.cut || int(moment.checked) == len(leads) {
			break
		}
		if moment.cut = gap; !gap {
			a.follow(moment, now, level)
		}
	}
	old := 0
	for old < len(a.recent) && now.Sub(a.recent[old].at) > recentOver {
		old++
	}
	a.recent = append(append(a.recent[:0], a.recent[old:]...), loadAt{now, level})
	for l := range a.expected {
		a.expected[l] = math.NaN()
	}
	if n := len(a.past); n == 0 || now.UnixNano()-a.past[(a.oldest+n-1)%n].at >= int64(a.next) {
		a.keep(now)
		a.draws = a.draws*1664525 + 1013904223 // Numerical Recipes' generator
		a.next = analogEvery + analogVary*(time.Duration(a.draws>>16%3)-1)
	}
}

// follow adds a later level to a moment.
func (a *analogs) follow(m *analog, now time.Time, level float64) {
	age := time.Duration(now.UnixNano() - m.at)
	for l := int(m.checked); l < len(leads); l++ {
		if age <= leads[l] {
			m.growth[l] = max(m.growth[l], float32(level)-m.level)
		}
	}
	for int(m.checked) < len(leads) && age >= leads[m.checked] {
		if leads[m.checked] == checkedLead && !math.IsNaN(float64(m.promised)) {
			a.correct(max(1-math.Exp(float64(m.promised-m.growth[m.checked])), 0))
		}
		m.checked++
	}
}

// checkedLead is the lead whose forecasts correct the share of all.
const checkedLead = time.Minute

// correct the share in force by that of the load which exceeded a forecast.
func (a *analogs) correct(missed float64) {
	a.inForce += correctionStep * (a.shortfall - missed)
	a.inForce = min(max(a.inForce, leastShare*a.shortfall), mostShare*a.shortfall)
}

// keep the present as a moment.
func (a *analogs) keep(now time.Time) {
	level, trend := a.state()
	promised := math.NaN()
	if !a.unchecked {
		promised = a.growth(leadIndex(checkedLead))
	}
	m := analog{at: now.UnixNano(), level: float32(level), trend: float32(trend), promised: float32(promised)}
	m.before = a.recently()
	if len(a.past) < mostAnalogs {
		a.past = append(a.past, m)
		return
	}
	a.past[a.oldest] = m
	a.oldest = (a.oldest + 1) % len(a.past)
}

// state is the level now and its change over the last trendOver.
func (a *analogs) state() (level, trend float64) {
	last := a.recent[len(a.recent)-1]
	for _, r := range a.recent {
		if last.at.Sub(r.at) <= trendOver {
			return last.level, last.level - r.level
		}
	}
	return last.level, 0
}

// weigh the growth of all moments within one of the leads by their similarity to the present.
func (a *analogs) weigh(lead int) {
	a.weights = forecast.Growth{}
	level, trend := a.state()
	gained := max(1-math.Exp(-trend), 0) // relative to the load
	for _, p := range growthPrior {
		a.weights.Count(p.noise+math.Log1p(p.rise*gained), p.weight)
	}
	now := a.recent[len(a.recent)-1].at.UnixNano()
	for i := range a.past {
		m := &a.past[i]
		if int(m.checked) <= lead {
			continue
		}
		if far := square((float64(m.level)-level)/similar) + square((float64(m.trend)-trend)/similar); far < 1 {
			a.weights.Count(float64(m.growth[lead]), (1-far)*seasonWeight(time.Duration(now-m.at)))
		}
	}
}

// seasonWeight of a moment of some age, by its time of the day and of the week.
func seasonWeight(age time.Duration) float64 {
	const day, week = 24 * time.Hour, 7 * 24 * time.Hour
	near := func(period time.Duration) bool {
		past := age % period
		return age > period/2 && min(past, period-past) <= sameHour
	}
	switch {
	case near(week):
		return sameWeekWeight
	case near(day):
		return sameDayWeight
	}
	return 1
}

// growth of the level within one of the leads that only the share in force of the load exceeds.
func (a *analogs) growth(lead int) float64 {
	if math.IsNaN(a.expected[lead]) {
		a.weigh(lead)
		a.expected[lead] = a.weights.AtShare(a.inForce)
	}
	return a.expected[lead]
}

// ahead is the load within a lead time that there should be capacity for.
func (a *analogs) ahead(lead time.Duration) float64 {
	level, _ := a.state()
	return math.Expm1(level + a.growth(leadIndex(lead)))
}

// leadIndex of the shortest of the leads that is not shorter.
func leadIndex(lead time.Duration) int {
	for l := range leads {
		if leads[l] >= lead {
			return l
		}
	}
	return len(leads) - 1
}
