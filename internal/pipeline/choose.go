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

// Preference is the criterion by which a candidate is chosen.
type Preference string

// Preferences.
const (
	PreferCost     Preference = "cost"     // the cheapest that meets the SLO
	PreferLatency  Preference = "latency"  // the lowest latency of those that cost no more than the rule
	PreferBalanced Preference = "balanced" // the least sum of cost over the rule's and latency over the SLO
)

// Preferences lists the known ones.
func Preferences() []string {
	return []string{string(PreferCost), string(PreferLatency), string(PreferBalanced)}
}

// Check reports an unknown preference.
func (p Preference) Check() error {
	if !slices.Contains(Preferences(), string(p)) {
		return fmt.Errorf("unknown preference %q%s", string(p), suggest.Hint(string(p), Preferences()))
	}
	return nil
}

// Verdict is the recommendation of an evaluation.
type Verdict struct {
	Choice string `json:"choice"` // label of the candidate that is preferred
	// Promote reports whether the choice beats the rule on the held-out history.
	Promote  bool   `json:"promote"`
	Sentence string `json:"sentence"`
}

// setVerdict chooses by the preference and compares the choice with the rule.
func (e *Evaluation) setVerdict() {
	choice := e.Choose(e.Prefer)
	if choice == nil {
		e.Verdict = Verdict{Sentence: "There is no candidate to choose from."}
		return
	}
	rule := e.Entry(e.Rule)
	e.Verdict = Verdict{choice.Label, choice.Beats(rule), verdictOn(choice, rule)}
}

// VerdictOn compares a candidate with the rule.
func (e *Evaluation) VerdictOn(candidate *Entry) Verdict {
	rule := e.Entry(e.Rule)
	return Verdict{candidate.Label, candidate.Beats(rule), verdictOn(candidate, rule)}
}

// Choose a candidate by its validation runs: among those that meet the SLO there, or if
// none does the one with the fewest requests over it. A candidate that stays at the
// upper bound is chosen only if there is no other: it has not learned to scale.
func (e *Evaluation) Choose(p Preference) *Entry {
	var all, able, met []*Entry
	for i := range e.Entries {
		c := &e.Entries[i]
		if c.Role != RoleCandidate {
			continue
		}
		all = append(all, c)
		if c.validation().Met {
			met = append(met, c)
			if c.Bound != "max" {
				able = append(able, c)
			}
		}
	}
	least := func(of []*Entry, figure func(r Validation) float64) *Entry {
		return slices.MinFunc(of, func(a, b *Entry) int { return cmp.Compare(figure(a.validation()), figure(b.validation())) })
	}
	switch {
	case len(all) == 0:
		return nil
	case len(met) == 0:
		return least(all, func(r Validation) float64 { return float64(r.Over) })
	case len(able) == 0:
		able = met
	}
	cost, latency := func(r Validation) float64 { return float64(r.CoreHours) }, func(r Validation) float64 { return float64(r.SLORatio) }
	switch p {
	case PreferLatency:
		return least(notDearer(able, e.Entry(e.Rule)), latency)
	case PreferBalanced:
		// A tenth of the rule's cost counts like a tenth of the SLO.
		reference := 1.0
		if rule := e.Entry(e.Rule); rule != nil {
			reference = cost(rule.validation())
		}
		return least(able, func(r Validation) float64 { return cost(r)/reference + latency(r) })
	}
	return least(able, cost)
}

// notDearer are those that cost no more than the rule, or all if none does. The cost of a rule
// that violates the SLO is not compared.
func notDearer(met []*Entry, rule *Entry) []*Entry {
	if rule == nil || !rule.validation().Met {
		return met
	}
	cheap := slices.DeleteFunc(slices.Clone(met), func(c *Entry) bool { return c.validation().CoreHours > rule.validation().CoreHours })
	if len(cheap) == 0 {
		return met
	}
	return cheap
}

// verdictOn is one sentence on whether to promote a candidate.
func verdictOn(c, rule *Entry) string {
	if rule == nil {
		if c.Met {
			return fmt.Sprintf("%s meets the SLO. There is no baseline to compare it with.", c.Label)
		}
		return fmt.Sprintf("%s violates the SLO: %s of the requests are over it.", c.Label, result.Percent(c.Over))
	}
	name := RuleName(rule.Policy)
	switch {
	case !c.Met && rule.Met:
		return fmt.Sprintf("%s has %s of its requests over the SLO in its worst run on the held-out part, where %s meets the SLO: "+
			"keep %s.",
			c.Label, result.Percent(c.WorstOver), name, name)
	case !c.Met:
		return fmt.Sprintf("Neither %s nor %s meets the SLO on the held-out part (%s has %s of its requests over it in its worst "+
			"run, %s has %s): check the bounds and the objective first.",
			c.Label, name, c.Label, result.Percent(c.WorstOver), name, result.Percent(rule.WorstOver))
	case !rule.Met:
		return fmt.Sprintf("%s meets the SLO on the held-out part, %s does not (%s of its requests are over it in its worst run).",
			c.Label, name, result.Percent(rule.WorstOver))
	case c.Beats(rule):
		return fmt.Sprintf("%s meets the SLO and costs %s than %s on the held-out part (95 %% interval of %d runs: %s).",
			c.Label, lessOrMore(c.Against.Mean), name, c.Pairs, rangeOf(c))
	case c.Against != nil && c.Against.Low > 0:
		return fmt.Sprintf("%s is better: %s costs %s (95 %% interval of %d runs: %s). Keep %s.", name, c.Label,
			lessOrMore(c.Against.Mean), c.Pairs, rangeOf(c), name)
	}
	return fmt.Sprintf("%s is as good: %s costs %s, which is not statistically significant (95 %% interval of %d runs: %s). Keep %s.",
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
		return "unknown from one run"
	}
	return fmt.Sprintf("%+.1f to %+.1f %%", low, high)
}

// RuleName is a rule in readable form: "HPA at 62.5 %".
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
