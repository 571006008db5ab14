package rl

import (
	"fmt"

	"github.com/loadline/loadline/internal/nn"
)

// DQN learns action values with a deep network.
//
// It follows Algorithm 1 of Mnih et al., "Human-level control through deep
// reinforcement learning" (Nature 518, 2015), and the numbered equations of its
// first version, "Playing Atari with deep reinforcement learning" (2013).
//
// Options, each off or on in [DQNConfig]:
//   - soft target updates, theta' = tau*theta + (1-tau)*theta' (Elastic-DQN)
//   - double DQN (van Hasselt, Guez and Silver, 2016, eq. 4 with the target
//     network as the second one)
//   - dueling networks (Wang et al., 2016, eq. 9)
//   - returns of several steps (Sutton and Barto, 2018, eq. 7.1), uncorrected
//     for the policy having changed since
//   - prioritised replay (Schaul et al., 2016)
//
// Where it deviates from the 2015 paper:
//   - Observations are vectors of features, the network is an MLP, and there are
//     no frames to stack, skip or preprocess.
//   - Adam or AdamW instead of RMSProp.
//   - Errors are not clipped, but the loss is Huber's, which has the gradient
//     that the paper's clipping has; or it is the squared error. The gradient's
//     length may be bounded besides.
//   - Rewards are not clipped.
//   - An episode that is cut off is not taken to be terminated: its last state
//     has a value.
//   - Exploration may fall exponentially (the Serverless paper's code).
//
// It is for one goroutine.
type DQN struct {
	config DQNConfig
	spaces Spaces
	rng    *RNG
	replay *Replay // D
	online Learner // Q
	target *nn.Net // Q^
	loss   nn.Loss

	targetRuns *nn.Context // runs the target network
	acting     *NetPolicy  // runs the online network on one observation

	steps, updates int

	// Buffers of one update.
	batch   *Batch
	targets []float32 // y
	errors  []float32 // Q(s, a) - y
	slopes  []float32 // the loss's gradient with respect to Q
	choices []int     // of double DQN
}

// NewDQN initialises replay memory, action-value function and target network
// (Algorithm 1, the first three lines).
func NewDQN(config DQNConfig, spaces Spaces, seed uint64) (*DQN, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	if err := spaces.Validate(); err != nil {
		return nil, err
	}
	if !spaces.Discrete() {
		return nil, fmt.Errorf("dqn: needs a discrete action space, this one has %d dimensions", spaces.Dimensions)
	}
	rng := AgentRNG(seed)
	design := nn.MLP{
		Inputs: []int{spaces.Observation}, Hidden: config.Hidden, Outputs: spaces.Choices,
		Norm: config.Norm, Dueling: config.Dueling,
	}.Design()
	net, err := design.Build(nn.PyTorchUniform, rng.Rand)
	if err != nil {
		return nil, fmt.Errorf("dqn: %w", err)
	}
	a := &DQN{
		config: config, spaces: spaces, rng: rng, replay: NewReplay(spaces, config.replay()),
		online: NewLearner(net, nn.AdamConfig{Rate: float32(config.Rate), Decay: float32(config.Decay)}, config.Longest),
		target: net.Clone(), loss: nn.MSE, acting: NewNetPolicy(net, spaces),
		targets: make([]float32, config.Batch), errors: make([]float32, config.Batch),
		slopes: make([]float32, config.Batch*spaces.Choices), choices: make([]int, config.Batch),
	}
	if config.Huber > 0 {
		a.loss = nn.Huber(float32(config.Huber))
	}
	a.targetRuns, a.batch = a.target.NewContext(), a.replay.NewBatch(config.Batch)
	return a, nil
}

// Explore selects a random action with probability epsilon, otherwise
// argmax_a Q(s, a; theta).
func (a *DQN) Explore(observation []float32, action *Action) {
	if a.rng.Float64() < a.config.Explore.At(a.steps) {
		action.Choice = a.rng.IntN(a.spaces.Choices)
		return
	}
	a.Decide(observation, action)
}

