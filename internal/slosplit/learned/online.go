package learned

import (
	"fmt"
	"slices"

	"github.com/loadline/loadline/internal/nn"
)

// Optimiser is how a network is updated while it adapts: by plain gradient descent, Adam, or
// the model's own inner loop.
type Optimiser struct {
	Adam bool
	Own  bool // as in the model's inner loop, at its rates times Rate
	Rate float64
	// Context is Adam's rate for the context, which has to move further; 0 = Rate.
	Context float64
	// Ease is the number of steps after the start of a chain at which Adam's rates are halved,
	// after twice as many a third, and so on; 0 = constant rates.
	Ease float64
}

func (p Optimiser) String() string {
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

// PreparedSamples are samples of one chain in the form of the model's inputs.
type PreparedSamples struct {
	of    *preparedTask
	chain string // its services
}

// Prepare encodes samples of one chain. Those without slack are skipped.
func (m *Model) Prepare(samples []Sample) (*PreparedSamples, error) {
	if m.Way == "fnn" && len(samples) > 0 && len(samples[0].Chain.Steps) > fnnMost {
		return nil, fmt.Errorf("a chain of %d services, an FNN takes %d at most", len(samples[0].Chain.Steps), fnnMost)
	}
	of, err := m.scales.prepareTask("", samples, nil)
	if err != nil {
		return nil, err
	}
	p := &PreparedSamples{of: of}
	for _, s := range samples[0].Chain.Steps {
		p.chain += s.Name + "\n"
	}
	return p, nil
}

// Len is how many samples there are.
func (p *PreparedSamples) Len() int { return len(p.of.train) }

// OnlineLearner trains a copy of a model step by step on a stream of samples. It is for
// one goroutine.
type OnlineLearner struct {
	learner   *learner
	model     *Model
	optimiser Optimiser
	chain     string // its current chain, whose context it has; empty = none yet

	steps                    int // since the start of that chain
	all, moves               []float32
	inner                    inner
	weightsAdam, contextAdam *nn.Adam // about: of the context
}

// OnlineLearner returns a learner that starts from the model.
func (m *Model) OnlineLearner(pace Optimiser) *OnlineLearner {
	return &OnlineLearner{learner: newLearner(m.Way, m.Settings.Traits, m.net.Clone()), model: m, optimiser: pace}
}

// Reset returns to the weights of the model.
func (p *OnlineLearner) Reset() {
	copy(p.learner.net.Params(), p.model.net.Params())
	p.chain = ""
}

// start begins a chain. The context of another one does not apply.
func (p *OnlineLearner) start(on *PreparedSamples) {
	if p.chain == on.chain {
		return
	}
	l, steps := p.learner, on.of.graph.Nodes()
	p.chain, p.steps = on.chain, 0
	l.meet(steps)
	copy(l.context, p.model.context(steps))
	n := l.size()
	p.all, p.moves = make([]float32, n), make([]float32, n)
	p.inner = inner{rates: slices.Repeat([]float32{float32(p.optimiser.Rate)}, n)}
	if p.optimiser.Own {
		p.inner = p.model.inner(steps)
		for i := range p.inner.rates {
			p.inner.rates[i] *= float32(p.optimiser.Rate)
		}
	}
	p.weightsAdam = nn.NewAdam(l.net.Size(), nn.AdamConfig{})
	p.contextAdam = nn.NewAdam(len(l.context), nn.AdamConfig{})
}

// Step takes one step on the samples in [from, to). If weights are no longer finite, it returns
// to the model.
func (p *OnlineLearner) Step(on *PreparedSamples, from, to int) {
	if from >= to {
		return
	}
	p.start(on)
	_, g := p.learner.gradient(on.of, on.of.train[from:to])
	p.learner.save(p.all)
	if p.optimiser.Adam {
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

// adam takes one step of Adam.
func (p *OnlineLearner) adam(g []float32) {
	eased := 1.0
	if p.optimiser.Ease > 0 {
		eased = 1 / (1 + float64(p.steps)/p.optimiser.Ease)
	}
	context := p.optimiser.Context
	if context == 0 {
		context = p.optimiser.Rate
	}
	n := p.learner.net.Size()
	p.weightsAdam.SetRate(float32(p.optimiser.Rate * eased))
	p.contextAdam.SetRate(float32(context * eased))
	p.weightsAdam.Step(p.all[:n], g[:n])
	p.contextAdam.Step(p.all[n:], g[n:])
}

// Misplaced is the part of the slack that the learner gives to the wrong service, averaged over
// all samples.
func (p *OnlineLearner) Misplaced(on *PreparedSamples) float64 {
	p.start(on)
	_, part := p.learner.score(on.of, on.of.train)
	return part
}

// Model is the model learned so far.
func (p *OnlineLearner) Model() *Model { return p.model.after(p.learner) }
