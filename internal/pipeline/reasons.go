package pipeline

import (
	"fmt"
	"strings"

	"github.com/loadline/loadline/internal/result"
)

// reasons are the figures behind the verdict.
func (c contest) reasons(maxChurn float64) []string {
	var all []string
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	shown := []*Entry{c.today}
	for _, e := range c.entries() {
		if e != c.today {
			shown = append(shown, e)
		}
	}
	for _, e := range shown {
		add("%s: %s %s a month, %s of the requests over the SLO, %.1f replica changes and %.1f resizes an hour", c.name(e),
			money(e.PerMonth), c.e.Currency, result.Percent(e.Over), float64(e.ReplicaChanges), float64(e.Resizes))
	}
	for _, e := range shown {
		if d := c.doubts[e.Label]; d != nil {
			add("%s %s", d.who, d.does)
		}
	}
	for _, e := range shown {
		if text := c.e.beyondMeasured(e, c.name(e)); text != "" {
			add("%s", text)
		}
	}
	if c.safe != Yes {
		add("%s has up to %s of the requests over the SLO in a stretch, more than today's deployment there", c.choice.Label,
			result.Percent(c.choice.WorstOver))
	}
	if c.churn != Yes {
		add("%s changes more than %g times as often as today's deployment: not promoted by default (--max-churn)", c.choice.Label, maxChurn)
	}
	for _, r := range c.rivals {
		if c.calm(r) != Yes {
			add("%s changes more than %g times as often as today's deployment: not recommended by default (--max-churn)", c.name(r.Entry),
				maxChurn)
		}
	}
	if c.choice != nil {
		c.ownReasons(add)
	}
	if n := len(c.e.Earlier); n > 0 {
		add("the test part was used %s before with other settings: the more often, the more likely a lucky result", times(n))
	}
	return all
}

// ownReasons are those about the candidate alone: what it may not change, and what running it costs.
func (c contest) ownReasons(add func(format string, args ...any)) {
	if lost := c.choice.NotAllowed; len(lost) > 0 {
		add("%s would also change %s, which the axes %s do not allow: its figures are without that (--axes)", c.choice.Label,
			strings.Join(lost, ", "), strings.Join(c.e.Settings.Axes, ", "))
	}
	if raw := c.choice.PerMonth / c.today.PerMonth; raw < 1 {
		add("Loadline itself costs %s %s a month; at this saving it pays from %s %s a month on", money(c.e.Own), c.e.Currency,
			money(c.e.Own/(1-raw)), c.e.Currency)
	}
}
