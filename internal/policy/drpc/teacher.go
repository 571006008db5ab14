package drpc

import (
	"errors"
	"fmt"

	"github.com/loadline/loadline/internal/nn"
	"github.com/loadline/loadline/internal/rl"
)

// Teacher learns to scale the whole application. Its actions are continuous, three per service;
// a discrete teacher's are -1, 0 and 1.
type Teacher interface {
	rl.Agent

	// Remember adds the students' experience.
	Remember(t rl.Transition)
	// Update learns from one batch of the replay buffer, which must not be empty.
	Update() float64
	// Remembered is the size of the replay buffer.
	Remembered() int
	// Net decides; TeacherPolicy runs it.
	Net() *nn.Net
}

// TeacherConfig is shared by both kinds of teachers.
type TeacherConfig struct {
	Kind      Kind
	Hidden    []int
	Discount  float64
	Noise     float64     // of TD3: deviation of exploration
	Explore   rl.Schedule // probability that a branch is drawn at random
	Rate      float64     // of the critics, or the branches
	ActorRate float64
	Restraint float64 // of TD3: see rl.TD3Config; divided among the parts, as is each part's share of the reward
	Soft      float64
	Replay    int
	WarmUp    int
	Every     int // steps between updates
	Batch     int
}

// DefaultTeacher of a kind. TD3's smoothing, clip and delay are those of the paper. A discrete teacher
// with the learning rate of TD3's critics does not converge on a large application, so it has a
// lower rate and more updates.
func DefaultTeacher(kind Kind) TeacherConfig {
	c := TeacherConfig{
		Kind: kind, Hidden: []int{64, 64}, Discount: 0.9, Noise: 0.35, Rate: 1e-3, ActorRate: 2e-4, Restraint: 0.15, Soft: 0.01,
		Explore: rl.Schedule{Shape: rl.Linear, From: 0.5, To: 0.05, Steps: 8_000},
		Replay:  12_000, WarmUp: 800, Every: 2, Batch: 48,
	}
	if kind == Discrete {
		c.Rate, c.Every, c.Batch = 5e-4, 1, 32
	}
	return c
}

// NewTeacher makes a teacher of the given number of parts: see Encoder.
func NewTeacher(config TeacherConfig, spaces rl.Spaces, parts int, seed uint64) (Teacher, error) {
	if err := spaces.Validate(); err != nil {
		return nil, err
	}
	if spaces.Discrete() || parts < 1 {
		return nil, fmt.Errorf("teacher: actions of %d choices for %d parts, must be continuous and at least 1", spaces.Choices, parts)
	}
	switch config.Kind {
	case Continuous:
		c := rl.DefaultTD3()
		c.Hidden, c.Parts, c.Discount, c.Noise, c.Soft = config.Hidden, parts, config.Discount, config.Noise, config.Soft
		c.Replay, c.WarmUp, c.Every, c.Batch = config.Replay, config.WarmUp, config.Every, config.Batch
		c.ActorRate, c.CriticRate, c.Longest, c.Restraint = config.ActorRate, config.Rate, 10, config.Restraint/float64(parts)
		agent, err := rl.NewTD3(c, spaces, seed)
		if err != nil {
			return nil, err
		}
		if err := config.check(); err != nil {
			return nil, err
		}
		return &continuous{TD3: agent, explore: config.Explore, rng: rl.NewRNG(seed, branchStream)}, nil
	case Discrete:
		return newBranching(config, spaces, parts, seed)
	}
	return nil, fmt.Errorf("teacher: unknown kind %q, must be one of %v", config.Kind, Kinds())
}

// branchStream is separate from the agent's own random numbers.
const branchStream = 7 << 32

// continuous is TD3 with the interface of a teacher. Besides its noise, it draws some actions
// uniformly: an actor that has settled at one end is not moved across the dead zone by any
// noise of a reasonable size, so that it would never again explore beyond.
type continuous struct {
	*rl.TD3
	explore rl.Schedule
	steps   int
	rng     *rl.RNG
}

// Explore implements rl.Agent.
func (t *continuous) Explore(observation []float32, action *rl.Action) {
	t.TD3.Explore(observation, action)
	epsilon := t.explore.At(t.steps)
	for i := range action.Values {
		if t.rng.Float64() < epsilon {
			action.Values[i] = 2*t.rng.Float32() - 1
		}
	}
	t.steps++
}

// Net implements Teacher.
func (t *continuous) Net() *nn.Net { return t.Actor() }

// Archive implements rl.Agent.
func (t *continuous) Archive(a *rl.Archive) {
	t.TD3.Archive(a)
	t.rng.Archive(a)
	a.Int(&t.steps)
}

// check reports every fault that TD3 does not check itself.
func (c TeacherConfig) check() error {
	var faults []error
	fault := func(bad bool, key string, value any, must string) {
		if bad {
			faults = append(faults, fmt.Errorf("teacher: %s is %v, must be %s", key, value, must))
		}
	}
	for _, width := range c.Hidden {
		fault(width < 1, "hidden", c.Hidden, "widths of at least 1")
	}
	fault(!(c.Discount >= 0 && c.Discount <= 1), "discount", c.Discount, "from 0 to 1")
	fault(!(c.Rate > 0), "rate", c.Rate, "above 0")
	fault(!(c.Soft > 0 && c.Soft <= 1), "soft", c.Soft, "above 0, at most 1")
	fault(c.Replay < 1, "replay", c.Replay, "at least 1")
	fault(c.WarmUp < 0 || c.WarmUp > c.Replay, "warm-up", c.WarmUp, "from 0 to replay")
	fault(c.Every < 1, "every", c.Every, "at least 1")
	fault(c.Batch < 2, "batch", c.Batch, "at least 2")
	if err := c.Explore.Validate(0, 1); err != nil {
		faults = append(faults, fmt.Errorf("teacher: explore %w", err))
	}
	return errors.Join(faults...)
}
