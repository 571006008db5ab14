package rl

import (
	"math"
	"slices"

	"github.com/loadline/loadline/internal/nn"
)

// Policy decides on an action.
type Policy interface {
	Decide(observation []float32, action *Action)
}

// Agent is a policy that learns. It is for one goroutine.
type Agent interface {
	Policy

	// Explore decides during training: sometimes it explores.
	Explore(observation []float32, action *Action)

	// Learn learns from a step. The loss is that of the resulting update, if there was one.
	Learn(t Transition) (loss float64, updated bool)

	// Weights are the policy's parameters themselves, not a copy.
	Weights() []float32

	// Archive saves or restores all state of learning.
	Archive(a *Archive)
}

// NetPolicy decides by a network of one input: the choice with the largest
// output, or the outputs as they are.
type NetPolicy struct {
	spaces  Spaces
	context *nn.Context
}

// NewNetPolicy decides by net, which it does not copy: updates of the net take effect. Each
// goroutine needs its own.
func NewNetPolicy(net *nn.Net, spaces Spaces) *NetPolicy {
	p := &NetPolicy{spaces, net.NewContext()}
	// The context prepares itself on its second single row, and prepared rows may round
	// differently: a resumed run must be prepared too.
	for range 2 {
		p.context.Forward(1, make([]float32, spaces.Observation))
	}
	return p
}

// Outputs of the network for one observation, until the next call.
func (p *NetPolicy) Outputs(observation []float32) []float32 {
	return p.context.Forward(1, observation)
}

// Decide implements Policy.
func (p *NetPolicy) Decide(observation []float32, action *Action) {
	out := p.Outputs(observation)
	if p.spaces.Discrete() {
		action.Choice = ArgMax(out)
		return
	}
	copy(action.Values, out)
}

// ArgMax is the index of the largest value, the first of equal ones.
func ArgMax(values []float32) int {
	best := 0
	for i, v := range values {
		if v > values[best] {
			best = i
		}
	}
	return best
}

// Learner is a network that is being trained: its workspace and its optimiser.
type Learner struct {
	Net     *nn.Net
	Context *nn.Context
	adam    *nn.Adam
	longest float32
}

// NewLearner trains net by Adam. Gradients longer than longestGradient are clipped to it; 0
// means no limit.
func NewLearner(net *nn.Net, adam nn.AdamConfig, longestGradient float64) Learner {
	if longestGradient == 0 {
		longestGradient = math.Inf(1)
	}
	return Learner{net, net.NewContext(), nn.NewAdam(net.Size(), adam), float32(longestGradient)}
}

// Descend propagates the loss's gradient with respect to the outputs of the last Forward back
// through the network and takes a step of the optimiser. A non-finite gradient would ruin the
// weights for good: that step is skipped.
func (l *Learner) Descend(dOutput []float32) {
	l.Context.Backward(dOutput, nn.ParamGradients)
	norm := float64(nn.ClipNorm(l.Context.Gradient(), l.longest))
	if !math.IsNaN(norm) && !math.IsInf(norm, 0) {
		l.adam.Step(l.Net.Params(), l.Context.Gradient())
	}
}

// Archive saves or restores weights and optimiser.
func (l *Learner) Archive(a *Archive) {
	a.Floats(l.Net.Params())
	state := l.adam.State()
	m1, m2 := slices.Clone(state.M1), slices.Clone(state.M2)
	a.Int(&state.Steps)
	a.Floats(m1)
	a.Floats(m2)
	if a.Restoring() {
		a.Fail(l.adam.Restore(nn.AdamState{Steps: state.Steps, M1: m1, M2: m2}))
	}
}
