package learned

import (
	"fmt"

	"github.com/loadline/loadline/internal/nn"
)

// Pace is how a network takes its steps while it adapts: plain gradient descent as in
// the inner loop, or Adam.
type Pace struct {
	Adam bool
	Rate float64
}

func (p Pace) String() string {
	if p.Adam {
		return fmt.Sprintf("Adam at %g", p.Rate)
	}
	return fmt.Sprintf("descent at %g", p.Rate)
}

// Practice is samples of one chain as a model takes them.
type Practice struct{ of *lesson }

// Practice prepares samples of one chain. Those that leave nothing to divide are left
// out.
func (m *Model) Practice(samples []Sample) (*Practice, error) {
	if m.Way == "fnn" && len(samples) > 0 && len(samples[0].Chain.Steps) > fnnMost {
		return nil, fmt.Errorf("a chain of %d services, an FNN takes %d at most", len(samples[0].Chain.Steps), fnnMost)
	}
	of, err := m.scales.lesson("", samples, nil)
	if err != nil {
		return nil, err
	}
	return &Practice{of}, nil
}

// Len is how many samples there are.
func (p *Practice) Len() int { return len(p.of.train) }

// Pupil is a model that goes on learning, step by step, from a stream of samples. The
// model itself stays as it is. It is for one goroutine.
type Pupil struct {
	learner *learner
	model   *Model
	pace    Pace
	adam    *nn.Adam
}

// Pupil of the model.
func (m *Model) Pupil(pace Pace) *Pupil {
	p := &Pupil{learner: newLearner(m.Way, m.net.Clone()), model: m, pace: pace}
	p.Reset()
	return p
}

// Reset goes back to the model.
func (p *Pupil) Reset() {
	copy(p.learner.net.Params(), p.model.net.Params())
	p.adam = nn.NewAdam(p.learner.net.Size(), nn.AdamConfig{Rate: float32(p.pace.Rate)})
}

// Step takes one step on the samples from one to another. Weights that are no longer
// finite lead back to the model.
func (p *Pupil) Step(on *Practice, from, to int) {
	if from >= to {
		return
	}
	_, g := p.learner.gradient(on.of, on.of.train[from:to])
	if p.pace.Adam {
		p.adam.Step(p.learner.net.Params(), g)
	} else {
		nn.AddScaled(p.learner.net.Params(), -float32(p.pace.Rate), g)
	}
	if !nn.Finite(p.learner.net.Params()) {
		p.Reset()
	}
}

// Misplaced is the part of the slack that the pupil gives to the wrong service, on the
// mean over all samples.
func (p *Pupil) Misplaced(on *Practice) float64 {
	_, part := p.learner.score(on.of, on.of.train)
	return part
}

// Model is what has been learned so far.
func (p *Pupil) Model() *Model {
	m := newModel(p.model.Way, p.model.Settings, p.model.scales, p.learner.net.Clone())
	m.Training, m.Results = p.model.Training, p.model.Results
	return m
}
