package pipeline

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/loadline/loadline/internal/result"
)

// Kind of a verdict.
type Kind string

// Kinds of verdicts.
const (
	Promote   Kind = "promote"   // the candidate
	Change    Kind = "change"    // a setting of what runs today
	Keep      Kind = "keep"      // what runs today
	Undecided Kind = "undecided" // cannot tell yet
	Refused   Kind = "refused"   // nothing can be concluded
)

// Verdict is what to do, in one sentence, and why. It is formed here alone; the terminal, the page,
// the JSON and promote print it.
type Verdict struct {
	Kind     Kind   `json:"kind"`
	Sentence string `json:"sentence"`
	// Reasons are the figures behind the sentence, and what speaks against other choices.
	Reasons []string `json:"reasons"`
	Choice  string   `json:"choice,omitempty"` // label of the candidate that was judged
	// Policy is what to run: the candidate's, or a rule's, in the notation of policies.
	Policy   string   `json:"policy,omitempty"`
	Fallback string   `json:"fallback,omitempty"` // of a promoted candidate
	Axes     []string `json:"axes,omitempty"`
	// Money per month: today's, and what would be saved, after Loadline's own cost.
	TodayPerMonth result.Number `json:"today_per_month"`
	Saved         result.Number `json:"saved_per_month"`
	SavedLow      result.Number `json:"saved_per_month_low"`
	SavedHigh     result.Number `json:"saved_per_month_high"`
	Currency      string        `json:"currency,omitempty"`
}

func refused(reason string) Verdict {
	return Verdict{Kind: Refused, Sentence: "Refused: " + reason + ".", Reasons: []string{}, TodayPerMonth: result.Number(nan),
		Saved: result.Number(nan), SavedLow: result.Number(nan), SavedHigh: result.Number(nan)}
}

// contest is the deployments that a verdict is about.
type contest struct {
	e             *Evaluation
	today, choice *Entry
	rivals        []rival // other baselines, those that were best in the selection first
	churn         State
	safe          State  // every stretch is about as safe as today
	worst         string // stretch, if it is not
}

// rival is a baseline other than today's.
type rival struct {
	*Entry
	choice *Difference // cost of the candidate against it
	today  *Difference // its cost against today's
}

// conclude forms the verdict from the runs so far, and says whether more of them could decide it.
func (e *Evaluation) conclude(maxChurn float64) (v Verdict, more bool) {
	c := e.contest(maxChurn)
	better, change := c.better()
	switch promotable := c.promotable(); {
	case promotable == Yes:
		v = c.promote()
	case promotable == No && change == Yes:
		v = c.change(better)
	case promotable == No && change == No && c.today.SLO == Yes:
		v = c.keep()
	default:
		v = c.undecided()
		more = c.moreRunsHelp()
	}
	v.Choice, v.Axes, v.Currency = c.choice.Label, e.Settings.Axes, e.Currency
	v.TodayPerMonth = c.today.PerMonth
	v.Reasons = append([]string{}, c.reasons(maxChurn)...)
	return v, more
}

func (e *Evaluation) contest(maxChurn float64) contest {
	c := contest{e: e, today: e.Entry(TodayLabel), choice: e.Entry(e.Selection.Choice)}
	c.churn = c.choice.churn(c.today, maxChurn)
	c.safe, c.worst = c.choice.asSafeAs(c.today)
	for i := range e.Entries {
		if b := &e.Entries[i]; b.Role == RoleBaseline && b != c.today {
			c.rivals = append(c.rivals, rival{b, c.choice.costAgainst(b, float64(e.Own)), b.AgainstToday})
		}
	}
	slices.SortStableFunc(c.rivals, func(a, b rival) int { return cmp.Compare(e.Selection.place(a.Label), e.Selection.place(b.Label)) })
	return c
}

// over reports whether a deployment is better than another: the other violates the SLO, or costs
// more. Nothing that does not meet the SLO itself is better.
func over(one, other *Entry, d *Difference) State {
	switch {
	case one.SLO == No, other.SLO == Yes && d.Saves == No:
		return No
	case one.SLO == Yes && (other.SLO == No || d.Saves == Yes):
		return Yes
	}
	return Unclear
}

// promotable reports whether the candidate should replace what runs today: it is better than today's
// deployment and than every other rule, in every stretch and without churn.
func (c contest) promotable() State {
	against := both(both(over(c.choice, c.today, c.choice.AgainstToday), c.churn), c.safe)
	for _, r := range c.rivals {
		against = both(against, over(c.choice, r.Entry, r.choice))
	}
	if against == Yes && c.choice.Bound == "max" {
		return Unclear
	}
	return against
}

func both(a, b State) State {
	switch {
	case a == No || b == No:
		return No
	case a == Yes && b == Yes:
		return Yes
	}
	return Unclear
}

