package report

import (
	"math"
	"slices"

	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/result"
)

// curves of trained policies, one for each policy, application and workload: models differ in
// their seeds, and are evaluated after about the same steps.
func (b *builder) curves() []Curve {
	var all []Curve
	var models [][]bench.Learned // by curve
	s := &b.report.Summary
	for _, l := range b.results.Learned {
		policy := slices.IndexFunc(s.Policies, func(p Policy) bool { return p.Label == l.Label })
		if policy < 0 {
			continue // its runs are not shown
		}
		i := slices.IndexFunc(all, func(c Curve) bool { return c.App == l.App && c.Workload == l.Workload && c.Policy == policy })
		if i < 0 {
			i = len(all)
			all = append(all, Curve{App: l.App, Workload: l.Workload, Policy: policy, Setting: l.Setting})
			models = append(models, nil)
		}
		models[i] = append(models[i], l)
	}
	for i := range all {
		all[i].Models = len(models[i])
		all[i].Steps, all[i].Rewards = meanCurve(models[i])
		var finals []float64
		for _, m := range models[i] {
			finals = append(finals, float64(m.Yardstick))
		}
		all[i].Final = tripleOf(bench.IntervalOf(finals))
	}
	return all
}

// meanCurve is the mean of the models' last evaluations at every evaluation of any. It begins
// where all have been evaluated; a model that stopped early keeps its last value.
func meanCurve(models []bench.Learned) (steps []int, rewards []result.Number) {
	for _, m := range models {
		for _, p := range m.Curve {
			steps = append(steps, p.Steps)
		}
	}
	slices.Sort(steps)
	steps = slices.Compact(steps)
	for _, at := range steps {
		sum := 0.0
		for _, m := range models {
			last := math.NaN()
			for _, p := range m.Curve {
				if p.Steps <= at {
					last = float64(p.CommonReward)
				}
			}
			sum += last
		}
		rewards = append(rewards, significant(result.Number(sum/float64(len(models))), 5))
	}
	for len(rewards) > 0 && math.IsNaN(float64(rewards[0])) {
		steps, rewards = steps[1:], rewards[1:]
	}
	return steps, rewards
}
