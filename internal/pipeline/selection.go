package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/result"
	"github.com/loadline/loadline/internal/suggest"
)

// SelectionDir holds the runs by which rules are calibrated and a candidate is chosen.
const SelectionDir = "selection"

// selectionStretch is the length of the stretches there. It is not a setting: the choice must not
// depend on how the test is made.
const selectionStretch = 40 * time.Minute

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

// selection tunes the baselines on the second part of the history, takes the best of them as
// the fallback rule, and chooses a candidate that runs with it.
func (p *proof) selection(ctx context.Context) error {
	on, err := stretches(p.folder.Selection, selectionStretch, nil)
	if err != nil {
		return err
	}
	s := &p.evaluation.Selection
	s.Stretches = evaluated(on, p.folder.Subject.Selection.From)
	work := comparison{dir: SelectionDir, on: on, length: selectionStretch, seeds: 1, calibration: calibrationLoads(on),
		from: p.folder.Subject.Selection.From, floors: p.folder.floors()}
	tuned, rules := 0.15, 0.25 // of the progress
	if len(p.candidates) == 0 {
		tuned, rules = 0.35, 0.5
	}
	if err := p.calibrate(ctx, work, tuned); err != nil {
		return err
	}
	work.policies = slices.DeleteFunc(slices.Clone(p.rules), func(b bench.Policy) bool { return isOracle(b.Spec) }) // it needs no choice
	if s.Entries, err = p.onSelection(ctx, work, tuned, rules); err != nil {
		return err
	}
	rule := bestRule(s.Entries)
	s.Rule, s.Fallback = rule.Label, cmp.Or(rule.Fallback, rule.Policy)
	if len(p.candidates) == 0 {
		return nil
	}
	work.policies = nil
	for _, c := range p.candidates {
		d, err := p.deployment(p.folder, c, s.Fallback)
		if err != nil {
			return err
		}
		work.policies = append(work.policies, d)
	}
	entries, err := p.onSelection(ctx, work, 0.25, 0.5)
	if err != nil {
		return err
	}
	s.Entries = append(s.Entries, entries...)
	s.Choice = p.Candidate
	if s.Choice == "" {
		s.Choice = s.choose(p.Prefer, p.MaxChurn)
	}
	p.choice = work.policies[slices.IndexFunc(work.policies, func(c bench.Policy) bool { return c.Label == s.Choice })]
	return nil
}

// onSelection runs deployments on the stretches of the selection part, each as it would be by then.
func (p *proof) onSelection(ctx context.Context, work comparison, from, to float64) ([]Entry, error) {
	middle := from + 0.3*(to-from)
	whole, err := p.whole(ctx, filepath.Join(SelectionDir, WholeDir), p.folder.Selection, work.from, work.policies,
		[2]float64{from, middle})
	if err != nil {
		return nil, err
	}
	last, deployments := middle+0.6*(to-middle), work.policies
	work.policies, work.share = startAt(deployments, whole, work.on), [2]float64{middle, last}
	entries, err := p.run(ctx, work)
	if err != nil {
		return nil, err
	}
	work.policies, work.share = deployments, [2]float64{last, to}
	return entries, p.onBusyNodes(ctx, work, whole, entries)
}

// onBusyNodes adds what deployments do on nodes as busy as they may be, if today's deployment meets
// the SLO there.
func (p *proof) onBusyNodes(ctx context.Context, work comparison, whole, entries []Entry) error {
	busy := busiest(p.conditions())
	if busy == nil {
		return nil
	}
	on, err := stretches(p.folder.Selection, conditionStretch, nil)
	if err != nil {
		return err
	}
	work.on, work.length, work.under = crucial(on), conditionStretch, []Condition{*busy}
	deployments := slices.DeleteFunc(slices.Clone(work.policies), func(d bench.Policy) bool { return d.Trained })
	work.policies = startAt(deployments, whole, work.on)
	found, err := p.run(ctx, work)
	if err != nil {
		return err
	}
	s := &p.evaluation.Selection
	if today := entryOf(found, TodayLabel); today != nil && today.WorstOver <= result.CountsIf {
		s.Busy = busy.Name
	}
	for i := range entries {
		if e := entryOf(found, entries[i].Label); e != nil && s.Busy != "" {
			entries[i].BusyOver = e.WorstOver
		}
	}
	return nil
}

