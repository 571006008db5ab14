package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/result"
	"github.com/loadline/loadline/internal/sim/fluid"
	"github.com/loadline/loadline/internal/workload"
)

// WholeDir holds the runs of the fluid engine over the whole test part.
const WholeDir = "whole"

var nan = math.NaN()

// lookShares are the shares of the progress of each look. Conditions come after the first.
var lookShares = [mostLooks][2]float64{{0.6, 0.7}, {0.85, 0.9}, {0.9, 0.95}}

// phases of an evaluation, each from a share of its progress on.
var phases = []struct {
	from float64
	name string
}{
	{0, "search on the selection part"}, {0.5, "the whole test part"}, {0.6, "the test part, request by request"},
	{0.7, "other conditions"}, {0.85, "more runs, as the answer is not clear"}, {0.95, "Scaling-Ops' environment"},
}

// PhaseAt names what an evaluation does at a share of its progress.
func PhaseAt(share float64) string {
	name := phases[0].name
	for _, p := range phases {
		if share >= p.from {
			name = p.name
		}
	}
	return name
}

// judge runs the chosen candidate and the baselines on the test part. After each look the verdict
// is formed; further seeds are run while it is not clear and they could make it so.
func (p *proof) judge(ctx context.Context) error {
	e := p.evaluation
	deployments := slices.Clone(p.rules)
	if p.choice.Label != "" {
		deployments = append(deployments, p.choice)
	}
	whole, err := p.whole(ctx, WholeDir, p.folder.HeldOut, p.folder.Subject.HeldOut.From, deployments, [2]float64{0.5, 0.6})
	if err != nil {
		return err
	}
	on, err := stretches(p.folder.HeldOut, p.Stretch, p.differ(whole))
	if err != nil {
		return err
	}
	e.Stretches = evaluated(on, p.folder.Subject.HeldOut.From)
	e.Extrapolation = p.coverage(whole)
	if x := &e.Extrapolation; x.Beyond > 0 {
		e.Assumptions = append(e.Assumptions, fmt.Sprintf("%s of the test part has a load beyond what was fitted to and selected on, %.3g to "+
			"%.3g requests/s: there the twin extrapolates.", result.Percent(x.Beyond), float64(x.Lowest), float64(x.Highest)))
	}
	begun := startAt(deployments, whole, on)
	for look := range mostLooks {
		e.Looks, e.Seeds = look+1, p.Seeds<<look
		e.Entries, err = p.run(ctx, comparison{
			dir: BenchDir, on: on, length: p.Stretch, policies: begun, seeds: e.Seeds, from: p.folder.Subject.HeldOut.From,
			calibration: []Stretch{{Load: p.folder.Selection}}, share: lookShares[look],
		})
		if err != nil {
			return err
		}
		for i := range e.Entries {
			entry := &e.Entries[i]
			if w := entryOf(whole, entry.Label); w != nil {
				entry.Whole = &Whole{w.PerMonth, w.Over}
			}
		}
		e.compare()
		if look == 0 {
			if err := p.tryConditions(ctx, whole, deployments, [2]float64{0.7, 0.85}); err != nil {
				return err
			}
		}
		var more bool
		if e.Verdict, more = e.conclude(p.MaxChurn); !more {
			break
		}
	}
	if err := p.folder.tryENV2(ctx, e.Entries, p.EvaluationSettings); err != nil {
		return err
	}
	e.rank()
	p.Progress(1)
	return nil
}

// whole runs deployments over a whole part in the fluid engine. It may choose stretches and
// contradict the event engine, but decides nothing alone. Nil = it does not simulate the
// application.
func (p *proof) whole(ctx context.Context, dir string, load *workload.Workload, from time.Time, deployments []bench.Policy,
	share [2]float64) ([]Entry, error) {
	if fluid.Check(p.folder.App) != nil {
		return nil, nil
	}
	return p.run(ctx, comparison{
		dir: dir, engine: "fluid", on: []Stretch{{wholeStretch, 0, load.Duration(), load, 1}}, length: selectionStretch,
		policies: slices.DeleteFunc(slices.Clone(deployments), func(d bench.Policy) bool { return isOracle(d.Spec) || d.Trained }),
		seeds:    1, share: share, from: from,
	})
}

// differ is how far the requested cores of the choice, or without one of the best rule, are from
// those of the other deployments over a time, in the fluid engine; nil = unknown.
func (p *proof) differ(whole []Entry) func(from, to time.Duration) float64 {
	choice := entryOf(whole, cmp.Or(p.choice.Label, p.evaluation.Selection.Rule))
	if choice == nil {
		return nil
	}
	own := choice.runs[0].Timeline
	return func(from, to time.Duration) float64 {
		sum := 0.0
		for i := range whole {
			other := whole[i].runs[0].Timeline
			for n := range min(len(own.T), len(other.T)) {
				if at := float64(own.T[n]); at > from.Seconds() && at <= to.Seconds() {
					sum += math.Abs(float64(own.Asked[n] - other.Asked[n]))
				}
			}
		}
		return sum
	}
}

// compare every deployment with today's. What runs as a LoadLine also costs what Loadline does.
func (e *Evaluation) compare() {
	today := e.Entry(TodayLabel)
	for i := range e.Entries {
		entry := &e.Entries[i]
		entry.judgeSLO()
		if entry.Label != today.Label {
			entry.AgainstToday = entry.costAgainst(today, entry.ownCost(e.Own)-today.ownCost(e.Own))
		}
	}
}

// ownCost is what Loadline itself costs with a deployment: nothing if that is not a LoadLine.
func (e *Entry) ownCost(own result.Number) float64 {
	if e.Role == RoleCandidate || e.Fallback != "" {
		return float64(own)
	}
	return 0
}
