package learned

import (
	"errors"
	"fmt"
	"math"

	"github.com/loadline/loadline/internal/modelfile"
	"github.com/loadline/loadline/internal/nn"
	"github.com/loadline/loadline/internal/slosplit"
)

// Sample is a chain as it is seen, and how it is best divided.
type Sample struct {
	Chain  slosplit.Chain
	Shares slosplit.Shares
}

// labelParts is into how many parts an instance is divided for a label.
const labelParts = 8

// Label a chain by parslo, with instances that can be had in parts: each step is given
// so many times its load, and instances of that part of their cost. Whole instances
// make the cheapest shares jump when the load moves a little, by a tenth of the slack
// and more, which cannot be learned.
func Label(c *slosplit.Chain) (slosplit.Shares, error) {
	fine := *c
	fine.Steps = make([]slosplit.Step, len(c.Steps))
	for i, s := range c.Steps {
		s.Load *= labelParts
		s.Cost /= labelParts
		s.Min *= labelParts
		s.Max *= labelParts
		fine.Steps[i] = s
	}
	return slosplit.Parslo{}.Split(&fine)
}

// Task is one chain of one release of an application with instances of some sizes,
// under loads and SLOs that vary: seven samples of ten to learn from, three to be tested on.
type Task struct {
	Name        string
	Train, Test []Sample
	// Factor is the budget over the SLO: tails do not add, and so much was measured
	// to be met.
	Factor float64
	// Verified is how many samples of its chain and release were measured in the event
	// engine to find that, and Runs how many measurements it took; 0 if another task
	// of the same did.
	Verified, Runs int
}

// trainShare of a task's samples; the rest are its test.
const trainShare = 0.7

// example is a sample as a network takes it.
type example struct {
	nodes, global, labels []float32
}

// preparedTask is a task as a network takes it.
type preparedTask struct {
	name        string
	graph       *nn.Graph
	train, test []*example
}

// scales make the features of a sight comparable, the nodes' first and then the
// chain's.
type scales struct {
	sight Sight
	each  []modelfile.Feature
}

// measureScales over all training samples. What never changes is left as it is.
func measureScales(tasks []Task, sight Sight) (scales, error) {
	names := sight.features()
	width, _ := sight.widths()
	sums, squares, counts := make([]float64, len(names)), make([]float64, len(names)), make([]float64, len(names))
	add := func(i int, v float32) {
		sums[i] += float64(v)
		squares[i] += float64(v) * float64(v)
		counts[i]++
	}
	v := view{sight: sight}
	for _, t := range tasks {
		for i := range t.Train {
			if err := v.look(&t.Train[i].Chain); err != nil {
				return scales{}, fmt.Errorf("task %s: %w", t.Name, err)
			}
			for at, x := range v.nodes {
				add(at%width, x)
			}
			for at, x := range v.global {
				add(width+at, x)
			}
		}
	}
	s := scales{sight, make([]modelfile.Feature, len(names))}
	for i, name := range names {
		if counts[i] == 0 {
			return scales{}, errors.New("there are no samples to learn from")
		}
		mean := sums[i] / counts[i]
		spread := math.Sqrt(max(squares[i]/counts[i]-mean*mean, 0))
		if spread < 1e-3 {
			spread = 1
		}
		s.each[i] = modelfile.Feature{Name: name, Mean: mean, Spread: spread}
	}
	return s, nil
}

// farthest is how many spreads a feature may lie from its mean: beyond that a network
// was never trained, and would only be carried away.
const farthest = 6

// apply the scales to what was seen of a chain.
func (s scales) apply(v *view) {
	one := func(values []float32, scale modelfile.Feature, at int) {
		x := (float64(values[at]) - scale.Mean) / scale.Spread
		values[at] = float32(min(max(x, -farthest), farthest))
	}
	width, _ := s.sight.widths()
	for at := range v.nodes {
		one(v.nodes, s.each[at%width], at)
	}
	for at := range v.global {
		one(v.global, s.each[width+at], at)
	}
}

// examples of samples. Those without slack to split carry no information, and are left
// out.
func (s scales) examples(of []Sample) ([]*example, error) {
	var list []*example
	for i := range of {
		v := view{sight: s.sight}
		if err := v.look(&of[i].Chain); err != nil {
			return nil, err
		}
		parts, some := v.parts(&of[i].Chain, of[i].Shares)
		if !some {
			continue
		}
		s.apply(&v)
		e := &example{nodes: v.nodes, global: v.global, labels: make([]float32, len(parts))}
		for j, p := range parts {
			e.labels[j] = float32(p)
		}
		list = append(list, e)
	}
	return list, nil
}

// prepareTasks of tasks.
func (s scales) prepareTasks(tasks []Task) ([]*preparedTask, error) {
	var list []*preparedTask
	for i := range tasks {
		t := &tasks[i]
		l, err := s.prepareTask(t.Name, t.Train, t.Test)
		if err != nil {
			return nil, fmt.Errorf("task %s: %w", t.Name, err)
		}
		if len(l.train) == 0 || len(l.test) == 0 {
			return nil, fmt.Errorf("task %s has %d samples to learn from and %d to be tested on: both need some", t.Name, len(l.train),
				len(l.test))
		}
		list = append(list, l)
	}
	return list, nil
}

func (s scales) prepareTask(name string, train, test []Sample) (*preparedTask, error) {
	l := &preparedTask{name: name}
	var err error
	if l.train, err = s.examples(train); err != nil {
		return nil, err
	}
	if l.test, err = s.examples(test); err != nil {
		return nil, err
	}
	all := append(append([]Sample{}, train...), test...)
	if len(all) == 0 {
		return nil, errors.New("there are no samples")
	}
	first := &all[0].Chain
	for i := range all {
		if len(all[i].Chain.Steps) != len(first.Steps) {
			return nil, fmt.Errorf("samples of chains of %d and of %d services: a task is of one chain", len(first.Steps),
				len(all[i].Chain.Steps))
		}
	}
	l.graph, err = nn.NewGraph(len(first.Steps), calls(first))
	return l, err
}
