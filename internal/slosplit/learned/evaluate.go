package learned

import (
	"fmt"

	"github.com/loadline/loadline/internal/slosplit"
)

// Evaluation is the result of a model on held-out tasks.
type Evaluation struct {
	Misplaced float64 // part of the slack given to the wrong service
	Cost      float64 // relative to parslo's, mean; whole instances, not adjusted
	Worst     float64 // relative to parslo's, maximum
	Samples   int
}

// Evaluate evaluates a model on the test samples of tasks, after the given steps on their
// training samples; 0 = without adapting. The tasks must have the true profiles.
func Evaluate(m *Model, tasks []Task, steps int) (Evaluation, error) {
	var j Evaluation
	for i := range tasks {
		t := &tasks[i]
		adapted := m
		if steps > 0 {
			var err error
			if adapted, err = m.Adapt(t.Train, steps); err != nil {
				return j, fmt.Errorf("task %s: %w", t.Name, err)
			}
		}
		on, err := adapted.Prepare(t.Test)
		if err != nil {
			return j, fmt.Errorf("task %s: %w", t.Name, err)
		}
		j.Misplaced += adapted.OnlineLearner(Optimiser{}).Misplaced(on) / float64(len(tasks))
		for s := range t.Test {
			c := &t.Test[s].Chain
			ratio, err := overParslo(adapted, c)
			if err != nil {
				return j, fmt.Errorf("task %s: %w", t.Name, err)
			}
			j.Cost += ratio
			j.Worst = max(j.Worst, ratio)
			j.Samples++
		}
	}
	j.Cost /= float64(max(j.Samples, 1))
	return j, nil
}

// overParslo is the cost of a split relative to parslo's.
func overParslo(split slosplit.Splitter, c *slosplit.Chain) (float64, error) {
	costs := [2]float64{}
	for i, s := range []slosplit.Splitter{split, slosplit.Parslo{}} {
		shares, err := s.Split(c)
		if err != nil {
			return 0, err
		}
		if costs[i], err = Cost(c, shares); err != nil {
			return 0, err
		}
	}
	return costs[0] / costs[1], nil
}

// Cost of the instances that keep shares, in cores.
func Cost(c *slosplit.Chain, shares slosplit.Shares) (float64, error) {
	sum := 0.0
	for i := range c.Steps {
		n, kept, err := c.Steps[i].Instances(shares[i])
		if err != nil {
			return 0, err
		}
		if !kept {
			return 0, fmt.Errorf("chain of %s: %s cannot keep its share of %v s", c.Kind, c.Steps[i].Name, shares[i])
		}
		sum += float64(n) * c.Steps[i].Cost
	}
	return sum, nil
}
