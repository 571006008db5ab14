package drpc

import (
	"fmt"
	"math"

	"github.com/loadline/loadline/internal/nn"
	"github.com/loadline/loadline/internal/rl"
)

// branching is a DQN with one branch of three choices for every service and axis,
// after Tavakoli, Pardo and Kormushev, "Action branching architectures for deep
// reinforcement learning" (2018).
//
// Deviations: the value of the whole is the sum of the branches' values over the root of their
// number, and every branch learns from the error of the whole (value decomposition, as TD3's
// parts), where the paper lets each branch learn from the common target alone; there is no
// common state value, since the shared parts of the state are in every row; double DQN; soft
// targets. Targets are bounded by the value of a permanent reward of 1: every branch takes its
// best estimate, and a common overestimate would otherwise grow without bound.
type branching struct {
	config     TeacherConfig
	spaces     rl.Spaces
	parts      int
	rng        *rl.RNG
	replay     *rl.Replay
	online     rl.Learner
	target     *nn.Net
	targetRuns *nn.Context
	acting     *nn.Context
	weight     float32 // of a branch's value in the sum
	most       float32 // upper bound of a state's value
	steps      int
	updates    int

	// Buffers of one update.
	batch   *rl.Batch
	targets []float32
	values  []float32
	errors  []float32
	slopes  []float32
	choices []int
}

func newBranching(config TeacherConfig, spaces rl.Spaces, parts int, seed uint64) (*branching, error) {
	if err := config.check(); err != nil {
		return nil, err
	}
	if spaces.Observation%parts != 0 || spaces.Dimensions%parts != 0 {
		return nil, fmt.Errorf("teacher: observations of %d and actions of %d values cannot be divided into %d parts",
			spaces.Observation, spaces.Dimensions, parts)
	}
	rng := rl.AgentRNG(seed)
	net, err := nn.MLP{
		Inputs: []int{spaces.Observation / parts}, Hidden: config.Hidden, Outputs: spaces.Dimensions / parts * Choices,
	}.Design().Build(nn.PyTorchUniform, rng.Rand)
	if err != nil {
		return nil, fmt.Errorf("teacher: %w", err)
	}
	b := &branching{
		config: config, spaces: spaces, parts: parts, rng: rng,
		replay: rl.NewReplay(spaces, rl.ReplayConfig{Capacity: config.Replay, Steps: 1, Discount: config.Discount}),
		online: rl.NewLearner(net, nn.AdamConfig{Rate: float32(config.Rate)}, 10),
		target: net.Clone(), acting: net.NewContext(), weight: float32(1 / math.Sqrt(float64(spaces.Dimensions))),
		targets: make([]float32, config.Batch), values: make([]float32, config.Batch), errors: make([]float32, config.Batch),
		slopes: make([]float32, config.Batch*spaces.Dimensions*Choices), choices: make([]int, config.Batch*spaces.Dimensions),
	}
	b.most = float32(math.Inf(1))
	if config.Discount < 1 {
		b.most = float32(1 / (1 - config.Discount))
	}
	b.targetRuns, b.batch = b.target.NewContext(), b.replay.NewBatch(config.Batch)
	for range 2 { // see td3's parts: a resumed run must be warmed up too
		b.acting.Forward(parts, make([]float32, spaces.Observation))
	}
	return b, nil
}

// Decide makes every branch's best choice.
func (b *branching) Decide(observation []float32, action *rl.Action) {
	out := b.acting.Forward(b.parts, observation)
	for i := range action.Values {
		action.Values[i] = ValueOf(Best(out[i*Choices:][:Choices]))
	}
}

// Explore draws some branches at random.
func (b *branching) Explore(observation []float32, action *rl.Action) {
	b.Decide(observation, action)
	epsilon := b.config.Explore.At(b.steps)
	if b.steps < b.config.WarmUp {
		epsilon = 1
	}
	for i := range action.Values {
		if b.rng.Float64() < epsilon {
			action.Values[i] = ValueOf(b.rng.IntN(Choices))
		}
	}
}

// Learn implements rl.Agent.
func (b *branching) Learn(t rl.Transition) (loss float64, updated bool) {
	b.Remember(t)
	b.steps++
	if b.steps%b.config.Every != 0 || b.replay.Len() < max(1, b.config.WarmUp) {
		return 0, false
	}
	return b.Update(), true
}

// Remember implements Teacher.
func (b *branching) Remember(t rl.Transition) { b.replay.Add(t) }

// Remembered implements Teacher.
func (b *branching) Remembered() int { return b.replay.Len() }

// Update implements Teacher.
func (b *branching) Update() float64 {
	b.replay.Draw(b.batch, b.rng)
	b.setTargets()
	out := b.online.Context.Forward(b.batch.Size*b.parts, b.batch.Observations)
	for i, a := range b.batch.Actions {
		b.choices[i] = ChoiceOf(a)
	}
	b.whole(b.values, out, b.choices)
	loss := float64(nn.Huber(1).Mean(b.errors, b.values, b.targets))
	clear(b.slopes)
	branches := b.spaces.Dimensions
	for sample, slope := range b.errors {
		for d := range branches {
			at := sample*branches + d
			b.slopes[at*Choices+b.choices[at]] = b.weight * slope
		}
	}
	b.online.Descend(b.slopes)
	nn.SoftUpdate(b.target.Params(), b.online.Net.Params(), float32(b.config.Soft))
	b.updates++
	return loss
}

// setTargets sets y = r + gamma * Q'(s', argmax Q(s', .)), branch by branch.
func (b *branching) setTargets() {
	batch := b.batch
	rows := batch.Size * b.parts
	out := b.online.Context.Forward(rows, batch.Next)
	for i := range b.choices {
		b.choices[i] = Best(out[i*Choices:][:Choices])
	}
	b.whole(b.targets, b.targetRuns.Forward(rows, batch.Next), b.choices)
	for i, q := range b.targets {
		b.targets[i] = min(max(batch.Returns[i]+batch.Discounts[i]*q, -b.most), b.most)
	}
}

// whole sums the branches' values of the choices, sample by sample.
func (b *branching) whole(into, out []float32, choices []int) {
	branches := b.spaces.Dimensions
	for sample := range into {
		var sum float32
		for d := range branches {
			at := sample*branches + d
			sum += out[at*Choices+choices[at]]
		}
		into[sample] = b.weight * sum
	}
}

// Net implements Teacher.
func (b *branching) Net() *nn.Net { return b.online.Net }

// Weights implements rl.Agent.
func (b *branching) Weights() []float32 { return b.online.Net.Params() }

// Archive implements rl.Agent.
func (b *branching) Archive(to *rl.Archive) {
	to.Label(fmt.Sprintf("branching DQN of %d parts with %+v", b.parts, b.config))
	b.rng.Archive(to)
	b.online.Archive(to)
	to.Floats(b.target.Params())
	to.Int(&b.steps)
	to.Int(&b.updates)
	b.replay.Archive(to)
}
