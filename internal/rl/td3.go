package rl

import (
	"fmt"

	"github.com/loadline/loadline/internal/nn"
)

// TD3 learns a deterministic policy for continuous actions: twin delayed
// deep deterministic policy gradient.
//
// It follows Algorithm 3 of DRPC, with its line and equation numbers, which is
// Algorithm 1 of Fujimoto, van Hoof and Meger, "Addressing function
// approximation error in actor-critic methods" (2018). DDPG (Lillicrap et al.,
// "Continuous control with deep reinforcement learning", 2016) is the special
// case of one critic, no smoothing, no delay, and correlated noise; [DefaultDDPG]
// is that configuration.
//
// Deviations:
//   - Actions are within [-1, 1]; environments scale them.
//   - rho of line 17 is 1 - TD3Config.Soft.
//   - Line 15 counts updates, not steps of the episode.
//   - Until TD3Config.WarmUp transitions are remembered, actions are drawn evenly
//     from all (as Fujimoto et al. do, not in Algorithm 3).
//   - An episode that is cut off is not taken to be terminated (d = 0).
//   - The actor may be trained on what was applied where a guard changed an
//     action, since that is what the replay holds.
//   - With TD3Config.Parts, observations and actions are so many like parts one after
//     the other, services for instance. The parts share one actor and one critic
//     of a part each, and the value of the whole is the sum of the parts' values:
//     see td3_parts.go. TD3Config.Restraint weighs the actions' squares. Both are off by
//     default.
//   - Of DDPG: actions enter the critic's first layer, not its second, and there
//     is neither batch normalisation nor, by default, weight decay.
//
// It is for one goroutine.
type TD3 struct {
	config  TD3Config
	spaces  Spaces
	rng     *RNG
	replay  *Replay   // R
	actor   Learner   // pi
	critics []Learner // Q_theta1, Q_theta2

	actorTarget   targetCritic // pi'
	criticTargets []targetCritic

	parts          td3Parts
	acting         *nn.Context
	noise          []float32 // of the last exploration, for correlated noise
	steps, updates int

	// Buffers of one update.
	batch   *Batch
	actions []float32 // a'
	targets []float32 // y
	slopes  []float32 // of a critic's loss with respect to its value
	ascent  []float32 // of the actor's loss with respect to the critic's value
}

// targetCritic is a network that tracks another.
type targetCritic struct {
	net     *nn.Net
	context *nn.Context
}

func newTargetCritic(net *nn.Net) targetCritic {
	clone := net.Clone()
	return targetCritic{clone, clone.NewContext()}
}

// NewTD3 initialises actor, critics, targets and replay buffer (lines 1 to 3).
func NewTD3(config TD3Config, spaces Spaces, seed uint64) (*TD3, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	if err := spaces.Validate(); err != nil {
		return nil, err
	}
	if spaces.Discrete() {
		return nil, fmt.Errorf("td3: needs a continuous action space, this one has %d choices", spaces.Choices)
	}
	parts, err := newTD3Parts(config, spaces)
	if err != nil {
		return nil, err
	}
	a := &TD3{
		config: config, spaces: spaces, parts: parts, rng: AgentRNG(seed), replay: NewReplay(spaces, config.replay()),
		noise: make([]float32, spaces.Dimensions), actions: make([]float32, config.Batch*spaces.Dimensions),
		targets: make([]float32, config.Batch), slopes: make([]float32, config.Batch), ascent: make([]float32, config.Batch*parts.count),
	}
	actor, err := nn.MLP{
		Inputs: []int{parts.observation}, Hidden: config.Hidden, Outputs: parts.dimensions, Output: nn.Tanh, Norm: config.Norm,
	}.Design().Build(nn.PyTorchUniform, a.rng.Rand)
	if err != nil {
		return nil, fmt.Errorf("td3: actor: %w", err)
	}
	a.actor = NewLearner(actor, nn.AdamConfig{Rate: float32(config.ActorRate)}, config.Longest)
	a.actorTarget, a.acting = newTargetCritic(actor), parts.acting(actor)
	for range config.Critics {
		critic, err := nn.MLP{
			Inputs: []int{parts.observation, parts.dimensions}, Hidden: config.Hidden, Outputs: 1, Norm: config.Norm,
		}.Design().Build(nn.PyTorchUniform, a.rng.Rand)
		if err != nil {
			return nil, fmt.Errorf("td3: critic: %w", err)
		}
		adam := nn.AdamConfig{Rate: float32(config.CriticRate), Decay: float32(config.Decay)}
		a.critics = append(a.critics, NewLearner(critic, adam, config.Longest))
		a.criticTargets = append(a.criticTargets, newTargetCritic(critic))
	}
	for i := range a.ascent {
		a.ascent[i] = -parts.share / float32(config.Batch)
	}
	a.batch = a.replay.NewBatch(config.Batch)
	return a, nil
}

// Explore selects a = clip(pi(s) + epsilon, -1, 1) (line 7). DDPG's epsilon is an
// Ornstein-Uhlenbeck process: each step it reverts by a share and gets new noise.
func (a *TD3) Explore(observation []float32, action *Action) {
	if a.steps < a.config.WarmUp {
		for i := range action.Values {
			action.Values[i] = 2*a.rng.Float32() - 1
		}
		return
	}
	a.Decide(observation, action)
	keep := float32(1 - a.config.Revert)
	for i := range action.Values {
		a.noise[i] = keep*a.noise[i] + float32(a.config.Noise*a.rng.NormFloat64())
		action.Values[i] = clipAction(action.Values[i]+a.noise[i], 1)
	}
}

