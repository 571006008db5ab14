package pipeline

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/result"
	"github.com/loadline/loadline/internal/twin"
)

// ConditionsDir holds the runs under other conditions.
const ConditionsDir = "conditions"

// Runs under conditions have a fixed length and number: whether a deployment holds must not depend
// on how the test is made.
const (
	conditionStretch = 20 * time.Minute
	conditionSeeds   = minPairs
)

// trials are deployments on stretches, to be run under conditions.
type trials struct {
	*proof
	on          []Stretch
	deployments []bench.Policy
}

// tryConditions runs what may be recommended, and today's deployment, under every condition: on the
// busiest and the steepest stretch of the test part.
func (p *proof) tryConditions(ctx context.Context, whole []Entry, deployments []bench.Policy, share [2]float64) error {
	e := p.evaluation
	on, err := stretches(p.folder.HeldOut, conditionStretch, nil)
	if err != nil {
		return err
	}
	on = crucial(on)
	for i := range on {
		on[i].Weight = 1 / float64(len(on))
	}
	able := e.able()
	deployments = slices.DeleteFunc(slices.Clone(deployments), func(d bench.Policy) bool {
		return d.Trained || !slices.Contains(able, d.Label) // it would be trained for each condition
	})
	t := trials{p, on, startAt(deployments, whole, on)}
	most := share[0] + 0.8*(share[1]-share[0])
	if e.Conditions, err = t.under(ctx, p.conditions(), able, [2]float64{share[0], most}); err != nil {
		return err
	}
	return t.narrow(ctx, [2]float64{most, share[1]})
}

// able are today's deployment and those that may be better by the runs so far.
func (e *Evaluation) able() []string {
	today := e.Entry(TodayLabel)
	labels := []string{TodayLabel}
	for i := range e.Entries {
		d := &e.Entries[i]
		if d != today && d.Role != RoleReference && d.SLO != No && (today.SLO != Yes || d.AgainstToday.Saves != No) {
			labels = append(labels, d.Label)
		}
	}
	return labels
}

// under runs the deployments with these labels under each condition.
func (t trials) under(ctx context.Context, all []Condition, labels []string, share [2]float64) ([]Condition, error) {
	work := comparison{
		dir: ConditionsDir, on: t.on, length: conditionStretch, seeds: conditionSeeds, from: t.folder.Subject.HeldOut.From, under: all,
		share:    share,
		policies: slices.DeleteFunc(slices.Clone(t.deployments), func(d bench.Policy) bool { return !slices.Contains(labels, d.Label) }),
	}
	results, err := t.results(ctx, work)
	if err != nil {
		return nil, err
	}
	for i := range all {
		c := &all[i]
		var rows []bench.Row
		for _, s := range t.on {
			for _, row := range results.Rows {
				if row.Case.Scene == c.scene(s) {
					rows = append(rows, row)
				}
			}
		}
		entries, err := t.summed(work, rows)
		if err != nil {
			return nil, err
		}
		c.take(entries, t.evaluation.Own)
		if c.Figure == "" {
			t.evaluation.rates = ratesOf(entries)
		}
	}
	return all, nil
}

// take the figures of deployments. What runs as a LoadLine also costs what Loadline does.
func (c *Condition) take(entries []Entry, own result.Number) {
	today := entryOf(entries, TodayLabel)
	now := today.PerMonth + result.Number(today.ownCost(own))
	c.Results = []ConditionResult{}
	for i := range entries {
		e := &entries[i]
		cost := e.PerMonth + result.Number(e.ownCost(own))
		c.Results = append(c.Results, ConditionResult{Label: e.Label, Over: e.Over, Cost: cost, Saves: 1 - cost/now})
	}
}

// Limits of the search for what a deployment depends on.
const (
	mostAlone  = 8 // services that are tried alone
	mostHalves = 3 // between a value that it bears and one that it does not
)

// narrow finds the service and the value that matter, where a deployment that would be recommended
// fails with a guessed figure at an end of its range.
func (t trials) narrow(ctx context.Context, share [2]float64) error {
	e := t.evaluation
	e.hold()
	d := e.contest(t.MaxChurn).openDoubt()
	if d == nil || d.condition == nil || !slices.Contains([]twin.Figure{twin.Workers, twin.Startup}, d.condition.Figure) {
		return nil
	}
	// holds tries one value of one service.
	holds := func(v Value) (bool, error) {
		c := Condition{Figure: d.condition.Figure, Values: []Value{v}, Needed: true, Open: true}
		c.Name = c.title()
		found, err := t.under(ctx, []Condition{c}, []string{TodayLabel, d.entry.Label}, share)
		if err != nil {
			return false, err
		}
		e.Conditions = append(e.Conditions, found...)
		e.hold()
		last := &e.Conditions[len(e.Conditions)-1]
		return !last.TodayMeets || last.result(d.entry.Label).Holds, nil
	}
	values := d.condition.Values
	if len(values) == 1 {
		return bisect(values[0], d.condition.Figure == twin.Workers, holds)
	}
	for _, v := range values[:min(len(values), mostAlone)] {
		if ok, err := holds(v); err != nil {
			return err
		} else if !ok {
			return bisect(v, d.condition.Figure == twin.Workers, holds)
		}
	}
	return nil // only together
}

// bisect between a value with which a deployment fails and the likely one.
func bisect(fails Value, whole bool, holds func(Value) (bool, error)) error {
	good := fails.Likely
	for range mostHalves {
		middle := fails
		if middle.Value = between(fails.Value, good, whole); middle.Value == fails.Value || middle.Value == good {
			return nil
		}
		ok, err := holds(middle)
		switch {
		case err != nil:
			return err
		case ok:
			good = middle.Value
		default:
			fails = middle
		}
	}
	return nil
}

// between is the geometric mean of two values.
func between(a, b float64, whole bool) float64 {
	m := math.Sqrt(a * b)
	if whole {
		return math.Round(m)
	}
	return math.Round(10*m) / 10
}

// crucial stretches for the SLO: the busiest and the steepest.
func crucial(found []Stretch) []Stretch {
	return slices.DeleteFunc(slices.Clone(found), func(s Stretch) bool {
		names := strings.Split(s.Name, "+")
		return !slices.Contains(names, peakStretch) && !slices.Contains(names, steepestStretch) && s.Name != wholeStretch
	})
}