// better is the rule that should replace what runs today: of those that are clearly better, the one
// that was best in the selection. No = none is.
func (c contest) better() (rival, State) {
	all := No
	for _, r := range c.rivals {
		switch over(r.Entry, c.today, r.today) {
		case Yes:
			return r, Yes
		case Unclear:
			all = Unclear
		}
	}
	return rival{}, all
}

// moreRunsHelp if an interval is what leaves the verdict open: not if the engines disagree, and not
// if no deployment meets the SLO.
func (c contest) moreRunsHelp() bool {
	if c.noneMeetsSLO() || slices.ContainsFunc(c.differences(), (*Difference).enginesDisagree) {
		return false
	}
	return c.today.SLO == Unclear || c.choice.SLO == Unclear || slices.ContainsFunc(c.rivals, func(r rival) bool { return r.SLO == Unclear }) ||
		slices.ContainsFunc(c.differences(), func(d *Difference) bool { return d.Saves == Unclear })
}

func (c contest) noneMeetsSLO() bool {
	return c.today.SLO == No && c.choice.SLO == No && !slices.ContainsFunc(c.rivals, func(r rival) bool { return r.SLO != No })
}

// differences in cost that a verdict needs.
func (c contest) differences() []*Difference {
	all := []*Difference{c.choice.AgainstToday}
	for _, r := range c.rivals {
		all = append(all, r.choice, r.today)
	}
	return all
}

// name of a deployment as people say it.
func (c contest) name(e *Entry) string {
	switch {
	case e.Role == RoleCandidate:
		return e.Label
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
	v.Sentence = fmt.Sprintf("Promote %s: it meets the objective and %s, after Loadline's own cost.", c.choice.Label,
		c.saving(c.choice.AgainstToday))
	if c.today.SLO == No {
		v.Sentence = fmt.Sprintf("Promote %s: it meets the objective, which %s violates (%s of the requests over it); it %s.",
			c.choice.Label, c.name(c.today), result.Percent(c.today.Over), c.saving(c.choice.AgainstToday))
	}
	return v
}

func (c contest) change(to rival) Verdict {
	v := Verdict{Kind: Change, Policy: to.Policy}
	c.saved(&v, to.today)
	v.Sentence = fmt.Sprintf("Change %s to %s: it meets the objective and %s.", c.name(c.today), c.name(to.Entry), c.saving(to.today))
	if c.today.SLO == No {
		v.Sentence = fmt.Sprintf("Change %s to %s: it meets the objective, which %s violates (%s of the requests over it); it %s.",
			c.name(c.today), c.name(to.Entry), c.name(c.today), result.Percent(c.today.Over), c.saving(to.today))
	}
	if target := targetOf(to.Policy); target > 100 {
		v.Sentence += fmt.Sprintf(" At %g %% pods run above their CPU requests: nodes must have room for that.", target)
	}
	return v
}

func (c contest) keep() Verdict {
	v := Verdict{Kind: Keep, Policy: c.today.Policy}
	because := fmt.Sprintf("%s %s", c.choice.Label, c.saving(c.choice.AgainstToday))
	switch {
	case c.choice.SLO == No:
		because = fmt.Sprintf("%s violates the objective (%s of the requests over it)", c.choice.Label, result.Percent(c.choice.Over))
	case c.churn == No:
		because = fmt.Sprintf("%s changes replicas or sizes %.0f times an hour, today's deployment %.0f times (--max-churn)", c.choice.Label,
			float64(c.choice.changes()), float64(c.today.changes()))
	case c.choice.AgainstToday.Saves != No:
		because = fmt.Sprintf("%s is not better than every rule", c.choice.Label)
	}
	v.Sentence = fmt.Sprintf("Keep %s: it meets the objective at %s %s a month, and %s.", c.name(c.today), money(c.today.PerMonth),
		c.e.Currency, because)
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
	case len(c.choice.months) < minPairs:
		return fmt.Sprintf("%d runs of each deployment are too few for an interval", len(c.choice.months)),
			fmt.Sprintf("At least %d (--seeds %d)", minPairs, minPairs)
	case c.noneMeetsSLO():
		return fmt.Sprintf("no deployment meets the objective on the test part (%s of the requests are over it with %s, %s with %s)",
			result.Percent(c.today.Over), c.name(c.today), result.Percent(c.choice.Over), c.choice.Label), "Another objective, or other bounds,"
	case c.safe != Yes:
		return fmt.Sprintf("%s has more requests over the SLO than %s in the stretch %q", c.choice.Label, c.name(c.today), c.worst),
			"A candidate trained on such stretches, or a longer test part,"
	case c.churn == Unclear:
		return fmt.Sprintf("%s changes replicas or sizes %.0f times an hour, which is about the limit (today's deployment: %.0f)",
			c.choice.Label, float64(c.choice.changes()), float64(c.today.changes())), "Another limit (--max-churn)"
	case c.choice.Bound == "max":
		return c.choice.Label + " stays at its maximum of replicas", "Higher bounds"
	}
	entries := []*Entry{c.choice, c.today}
	for _, r := range c.rivals {
		entries = append(entries, r.Entry)
	}
	for _, e := range entries {
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
		if r.choice.Saves == Unclear {
			return apart(r.choice, c.choice, r.Entry), moreSeeds
		}
		if r.today.Saves == Unclear {
			return apart(r.today, r.Entry, c.today), moreSeeds
		}
	}
	return apart(c.choice.AgainstToday, c.choice, c.today), moreSeeds
}