func clipAction(v, bound float32) float32 { return min(max(v, -bound), bound) }

// Decide is pi(s).
func (a *TD3) Decide(observation []float32, action *Action) {
	copy(action.Values, a.acting.Forward(a.parts.count, observation))
}

// Learn stores the transition in R (line 9) and updates when it is due (line 10).
func (a *TD3) Learn(t Transition) (loss float64, updated bool) {
	a.Remember(t)
	a.steps++
	if t.Ends() {
		clear(a.noise)
	}
	if a.steps%a.config.Every != 0 || a.replay.Len() < max(1, a.config.WarmUp) {
		return 0, false
	}
	for range a.config.Updates {
		loss += a.Update() / float64(a.config.Updates)
	}
	return loss, true
}

// Remember stores a transition that need not be the agent's own: DRPC's teacher also learns
// from its students'.
func (a *TD3) Remember(t Transition) { a.replay.Add(t) }

// Remembered is the size of the replay buffer.
func (a *TD3) Remembered() int { return a.replay.Len() }

// Update learns from one batch (lines 11 to 17) and returns the critics' mean loss. The replay
// buffer must not be empty.
func (a *TD3) Update() float64 {
	a.replay.Draw(a.batch, a.rng)
	a.setTargetActions()
	a.setTargets()
	loss := a.improveCritics()
	a.updates++
	if a.updates%a.config.Delay == 0 {
		a.improveActor()
		a.moveTargets()
	}
	return loss
}

// setTargetActions smooths the target policy (line 12):
//
//	a' = clip(pi'(s') + clip(epsilon, -c, c), -1, 1)    (eq. 5)
func (a *TD3) setTargetActions() {
	copy(a.actions, a.actorTarget.context.Forward(a.batch.Size*a.parts.count, a.batch.Next))
	if a.config.Smoothing == 0 {
		return
	}
	deviation, bound := float32(a.config.Smoothing), float32(a.config.Clip)
	for i, action := range a.actions {
		epsilon := deviation * float32(a.rng.NormFloat64())
		a.actions[i] = clipAction(action+clipAction(epsilon, bound), 1)
	}
}

// setTargets evaluates the critics and takes the lower value
// (line 13):
//
//	y = r + gamma * (1 - d) * min_i Q'_i(s', a')    (eq. 6)
func (a *TD3) setTargets() {
	b := a.batch
	rows := b.Size * a.parts.count
	copy(a.targets, a.parts.sum(a.criticTargets[0].context.Forward(rows, b.Next, a.actions)))
	if len(a.criticTargets) > 1 {
		for i, q := range a.parts.sum(a.criticTargets[1].context.Forward(rows, b.Next, a.actions)) {
			a.targets[i] = min(a.targets[i], q)
		}
	}
	for i, q := range a.targets {
		a.targets[i] = b.Returns[i] + b.Discounts[i]*q
	}
}

// improveCritics minimises (line 14)
//
//	L(theta_i) = mean (Q_i(s, a) - y)^2    (eq. 7)
func (a *TD3) improveCritics() float64 {
	b, loss := a.batch, 0.0
	for i := range a.critics {
		critic := &a.critics[i]
		q := a.parts.sum(critic.Context.Forward(b.Size*a.parts.count, b.Observations, b.Actions))
		loss += float64(nn.Loss(nn.MSE).Mean(a.slopes, q, a.targets)) / float64(len(a.critics))
		critic.Descend(a.parts.spread(a.slopes))
	}
	return loss
}

// improveActor minimises (line 16)
//
//	L(theta) = mean -Q_1(s, pi(s))    (eq. 8)
//
// by way of the critic's gradient with respect to the action: the deterministic
// policy gradient (Silver et al., 2014). With Config.Restraint it also minimises
// the squares of the actions.
func (a *TD3) improveActor() {
	b, critic := a.batch, a.critics[0].Context
	rows := b.Size * a.parts.count
	actions := a.actor.Context.Forward(rows, b.Observations)
	critic.Forward(rows, b.Observations, actions)
	critic.Backward(a.ascent, nn.InputGradients)
	slopes := critic.InputGradient(1)
	if a.config.Restraint > 0 {
		nn.AddScaled(slopes, float32(2*a.config.Restraint)/float32(b.Size), actions)
	}
	a.actor.Descend(slopes)
}

// moveTargets updates the targets (line 17): theta' = rho*theta' + (1-rho)*theta.
func (a *TD3) moveTargets() {
	soft := float32(a.config.Soft)
	nn.SoftUpdate(a.actorTarget.net.Params(), a.actor.Net.Params(), soft)
	for i := range a.critics {
		nn.SoftUpdate(a.criticTargets[i].net.Params(), a.critics[i].Net.Params(), soft)
	}
}

// Actor is the policy's network, not a copy.
func (a *TD3) Actor() *nn.Net { return a.actor.Net }

// Weights implements Agent.
func (a *TD3) Weights() []float32 { return a.actor.Net.Params() }

// Archive implements Agent.
func (a *TD3) Archive(to *Archive) {
	to.Label("TD3 with " + Describe(a.config.Settings()))
	if a.parts.count > 1 || a.config.Restraint > 0 {
		to.Label(fmt.Sprintf("%d parts, restraint %v", a.parts.count, a.config.Restraint))
	}
	a.rng.Archive(to)
	a.actor.Archive(to)
	to.Floats(a.actorTarget.net.Params())
	for i := range a.critics {
		a.critics[i].Archive(to)
		to.Floats(a.criticTargets[i].net.Params())
	}
	to.Floats(a.noise)
	to.Int(&a.steps)
	to.Int(&a.updates)
	a.replay.Archive(to)
}
