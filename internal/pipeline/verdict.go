package pipeline

import (
	"cmp"
	"fmt"
	"slices"

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
	// Depends is what the verdict depends on; the sentence ends with it.
	Depends []Dependence `json:"depends"`
}

func refused(reason string) Verdict {
	return Verdict{Kind: Refused, Sentence: "Refused: " + reason + ".", Reasons: []string{}, Depends: []Dependence{},
		TodayPerMonth: result.Number(nan),
		Saved:         result.Number(nan), SavedLow: result.Number(nan), SavedHigh: result.Number(nan)}
}

// contest is the deployments that a verdict is about.
type contest struct {
	e             *Evaluation
	today, choice *Entry  // choice is nil where rules alone are judged
	rivals        []rival // other baselines, those that were best in the selection first
	maxChurn      float64
	churn         State
	safe          State  // every stretch is about as safe as today
	worst         string // stretch, if it is not

	doubts map[string]*doubt // by label: deployments that are not recommended, whatever they save
}

// rival is a baseline other than today's.
type rival struct {
	*Entry
	choice *Difference // cost of the candidate against it; nil = there is none
	today  *Difference // its cost against today's
}

// conclude forms the verdict from the runs so far, and says whether more of them could decide it.
func (e *Evaluation) conclude(maxChurn float64) (v Verdict, more bool) {
	e.hold()
	c := e.contest(maxChurn)
	better, change := c.better()
	switch promotable := c.promotable(); {
	case promotable == Yes:
		v = c.promote()
	case promotable == No && change == Yes:
		v = c.change(better)
	case promotable == No && change == No && c.openDoubt() != nil:
		v = c.doubtful(c.openDoubt())
	case promotable == No && change == No && c.today.SLO == Yes:
		v = c.keep()
	default:
		v = c.undecided()
		more = c.moreRunsHelp()
	}
	v.Choice, v.Axes, v.Currency = e.Selection.Choice, e.Settings.Axes, e.Currency
	v.TodayPerMonth = c.today.PerMonth
	v.Reasons = append([]string{}, c.reasons(maxChurn)...)
	if v.Depends == nil {
		v.Depends = []Dependence{}
	}
	if without := e.Settings.TodayWithout; len(without) > 0 {
		v.Sentence += fmt.Sprintf(" Today's figures leave out %s.", joined(without, 3))
	}
	return v, more
}

func (e *Evaluation) contest(maxChurn float64) contest {
	c := contest{e: e, today: e.Entry(TodayLabel), choice: e.Entry(e.Selection.Choice), maxChurn: maxChurn, doubts: map[string]*doubt{}}
	c.churn, c.safe = Yes, Yes
	if c.choice != nil {
		c.churn = c.choice.churn(c.today, maxChurn)
		c.safe, c.worst = c.choice.asSafeAs(c.today)
	}
	for i := range e.Entries {
		if b := &e.Entries[i]; b.Role == RoleBaseline && b != c.today {
			r := rival{Entry: b, today: b.AgainstToday}
			if c.choice != nil {
				r.choice = c.choice.costAgainst(b, float64(e.Own))
			}
			c.rivals = append(c.rivals, r)
		}
	}
	slices.SortStableFunc(c.rivals, func(a, b rival) int { return cmp.Compare(e.Selection.place(a.Label), e.Selection.place(b.Label)) })
	for i := range e.Entries {
		if d := &e.Entries[i]; d != c.today && d.Role != RoleReference {
			if found := c.doubt(d); found != nil {
				c.doubts[d.Label] = found
			}
		}
	}
	return c
}

// slo is whether a deployment meets the objective, in every condition in which it must.
func (c contest) slo(e *Entry) State {
	if c.doubts[e.Label] != nil {
		return No
	}
	return e.SLO
}

// over reports whether a deployment is better than another, given whether they meet the SLO: the
// other violates it, or costs more. Nothing that does not meet the SLO itself is better.
func over(one, other State, d *Difference) State {
	switch {
	case one == No, other == Yes && d.Saves == No:
		return No
	case one == Yes && (other == No || d.Saves == Yes):
		return Yes
	}
	return Unclear
}

// promotable reports whether the candidate should replace what runs today: it is better than today's
// deployment and than every other rule, in every stretch and without churn.
func (c contest) promotable() State {
	if c.choice == nil {
		return No
	}
	against := both(both(over(c.slo(c.choice), c.today.SLO, c.choice.AgainstToday), c.churn), c.safe)
	for _, r := range c.rivals {
		if c.calm(r) != No { // nor would it be recommended
			against = both(against, over(c.slo(c.choice), c.slo(r.Entry), r.choice))
		}
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

// calm reports whether a rule changes about as often as today's deployment. Where that violates the
// objective, more changes may be what it takes.
func (c contest) calm(r rival) State {
	if c.today.SLO == No {
		return Yes
	}
	return r.Entry.churn(c.today, c.maxChurn)
}

// better is the rule that should replace what runs today: of those that are clearly better, the one
// that was best in the selection. No = none is.
func (c contest) better() (rival, State) {
	all := No
	for _, r := range c.rivals {
		switch both(over(c.slo(r.Entry), c.today.SLO, r.today), c.calm(r)) {
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
	return slices.ContainsFunc(c.entries(), func(e *Entry) bool { return e.SLO == Unclear }) ||
		slices.ContainsFunc(c.differences(), func(d *Difference) bool { return d.Saves == Unclear })
}

func (c contest) noneMeetsSLO() bool {
	return !slices.ContainsFunc(c.entries(), func(e *Entry) bool { return e.SLO != No })
}

// entries of the contest: the candidate, if there is one, today's deployment, and the other rules.
func (c contest) entries() []*Entry {
	var all []*Entry
	if c.choice != nil {
		all = append(all, c.choice)
	}
	all = append(all, c.today)
	for _, r := range c.rivals {
		all = append(all, r.Entry)
	}
	return all
}

// differences in cost that a verdict needs.
func (c contest) differences() []*Difference {
	var all []*Difference
	if c.choice != nil {
		all = append(all, c.choice.AgainstToday)
	}
	for _, r := range c.rivals {
		if r.choice != nil {
			all = append(all, r.choice)
		}
		all = append(all, r.today)
	}
	return all
}
