package pipeline

import (
	"fmt"

	"github.com/loadline/loadline/internal/result"
)

// name of a deployment as people say it.
func (c contest) name(e *Entry) string {
	switch {
	case e.Role == RoleCandidate:
		return e.Label
	case e == c.today && e.Fallback != "": // a LoadLine runs it
		for i := range c.e.Selection.Entries {
			if d := &c.e.Selection.Entries[i]; d.Role == RoleCandidate && d.Policy == e.Policy {
				return d.Label
			}
		}
	case e == c.today && c.e.Settings.TodayAssumed:
		return RuleName(e.Policy) + " (assumed to run today)"
	}
	return RuleName(e.Policy)
}

// saved fills in the money that a change from today's deployment saves.
func (c contest) saved(v *Verdict, d *Difference) {
	of := c.today.PerMonth
	v.Saved, v.SavedLow, v.SavedHigh = -d.Mean*of, -d.High*of, -d.Low*of
}

// saving is "saves 18 % (12 to 24 %), 41 USD of 226 a month".
func (c contest) saving(d *Difference) string {
	if d.Mean > 0 {
		return fmt.Sprintf("costs %s more (%s), %s of %s %s a month", percentOf(d.Mean), rangeOf(d, 1),
			money(d.Mean*c.today.PerMonth), money(c.today.PerMonth), c.e.Currency)
	}
	return fmt.Sprintf("saves %s (%s), %s of %s %s a month", percentOf(-d.Mean), rangeOf(d, -1), money(-d.Mean*c.today.PerMonth),
		money(c.today.PerMonth), c.e.Currency)
}

func (c contest) promote() Verdict {
	v := Verdict{Kind: Promote, Policy: c.choice.Policy, Fallback: c.choice.Fallback}
	c.saved(&v, c.choice.AgainstToday)
	text := fmt.Sprintf("Promote %s: it meets the objective and %s, after Loadline's own cost", c.choice.Label,
		c.saving(c.choice.AgainstToday))
	if c.today.SLO == No {
		text = fmt.Sprintf("Promote %s: it meets the objective, which %s violates (%s of the requests over it); it %s",
			c.choice.Label, c.name(c.today), result.Percent(c.today.Over), c.saving(c.choice.AgainstToday))
	}
	c.end(&v, text, c.choice)
	return v
}

func (c contest) change(to rival) Verdict {
	v := Verdict{Kind: Change, Policy: to.Policy}
	c.saved(&v, to.today)
	text := fmt.Sprintf("Change %s: it meets the objective and %s", c.steps(to.Entry), c.saving(to.today))
	if c.today.SLO == No {
		text = fmt.Sprintf("Change %s: it meets the objective, which %s violates (%s of the requests over it); it %s",
			c.steps(to.Entry), c.name(c.today), result.Percent(c.today.Over), c.saving(to.today))
	}
	c.end(&v, text, to.Entry)
	if target := targetOf(to.Policy); target > 100 {
		v.Sentence += fmt.Sprintf(" At %g %% pods run above their CPU requests: nodes must have room for that.", target)
	}
	return v
}

func (c contest) keep() Verdict {
	v := Verdict{Kind: Keep, Policy: c.today.Policy}
	c.end(&v, fmt.Sprintf("Keep %s: it meets the objective at %s %s a month, and %s", c.name(c.today), money(c.today.PerMonth),
		c.e.Currency, c.notBetter()), c.today)
	return v
}

// notBetter is why neither the candidate nor, without one, the best of the other rules is
// recommended.
func (c contest) notBetter() string {
	if c.choice == nil {
		return c.noBetterRule()
	}
	because := fmt.Sprintf("%s %s", c.choice.Label, c.saving(c.choice.AgainstToday))
	switch d := c.doubts[c.choice.Label]; {
	case d != nil && c.choice.SLO == Yes && c.choice.AgainstToday.Saves != No:
		because = d.who + " " + d.does
	case c.choice.SLO == No:
		because = fmt.Sprintf("%s violates the objective (%s of the requests over it)", c.choice.Label, result.Percent(c.choice.Over))
	case c.churn == No:
		because = fmt.Sprintf("%s changes replicas or sizes %.0f times an hour, today's deployment %.0f times (--max-churn)", c.choice.Label,
			float64(c.choice.changes()), float64(c.today.changes()))
	case c.choice.AgainstToday.Saves != No:
		because = fmt.Sprintf("%s is not better than every rule", c.choice.Label)
	}
	return because
}

func (c contest) noBetterRule() string {
	if len(c.rivals) == 0 {
		return "no other setting was found that is as good"
	}
	best := c.rivals[0]
	switch d := c.doubts[best.Label]; {
	case d != nil && best.SLO == Yes && best.today.Saves != No:
		return d.who + " " + d.does
	case best.SLO == No:
		return fmt.Sprintf("%s violates the objective (%s of the requests over it)", c.name(best.Entry), result.Percent(best.Over))
	case c.calm(best) == No && best.today.Saves != No:
		return fmt.Sprintf("%s changes replicas or sizes %.0f times an hour, today's deployment %.0f times (--max-churn)", c.name(best.Entry),
			float64(best.changes()), float64(c.today.changes()))
	}
	return fmt.Sprintf("the best other setting, %s, %s", c.name(best.Entry), c.saving(best.today))
}

// end a sentence with what it depends on, for the deployment that it is about.
func (c contest) end(v *Verdict, text string, about *Entry) {
	v.Depends = c.depends(about)
	for _, d := range v.Depends {
		if about == c.today {
			text += "; it " + d.Text
		} else {
			text += "; " + d.Text
		}
	}
	v.Sentence = text + "."
}
