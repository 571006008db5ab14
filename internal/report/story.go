package report

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/result"
)

// story is the timeline of one run for the page.
type story struct {
	// Most runs have steps of one length: From and Step then replace T.
	From     result.Number              `json:"from"`
	Step     result.Number              `json:"step"`
	Steps    int                        `json:"steps"`
	T        []result.Number            `json:"t,omitempty"`
	Load     []result.Number            `json:"load"`
	Failed   []result.Number            `json:"failed"`
	Used     []result.Number            `json:"used"`
	Asked    []result.Number            `json:"asked"`
	Replicas map[string][]result.Number `json:"replicas"`
	AtSLO    map[string][]result.Number `json:"at_slo"`
	Changed  []int                      `json:"changed"` // decisions in each step, of those that the bench stored

	Decisions int        `json:"decisions"` // total number
	Shown     []decision `json:"shown"`     // at most mostDecisions of those that the bench stored
}

type decision struct {
	T       result.Number `json:"t"`
	Service string        `json:"service"`
	Change  string        `json:"change"`
	Reason  string        `json:"reason"`
}

// mostDecisions of a run that are listed. A policy that changes CPU limits each second makes
// tens of thousands, too many to read and to include in the report. They are thinned out
// evenly, and the page says so.
const mostDecisions = 600

// pictureDigits are enough for a chart.
const pictureDigits = 3

func storyOf(r *bench.Record) (*story, error) {
	if err := checkStory(&r.Timeline); err != nil {
		return nil, err
	}
	s := &story{
		Steps: len(r.Timeline.T),
		Load:  allSignificant(r.Timeline.Load, pictureDigits), Failed: allSignificant(r.Timeline.Failed, pictureDigits),
		Used: allSignificant(r.Timeline.Used, pictureDigits), Asked: allSignificant(r.Timeline.Asked, pictureDigits),
		Replicas: map[string][]result.Number{}, AtSLO: map[string][]result.Number{},
		Changed: make([]int, len(r.Timeline.T)), Decisions: len(r.Decisions) + r.DecisionsLeftOut,
	}
	s.From, s.Step, s.T = even(r.Timeline.T)
	for name, list := range r.Timeline.Replicas {
		s.Replicas[name] = allSignificant(list, pictureDigits)
	}
	for name, list := range r.Timeline.AtSLO {
		s.AtSLO[name] = allSignificant(list, pictureDigits)
	}
	at := 0
	for i, d := range r.Decisions {
		for at < len(r.Timeline.T)-1 && r.Timeline.T[at] < d.T {
			at++
		}
		if s.Steps > 0 {
			s.Changed[at]++
		}
		// The i-th of n is kept where i*most/n reaches a new whole number.
		if n := len(r.Decisions); n <= mostDecisions || i*mostDecisions/n != (i-1)*mostDecisions/n || i == 0 {
			s.Shown = append(s.Shown, decision{significant(d.T, 7), d.Service, d.Change, d.Reason})
		}
	}
	return s, nil
}

// checkStory reports every series whose length differs from the time axis.
func checkStory(s *bench.Timeline) error {
	var faults []error
	check := func(name string, list []result.Number) {
		if len(list) != len(s.T) {
			faults = append(faults, fmt.Errorf("story: %s has %d steps and t_s has %d", name, len(list), len(s.T)))
		}
	}
	check("load_rps", s.Load)
	check("failed_rps", s.Failed)
	check("used_cores", s.Used)
	check("asked_cores", s.Asked)
	for _, name := range slices.Sorted(maps.Keys(s.Replicas)) {
		check("replicas of "+name, s.Replicas[name])
	}
	for _, name := range slices.Sorted(maps.Keys(s.AtSLO)) {
		check("at_slo_ms of "+name, s.AtSLO[name])
	}
	for i := 1; i < len(s.T); i++ {
		if !(s.T[i] > s.T[i-1]) {
			faults = append(faults, fmt.Errorf("story: t_s does not rise at step %d", i))
			break
		}
	}
	return errors.Join(faults...)
}

// even describes times by first and step if they are evenly spaced.
func even(t []result.Number) (from, step result.Number, odd []result.Number) {
	if len(t) < 2 {
		return 0, 0, t
	}
	from, step = t[0], t[1]-t[0]
	for i, v := range t {
		if math.Abs(float64(from+step*result.Number(i)-v)) > 1e-6*math.Abs(float64(step)) {
			return 0, 0, allSignificant(t, 7)
		}
	}
	return from, step, nil
}
