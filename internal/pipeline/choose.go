package pipeline

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/loadline/loadline/internal/result"
	"github.com/loadline/loadline/internal/suggest"
)

// Preference is what a user cares for most.
type Preference string

// Preferences.
const (
	PreferCost     Preference = "cost"     // the cheapest that keeps the SLO
	PreferLatency  Preference = "latency"  // the quickest of those not dearer than the rule
	PreferBalanced Preference = "balanced" // the least sum of cost over the rule's and latency over the SLO
)

// Preferences that there are.
func Preferences() []string {
	return []string{string(PreferCost), string(PreferLatency), string(PreferBalanced)}
}

// Check refuses what is none.
func (p Preference) Check() error {
	if !slices.Contains(Preferences(), string(p)) {
		return fmt.Errorf("unknown preference %q%s", string(p), suggest.Hint(string(p), Preferences()))
	}
	return nil
}

// Verdict is what to do.
type Verdict struct {
	Choice string `json:"choice"` // label of the candidate that is preferred
	// Promote says whether the choice beats the rule on the user's own past.
	Promote  bool   `json:"promote"`
	Sentence string `json:"sentence"`
}

// judge chooses by the preference and compares the choice with the rule.
func (e *Evaluation) judge() {
	choice := e.Choose(e.Prefer)
	if choice == nil {
		e.Verdict = Verdict{Sentence: "There is no candidate to choose from."}
		return
	}
	rule := e.Entry(e.Rule)
	e.Verdict = Verdict{choice.Label, choice.Beats(rule), verdictOn(choice, rule)}
}

// VerdictOn says how a candidate compares with the rule.
func (e *Evaluation) VerdictOn(candidate *Entry) Verdict {
	rule := e.Entry(e.Rule)
	return Verdict{candidate.Label, candidate.Beats(rule), verdictOn(candidate, rule)}
}

// Choose a candidate by how it did on the rehearsal: among those that keep the SLO
// there, or if none does the one with the fewest requests over it. One that sits on
// the upper bound is chosen only if there is no other: it has not learned to scale.
func (e *Evaluation) Choose(p Preference) *Entry {
	var all, able, met []*Entry
	for i := range e.Entries {
		c := &e.Entries[i]
		if c.Role != RoleCandidate {
			continue
		}
		all = append(all, c)
		if c.rehearsal().Met {
			met = append(met, c)
			if c.Bound != "max" {
				able = append(able, c)
			}
		}
	}
	least := func(of []*Entry, figure func(r Rehearsal) float64) *Entry {
		return slices.MinFunc(of, func(a, b *Entry) int { return cmp.Compare(figure(a.rehearsal()), figure(b.rehearsal())) })
	}
	switch {
	case len(all) == 0:
		return nil
	case len(met) == 0:
		return least(all, func(r Rehearsal) float64 { return float64(r.Over) })
	case len(able) == 0:
		able = met
	}
	cost, latency := func(r Rehearsal) float64 { return float64(r.CoreHours) }, func(r Rehearsal) float64 { return float64(r.SLORatio) }
	switch p {
	case PreferLatency:
		return least(notDearer(able, e.Entry(e.Rule)), latency)
	case PreferBalanced:
		// A tenth of the rule's cost is worth a tenth of the SLO.
		reference := 1.0
		if rule := e.Entry(e.Rule); rule != nil {
			reference = cost(rule.rehearsal())
		}
		return least(able, func(r Rehearsal) float64 { return cost(r)/reference + latency(r) })
	}
	return least(able, cost)
}

// notDearer are those that cost no more than the rule, or all if all do. A rule
// that breaks the SLO has no cost to compare with.
func notDearer(met []*Entry, rule *Entry) []*Entry {
	if rule == nil || !rule.rehearsal().Met {
		return met
	}
	cheap := slices.DeleteFunc(slices.Clone(met), func(c *Entry) bool { return c.rehearsal().CoreHours > rule.rehearsal().CoreHours })
	if len(cheap) == 0 {
		return met
	}
	return cheap
}

// verdictOn says plainly whether a candidate is worth having.
func verdictOn(c, rule *Entry) string {
	if rule == nil {
		if c.Met {
			return fmt.Sprintf("%s keeps the SLO. There is no baseline to compare it with.", c.Label)
		}
		return fmt.Sprintf("%s breaks the SLO: %s of the requests are over it.", c.Label, result.Percent(c.Over))
	}
	name := RuleName(rule.Policy)
	switch {
	case !c.Met && rule.Met:
		return fmt.Sprintf("%s has %s of its requests over the SLO in its worst run on the unseen part, where %s keeps it: keep %s.",
			c.Label, result.Percent(c.WorstOver), name, name)
	case !c.Met:
		return fmt.Sprintf("Neither %s nor %s keeps the SLO on the unseen part (%s has %s of its requests over it in its worst run, %s has %s): look at the bounds and the objective first.",
			c.Label, name, c.Label, result.Percent(c.WorstOver), name, result.Percent(rule.WorstOver))
	case !rule.Met:
		return fmt.Sprintf("%s keeps the SLO on the unseen part, %s does not (%s of its requests are over it in its worst run).",
			c.Label, name, result.Percent(rule.WorstOver))
	case c.Beats(rule):
		return fmt.Sprintf("%s keeps the SLO and costs %s than %s on the unseen part (95 %% interval of %d runs: %s).",
			c.Label, lessOrMore(c.Against.Mean), name, c.Pairs, rangeOf(c))
	case c.Against != nil && c.Against.Low > 0:
		return fmt.Sprintf("%s is better: %s costs %s (95 %% interval of %d runs: %s). Keep %s.", name, c.Label,
			lessOrMore(c.Against.Mean), c.Pairs, rangeOf(c), name)
	}
	return fmt.Sprintf("%s is as good: %s costs %s, which is not beyond chance (95 %% interval of %d runs: %s). Keep %s.",
		name, c.Label, lessOrMore(c.Against.Mean), c.Pairs, rangeOf(c), name)
}

func lessOrMore(share result.Number) string {
	percent := 100 * float64(share)
	if percent < 0 {
		return fmt.Sprintf("%.1f %% less", -percent)
	}
	return fmt.Sprintf("%.1f %% more", percent)
}

func rangeOf(c *Entry) string {
	low, high := 100*float64(c.Against.Low), 100*float64(c.Against.High)
	if math.IsNaN(low) {
		return "not known from one run"
	}
	return fmt.Sprintf("%+.1f to %+.1f %%", low, high)
}

// RuleName is a rule as people say it: "HPA at 62.5 %".
func RuleName(spec string) string {
	name, settings, _ := strings.Cut(spec, ":")
	words := map[string]string{}
	for _, field := range strings.Split(settings, ",") {
		if key, value, ok := strings.Cut(field, "="); ok {
			words[key] = value
		}
	}
	switch {
	case name == "hpa" && settings == "":
		return "HPA at 80 %"
	case name == "hpa" && words["target"] != "":
		text := "HPA at " + words["target"] + " %"
		if w := words["down-window"]; w != "" && w != "300s" && w != "5m" {
			text += " with a scale-down window of " + w
		}
		return text
	}
	return spec
}