// Decide is argmax_a Q(s, a; theta).
func (a *DQN) Decide(observation []float32, action *Action) {
	a.acting.Decide(observation, action)
}

// Learn stores the transition in D and updates when it is due.
func (a *DQN) Learn(t Transition) (loss float64, updated bool) {
	a.Remember(t)
	a.steps++
	if a.steps%a.config.Every != 0 || a.replay.Len() < max(1, a.config.WarmUp) {
		return 0, false
	}
	for range a.config.Updates {
		loss += a.Update() / float64(a.config.Updates)
	}
	return loss, true
}

// Remember stores a transition that need not be the agent's own, such as another autoscaler's
// history. Episodes must be in sequence.
func (a *DQN) Remember(t Transition) { a.replay.Add(t) }

// Update learns from one minibatch of the replay buffer, which must not be empty, and returns
// its loss.
func (a *DQN) Update() float64 {
	b := a.batch
	a.replay.Draw(b, a.rng)
	a.setTargets()

	// The loss L(theta) = E[(y - Q(s, a; theta))^2] (2013, eq. 2) and a step
	// along its gradient (eq. 3).
	q := a.online.Context.Forward(b.Size, b.Observations)
	loss := a.loss.MeanAt(a.slopes, q, b.Choices, a.targets, b.Weights)
	for i, choice := range b.Choices {
		a.errors[i] = q[i*a.spaces.Choices+choice] - a.targets[i]
	}
	a.replay.Reprioritise(b, a.errors)
	a.online.Descend(a.slopes)

	a.updates++
	a.moveTarget()
	return float64(loss)
}

// setTargets sets y = r for a terminal state, otherwise r + gamma * max_a' Q^(s', a'; theta^-).
// The replay buffer has set the discount to 0 for terminal states, and summed up the rewards of
// several steps if configured.
func (a *DQN) setTargets() {
	b, n := a.batch, a.spaces.Choices
	if a.config.Double {
		// y = r + gamma * Q^(s', argmax_a' Q(s', a'; theta); theta^-)
		// (van Hasselt et al., eq. 4).
		q := a.online.Context.Forward(b.Size, b.Next)
		for i := range a.choices {
			a.choices[i] = ArgMax(q[i*n:][:n])
		}
	}
	q := a.targetRuns.Forward(b.Size, b.Next)
	for i := range a.targets {
		choice := a.choices[i]
		if !a.config.Double {
			choice = ArgMax(q[i*n:][:n])
		}
		a.targets[i] = b.Returns[i] + b.Discounts[i]*q[i*n+choice]
	}
}

// moveTarget sets Q^ = Q after a number of updates, or moves it a little.
func (a *DQN) moveTarget() {
	switch {
	case a.config.Soft > 0:
		nn.SoftUpdate(a.target.Params(), a.online.Net.Params(), float32(a.config.Soft))
	case a.updates%a.config.Copy == 0:
		copy(a.target.Params(), a.online.Net.Params())
	}
}

// Net is the online network, not a copy.
func (a *DQN) Net() *nn.Net { return a.online.Net }

// Adopt starts from another network's weights, of the same design.
func (a *DQN) Adopt(net *nn.Net) error {
	if err := a.online.Net.Load(net.Tensors()); err != nil {
		return fmt.Errorf("dqn: start from another network: %w", err)
	}
	copy(a.target.Params(), a.online.Net.Params())
	return nil
}

// Weights implements Agent.
func (a *DQN) Weights() []float32 { return a.online.Net.Params() }

// Archive implements Agent.
func (a *DQN) Archive(to *Archive) {
	to.Label("DQN with " + Describe(a.config.Settings()))
	a.rng.Archive(to)
	a.online.Archive(to)
	to.Floats(a.target.Params())
	to.Int(&a.steps)
	to.Int(&a.updates)
	a.replay.Archive(to)
}