// reasons are the figures behind the verdict.
func (c contest) reasons(maxChurn float64) []string {
	var all []string
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	shown := []*Entry{c.today, c.choice}
	for _, r := range c.rivals {
		shown = append(shown, r.Entry)
	}
	for _, e := range shown {
		add("%s: %s %s a month, %s of the requests over the SLO, %.1f replica changes and %.1f resizes an hour", c.name(e),
			money(e.PerMonth), c.e.Currency, result.Percent(e.Over), float64(e.ReplicaChanges), float64(e.Resizes))
	}
	if c.safe != Yes {
		add("%s has up to %s of the requests over the SLO in a stretch, more than today's deployment there", c.choice.Label,
			result.Percent(c.choice.WorstOver))
	}
	if c.churn != Yes {
		add("%s changes more than %g times as often as today's deployment: not promoted by default (--max-churn)", c.choice.Label, maxChurn)
	}
	if lost := c.choice.NotAllowed; len(lost) > 0 {
		add("%s would also change %s, which the axes %s do not allow: its figures are without that (--axes)", c.choice.Label,
			strings.Join(lost, ", "), strings.Join(c.e.Settings.Axes, ", "))
	}
	if raw := c.choice.PerMonth / c.today.PerMonth; raw < 1 {
		add("Loadline itself costs %s %s a month; at this saving it pays from %s %s a month on", money(c.e.Own), c.e.Currency,
			money(c.e.Own/(1-raw)), c.e.Currency)
	}
	if n := len(c.e.Earlier); n > 0 {
		add("the test part was used %s before with other settings: the more often, the more likely a lucky result", times(n))
	}
	return all
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// RuleName is a rule in readable form: "HPA at 62 %".
func RuleName(spec string) string {
	name, settings, _ := strings.Cut(spec, ":")
	words := settingsOf(spec)
	target := words["target"]
	if target == "" && !strings.Contains(settings, "-target=") {
		target = "80"
	}
	if name != "hpa" || target == "" || target == "off" {
		return spec
	}
	text := "HPA at " + target + " %"
	if w := words["down-window"]; w != "" && w != "300s" && w != "5m" && w != "5m0s" {
		text += " with a scale-down window of " + w
	}
	if words["limits"] == "lifted" {
		text += ", CPU limits lifted"
	}
	if r := words["request"]; r != "" && r != "keep" {
		text += ", CPU requests " + r
	}
	return text
}

func settingsOf(spec string) map[string]string {
	_, settings, _ := strings.Cut(spec, ":")
	words := map[string]string{}
	for _, field := range strings.Split(settings, ",") {
		if key, value, ok := strings.Cut(field, "="); ok {
			words[key] = value
		}
	}
	return words
}

// targetOf an HPA, in percent; 0 = none.
func targetOf(spec string) float64 {
	if nameOf(spec) != "hpa" {
		return 0
	}
	target, _ := strconv.ParseFloat(settingsOf(spec)["target"], 64)
	return target
}

func percentOf(share result.Number) string { return fmt.Sprintf("%.1f %%", 100*float64(share)) }

func signed(share result.Number) string { return fmt.Sprintf("%+.1f %%", 100*float64(share)) }

// rangeOf the savings (sign -1) or of the additional cost.
func rangeOf(d *Difference, sign float64) string {
	if d.Pairs < minPairs {
		return fmt.Sprintf("no interval from %d runs", d.Pairs)
	}
	low, high := sign*100*float64(d.Low), sign*100*float64(d.High)
	return fmt.Sprintf("%.1f to %.1f %%", min(low, high), max(low, high))
}

func money(v result.Number) string {
	if math.Abs(float64(v)) < 100 {
		return fmt.Sprintf("%.2f", float64(v))
	}
	return fmt.Sprintf("%.0f", float64(v))
}

// joined lists the first few of many, separated by semicolons.
func joined(all []string, most int) string {
	if len(all) > most {
		return strings.Join(all[:most], "; ") + fmt.Sprintf("; and %d more", len(all)-most)
	}
	return strings.Join(all, "; ")
}
