package learned

import (
	"errors"
	"fmt"
	"math"

	"github.com/loadline/loadline/internal/modelfile"
	"github.com/loadline/loadline/internal/nn"
	"github.com/loadline/loadline/internal/slosplit"
)

// Sample is a chain as known, and its best split.
type Sample struct {
	Chain  slosplit.Chain
	Shares slosplit.Shares
}

// labelParts is the number of parts of an instance for labels.
const labelParts = 8

// Label labels a chain by parslo, with fractions of instances: each step is given that many
// times its load, and instances at that part of their cost. With whole instances the cheapest
// shares jump by a tenth of the slack and more when the load moves a little, which cannot be
// learned.
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

// Task is one chain of one release of an application with instances of some sizes, under
// varying loads and SLOs: seven samples of ten for training, three for testing.
type Task struct {
	Name        string
	Train, Test []Sample
	// Factor is the ratio of budget to SLO that was measured to be met: tails do not add.
	Factor float64
	// Verified is how many samples of its chain and release were measured in the event engine
	// for that, and Runs the number of measurements; 0 if another task with the same chain and
	// release did.
	Verified, Runs int
}

// trainShare of a task's samples; the rest are its test.
const trainShare = 0.7

// example is a sample encoded for a network.
type example struct {
	nodes, global, labels []float32
}

// preparedTask is a task encoded for a network.
type preparedTask struct {
	name        string
	graph       *nn.Graph
	train, test []*example
}

// scales normalise the features of a sight, the nodes' first and then the chain's.
type scales struct {
	sight Sight
	each  []modelfile.Feature
}

// measureScales computes them over all training samples. Constant features are not scaled.
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

// farthest is how many standard deviations a feature may be from its mean: values beyond are
// outside the training data and are clipped.
const farthest = 6

// apply scales the view of a chain.
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

// examples of samples. Those without slack carry no information and are skipped.
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

// prepareTasks encodes tasks.
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
