package learned

import (
	"fmt"
	"slices"

	"github.com/loadline/loadline/internal/nn"
)

// Pace is how a network takes its steps while it adapts: plain gradient descent, or
// Adam, or the model's own inner loop.
type Pace struct {
	Adam bool
	Own  bool // as in the model's inner loop, at its rates times Rate
	Rate float64
	// Context is Adam's rate for a context, which has further to go; 0 = Rate.
	Context float64
	// Ease is after how many steps from meeting a chain Adam's rates are half as high,
	// after twice as many a third, and so on; 0 = they stay.
	Ease float64
}

func (p Pace) String() string {
	text := fmt.Sprintf("descent at %g", p.Rate)
	switch {
	case p.Own:
		return fmt.Sprintf("its inner loop at %g times the rates", p.Rate)
	case p.Adam:
		text = fmt.Sprintf("Adam at %g", p.Rate)
	}
	if p.Context > 0 {
		text += fmt.Sprintf(" and %g for the context", p.Context)
	}
	if p.Ease > 0 {
		text += fmt.Sprintf(", halved after %g steps", p.Ease)
	}
	return text
}

// Practice is samples of one chain as a model takes them.
type Practice struct {
	of    *lesson
	chain string // its services
}

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
	p := &Practice{of: of}
	for _, s := range samples[0].Chain.Steps {
		p.chain += s.Name + "\n"
	}
	return p, nil
}

// Len is how many samples there are.
func (p *Practice) Len() int { return len(p.of.train) }

// Pupil is a model that goes on learning, step by step, from a stream of samples. The
// model itself stays as it is. It is for one goroutine.
type Pupil struct {
	learner *learner
	model   *Model
	pace    Pace
	chain   string // that it has met, and whose context it has; none yet if empty

	steps          int // since then
	all, moves     []float32
	inner          inner
	weights, about *nn.Adam // about: of the context
}

// Pupil of the model.
func (m *Model) Pupil(pace Pace) *Pupil {
	return &Pupil{learner: newLearner(m.Way, m.Settings.Traits, m.net.Clone()), model: m, pace: pace}
}

// Reset goes back to the model.
func (p *Pupil) Reset() {
	copy(p.learner.net.Params(), p.model.net.Params())
	p.chain = ""
}

// meet a chain. What was learned of the services of another is of no use.
func (p *Pupil) meet(on *Practice) {
	if p.chain == on.chain {
		return
	}
	l, steps := p.learner, on.of.graph.Nodes()
	p.chain, p.steps = on.chain, 0
	l.meet(steps)
	copy(l.context, p.model.context(steps))
	n := l.size()
	p.all, p.moves = make([]float32, n), make([]float32, n)
	p.inner = inner{rates: slices.Repeat([]float32{float32(p.pace.Rate)}, n)}
	if p.pace.Own {
		p.inner = p.model.inner(steps)
		for i := range p.inner.rates {
			p.inner.rates[i] *= float32(p.pace.Rate)
		}
	}
	p.weights = nn.NewAdam(l.net.Size(), nn.AdamConfig{})
	p.about = nn.NewAdam(len(l.context), nn.AdamConfig{})
}

// Step takes one step on the samples from one to another. Weights that are no longer
// finite lead back to the model.
func (p *Pupil) Step(on *Practice, from, to int) {
	if from >= to {
		return
	}
	p.meet(on)
	_, g := p.learner.gradient(on.of, on.of.train[from:to])
	p.learner.save(p.all)
	if p.pace.Adam {
		p.adam(g)
	} else {
		for i := range g {
			p.moves[i] = p.inner.keep*p.moves[i] + g[i]
			p.all[i] -= p.inner.rates[i] * p.moves[i]
		}
	}
	p.steps++
	p.learner.set(p.all)
	if !nn.Finite(p.all) {
		p.Reset()
	}
}

// adam takes Adam's step.
func (p *Pupil) adam(g []float32) {
	eased := 1.0
	if p.pace.Ease > 0 {
		eased = 1 / (1 + float64(p.steps)/p.pace.Ease)
	}
	context := p.pace.Context
	if context == 0 {
		context = p.pace.Rate
	}
	n := p.learner.net.Size()
	p.weights.SetRate(float32(p.pace.Rate * eased))
	p.about.SetRate(float32(context * eased))
	p.weights.Step(p.all[:n], g[:n])
	p.about.Step(p.all[n:], g[n:])
}

// Misplaced is the part of the slack that the pupil gives to the wrong service, on the
// mean over all samples.
func (p *Pupil) Misplaced(on *Practice) float64 {
	p.meet(on)
	_, part := p.learner.score(on.of, on.of.train)
	return part
}

// Model is what has been learned so far.
func (p *Pupil) Model() *Model { return p.model.after(p.learner) }