// calibrate searches the settings of the baselines that are to be calibrated.
func (p *proof) calibrate(ctx context.Context, work comparison, share float64) error {
	p.rules = p.baselines(p.folder)
	// The search is the same in all stretches, and begins with the replicas for the busiest.
	peak := slices.MaxFunc(work.on, func(a, b Stretch) int { return cmp.Compare(a.Load.Mean(), b.Load.Mean()) })
	work.on, work.share = []Stretch{peak}, [2]float64{0, share}
	if busy := busiest(p.conditions()); busy != nil { // a setting must also do on empty nodes
		work.under, work.levels = []Condition{*busy}, bench.NeighbourLevels
	}
	for _, r := range p.rules {
		if r.Calibrated {
			work.policies = append(work.policies, r)
		}
	}
	if len(work.policies) == 0 {
		return nil
	}
	results, err := p.results(ctx, work)
	if err != nil {
		return err
	}
	found, err := p.summed(work, results.Rows)
	if err != nil {
		return err
	}
	if c := results.Calibrations[TunedLabel]; c != nil {
		p.evaluation.Selection.Tried = c.Tried
	}
	for i := range p.rules {
		if e := entryOf(found, p.rules[i].Label); e != nil {
			p.rules[i].Spec, p.rules[i].Calibrated = e.Policy, false
			p.calibrated = append(p.calibrated, e.Label)
		}
	}
	return nil
}

// reserve is the part of the allowed share of requests over the SLO that a deployment may use in
// the selection. One that uses all of it would not clearly meet the SLO in the test.
const reserve = 0.4

// met reports whether every stretch met the SLO with a reserve.
func (e *Entry) met() bool { return max(e.WorstOver, e.BusyOver) <= reserve*result.CountsIf }

// bestRule is the cheapest baseline that meets the SLO, or the one with the fewest requests over
// it; the first of equals, which is today's. A LoadLine that runs today is no rule, unless there is
// no other: a policy and its fallback must not fail together.
func bestRule(entries []Entry) *Entry {
	best := &entries[0]
	for i := range entries {
		e := &entries[i]
		switch {
		case (e.Fallback == "") != (best.Fallback == ""):
			if e.Fallback == "" {
				best = e
			}
		case e.met() != best.met():
			if e.met() {
				best = e
			}
		case e.met() && e.PerMonth < best.PerMonth, !e.met() && e.Over < best.Over:
			best = e
		}
	}
	return best
}

// place of a baseline in the selection: by cost those that meet the SLO, then the others by their
// share over it.
func (s *Selection) place(label string) float64 {
	e := entryOf(s.Entries, label)
	switch {
	case e == nil:
		return math.Inf(1)
	case e.met():
		return float64(e.PerMonth)
	}
	return math.MaxFloat64 * float64(min(e.Over, 1))
}

// idle reports whether a deployment does nothing, since its axes allow nothing of what it proposes.
func (e *Entry) idle() bool { return len(e.NotAllowed) > 0 && e.changes() < 0.5 }

// choose a candidate: among those that meet the SLO, or if none does the one with the fewest
// requests over it. One that stays at its upper bound, changes too often, or cannot act on the axes is
// chosen only if there is no other. The order of the candidates does not matter.
func (s *Selection) choose(prefer Preference, maxChurn float64) string {
	var all, met, able, idle []*Entry
	for i := range s.Entries {
		c := &s.Entries[i]
		if c.Role != RoleCandidate {
			continue
		}
		if c.idle() {
			idle = append(idle, c)
			continue
		}
		all = append(all, c)
		if c.met() {
			met = append(met, c)
			if c.Bound != "max" && c.churn(entryOf(s.Entries, TodayLabel), maxChurn) == Yes {
				able = append(able, c)
			}
		}
	}
	least := func(of []*Entry, figure func(*Entry) float64) string {
		return slices.MinFunc(of, func(a, b *Entry) int {
			return cmp.Or(cmp.Compare(figure(a), figure(b)), cmp.Compare(a.Label, b.Label))
		}).Label
	}
	switch {
	case len(all) == 0:
		return least(idle, func(e *Entry) float64 { return float64(e.Over) })
	case len(met) == 0:
		return least(all, func(e *Entry) float64 { return float64(e.Over) })
	case len(able) == 0:
		able = met
	}
	rule := entryOf(s.Entries, s.Rule)
	cost, latency := func(e *Entry) float64 { return float64(e.PerMonth) }, func(e *Entry) float64 { return float64(e.SLORatio) }
	switch prefer {
	case PreferLatency:
		cheap := slices.DeleteFunc(slices.Clone(able), func(c *Entry) bool { return rule.met() && c.PerMonth > rule.PerMonth })
		if len(cheap) == 0 {
			cheap = able
		}
		return least(cheap, latency)
	case PreferBalanced:
		// A tenth of the rule's cost counts like a tenth of the SLO.
		return least(able, func(e *Entry) float64 { return cost(e)/cost(rule) + latency(e) })
	}
	return least(able, cost)
}
