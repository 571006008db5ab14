package pipeline

import (
	"fmt"
	"strings"

	"github.com/loadline/loadline/internal/result"
)

// doubtful says why what would save is not recommended, and what would decide it.
func (c contest) doubtful(d *doubt) Verdict {
	v := Verdict{Kind: Undecided, Policy: c.today.Policy, Depends: c.depends(d.entry)}
	who := d.who
	if who == c.name(d.entry) {
		who = "it"
	}
	v.Sentence = fmt.Sprintf("Cannot tell yet: %s %s, but %s %s. %s would decide it.", c.name(d.entry), c.saving(d.entry.AgainstToday),
		who, d.does, d.decides)
	return v
}

// undecided says what is open, and what would decide it.
func (c contest) undecided() Verdict {
	v := Verdict{Kind: Undecided, Policy: c.today.Policy}
	open, decides := c.open()
	v.Sentence = fmt.Sprintf("Cannot tell yet: %s. %s would decide it.", open, decides)
	if r, better := c.better(); better == Yes {
		v.Sentence += fmt.Sprintf(" Until then, %s %s.", c.name(r.Entry), c.saving(r.today))
	}
	return v
}

// open is the question that is open, and what would answer it.
func (c contest) open() (question, decides string) {
	moreSeeds := fmt.Sprintf("More runs (--seeds %d) or a longer test part", 2*c.e.Seeds)
	switch {
	case len(c.today.months) < minPairs:
		return fmt.Sprintf("%d runs of each deployment are too few for an interval", len(c.today.months)),
			fmt.Sprintf("At least %d (--seeds %d)", minPairs, minPairs)
	case c.noneMeetsSLO():
		var each []string
		for _, e := range c.entries() {
			each = append(each, fmt.Sprintf("%s with %s", result.Percent(e.Over), c.name(e)))
		}
		return fmt.Sprintf("no deployment meets the objective on the test part (of the requests are over it %s)", strings.Join(each, ", ")),
			"Another objective, or other bounds,"
	case c.safe != Yes:
		return fmt.Sprintf("%s has more requests over the SLO than %s in the stretch %q", c.choice.Label, c.name(c.today), c.worst),
			"A candidate trained on such stretches, or a longer test part,"
	case c.churn == Unclear:
		return fmt.Sprintf("%s changes replicas or sizes %.0f times an hour, which is about the limit (today's deployment: %.0f)",
			c.choice.Label, float64(c.choice.changes()), float64(c.today.changes())), "Another limit (--max-churn)"
	case c.choice != nil && c.choice.Bound == "max":
		return c.choice.Label + " stays at its maximum of replicas", "Higher bounds"
	}
	for _, r := range c.rivals {
		if c.calm(r) == Unclear && over(c.slo(r.Entry), c.today.SLO, r.today) == Yes {
			return fmt.Sprintf("%s changes replicas or sizes %.0f times an hour, which is about the limit (today's deployment: %.0f)",
				c.name(r.Entry), float64(r.changes()), float64(c.today.changes())), "Another limit (--max-churn)"
		}
	}
	for _, e := range c.entries() {
		if e.SLO == Unclear {
			return fmt.Sprintf("whether %s meets the objective is not clear (%s of the requests over it, %s to %s; %s allowed)", c.name(e),
				result.Percent(e.Over), result.Percent(e.OverRange.Low), result.Percent(e.OverRange.High),
				result.Percent(result.CountsIf)), moreSeeds
		}
	}
	for _, d := range c.differences() {
		if d.enginesDisagree() {
			return fmt.Sprintf("request by request the difference in cost is %s, over the whole test part by the fluid model %s",
				signed(d.Mean), signed(d.Whole)), "Longer stretches (--stretch) or a longer test part"
		}
	}
	apart := func(d *Difference, one, other *Entry) string {
		return fmt.Sprintf("the cost of %s differs from that of %s by %s to %s", c.name(one), c.name(other), signed(d.Low), signed(d.High))
	}
	for _, r := range c.rivals {
		if r.choice != nil && r.choice.Saves == Unclear {
			return apart(r.choice, c.choice, r.Entry), moreSeeds
		}
		if r.today.Saves == Unclear {
			return apart(r.today, r.Entry, c.today), moreSeeds
		}
	}
	if c.choice == nil {
		return "no setting is clearly better", moreSeeds
	}
	return apart(c.choice.AgainstToday, c.choice, c.today), moreSeeds
}
