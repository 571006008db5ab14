package pipeline

import (
	"math"

	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/result"
)

// State of a question that runs answer: yes, no, or not clear yet.
type State string

// States.
const (
	Yes     State = "yes"
	No      State = "no"
	Unclear State = "unclear"
)

// Looks at the runs: after the given number of seeds, twice and four times as many. The error
// probability is divided equally among them (Bonferroni), so that stopping at the first clear
// answer does not make a wrong one more likely than 5 %.
const (
	mostLooks = 3
	level     = 1 - 0.05/mostLooks
)

// minPairs below which nothing is concluded.
const minPairs = 3

// minSaving is the least relative saving that is worth a change.
const minSaving = 0.02

// resolution is the half-width that an interval of a cost has at least: no simulation is more
// precise than that about a real cluster.
const resolution = 0.01

// Difference of two costs, relative to the second: negative = cheaper. It is the mean over pairs of
// runs with the same seed.
type Difference struct {
	bench.Interval
	Pairs int `json:"pairs"`
	// Whole is the same in the fluid engine, over the whole test part; null = it was not run there.
	Whole result.Number `json:"whole"`
	// Saves by at least 2 %: both engines must say so, and both must say that it does not.
	Saves State `json:"saves"`
}

// costAgainst compares the costs of two deployments. More is what the first one costs besides, per
// month.
func (e *Entry) costAgainst(other *Entry, more float64) *Difference {
	var off []float64
	for i := range min(len(e.months), len(other.months)) {
		off = append(off, (e.months[i]+more)/other.months[i]-1)
	}
	d := &Difference{Interval: bench.IntervalAt(off, level), Pairs: len(off), Whole: result.Number(math.NaN()), Saves: Unclear}
	if half := float64(d.High-d.Low) / 2; half < resolution {
		d.Low, d.High = d.Mean-resolution, d.Mean+resolution
	}
	if e.Whole != nil && other.Whole != nil {
		d.Whole = (e.Whole.PerMonth+result.Number(more))/other.Whole.PerMonth - 1
	}
	if d.Pairs < minPairs {
		return d
	}
	alone := math.IsNaN(float64(d.Whole)) // the event engine
	switch {
	case d.High < -minSaving && (alone || d.Whole < -minSaving):
		d.Saves = Yes
	case d.Low > -minSaving && (alone || d.Whole > -minSaving):
		d.Saves = No
	}
	return d
}

// enginesDisagree reports whether no number of runs would decide.
func (d *Difference) enginesDisagree() bool {
	return d.Pairs >= minPairs && (d.High < -minSaving && d.Whole >= -minSaving || d.Low > -minSaving && d.Whole <= -minSaving)
}

// fluidViolates is the share over the SLO in the fluid engine, whose latencies are approximate, above
// which it contradicts an objective that is met, and below which one that is violated. Above
// grossly, the event engine needs no confirmation.
const (
	fluidViolates = 3 * result.CountsIf
	grossly       = 10 * result.CountsIf
)

// judgeSLO sets the intervals, and decides whether the objective is met over the whole part: at most 1 % of the requests
// over it.
func (e *Entry) judgeSLO() {
	e.MonthRange = bench.IntervalAt(e.months, level)
	e.OverRange, e.SLO = bench.IntervalAt(e.overs, level), Unclear
	if len(e.overs) < minPairs {
		return
	}
	e.OverRange.Low = max(e.OverRange.Low, 0)
	fluid := math.NaN()
	if e.Whole != nil {
		fluid = float64(notNaN(e.Whole.Over))
	}
	switch {
	case e.OverRange.High <= result.CountsIf && !(fluid > fluidViolates):
		e.SLO = Yes
	case e.OverRange.Low > grossly, e.OverRange.Low > result.CountsIf && !(fluid <= fluidViolates):
		e.SLO = No
	}
}

// asSafeAs reports whether every stretch has about as few requests over the SLO as with what would be
// replaced, or else a stretch that has more: a mean over a day can hide an hour. It is not clear
// then, since other stretches might not show it.
func (e *Entry) asSafeAs(other *Entry) (safe State, stretch string) {
	for i, s := range e.Stretches {
		if i < len(other.Stretches) && notNaN(s.Over) > max(result.CountsIf, 1.5*notNaN(other.Stretches[i].Over)) {
			return Unclear, s.Stretch
		}
	}
	return Yes, ""
}

// Changes per hour below which churn does not matter, whatever today's are, and the margin within
// which a limit is neither kept nor passed.
const (
	aHandful    = 6
	churnMargin = 1.5
)

// churn is whether the deployment changes at most so many times as often as today's.
func (e *Entry) churn(today *Entry, most float64) State {
	limit := max(most*float64(today.changes()), aHandful)
	switch changes := float64(e.changes()); {
	case changes <= limit:
		return Yes
	case changes > churnMargin*limit:
		return No
	}
	return Unclear
}

func (e *Entry) changes() result.Number { return e.ReplicaChanges + e.Resizes }
