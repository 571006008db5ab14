package rl

import (
	"errors"
	"fmt"

	"github.com/loadline/loadline/internal/nn"
)

// CloneConfig are the settings of a student.
type CloneConfig struct {
	Buffer int     // examples kept
	Batch  int     // examples in an update
	Rate   float64 // of AdamW
	Decay  float64 // of weights
}

// DefaultClone has the constants of DRPC's code.
func DefaultClone() CloneConfig {
	return CloneConfig{Buffer: 10_000, Batch: 64, Rate: 1e-4, Decay: 0.01}
}

// Settings are all fields by name.
func (c *CloneConfig) Settings() []Setting {
	return []Setting{
		{Key: "buffer", About: "examples remembered", Value: &c.Buffer},
		{Key: "batch", About: "examples in an update", Value: &c.Batch},
		{Key: "rate", About: "learning rate", Value: &c.Rate},
		{Key: "decay", About: "of weights (AdamW)", Value: &c.Decay},
	}
}

// Validate reports every fault at once.
func (c CloneConfig) Validate() error {
	var faults faults
	faults.check(c.Buffer < 1, "buffer", c.Buffer, "at least 1")
	faults.check(c.Batch < 2, "batch", c.Batch, "at least 2") // single rows round otherwise
	faults.check(!(c.Rate > 0), "rate", c.Rate, "above 0")
	faults.check(!(c.Decay >= 0), "decay", c.Decay, "at least 0")
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("clone: %w", err)
	}
	return nil
}

// Clone trains a small network to imitate another policy: behaviour cloning, as DRPC's
// students learn from their teacher.
//
// A student keeps a buffer of (state, teacher's action) and minimises the squared difference to
// its own action (DRPC, eq. 9), which for deterministic actors compares actions, as the
// authors' code does, though the equation has Q.
//
// It is for one goroutine.
type Clone struct {
	config  CloneConfig
	spaces  Spaces
	rng     *RNG
	learner Learner
	acting  *NetPolicy

	examples  []float32 // rows of state and action, a ring
	count, at int

	// Buffers of one update.
	states, actions, slopes []float32
}

// NewClone makes a student with the given network, nn.Student() for DRPC's. It has
// one input, and its outputs are the values of an action.
func NewClone(design nn.Design, config CloneConfig, spaces Spaces, seed uint64) (*Clone, error) {
	if err := errors.Join(config.Validate(), spaces.Validate()); err != nil {
		return nil, err
	}
	rng := AgentRNG(seed)
	net, err := design.Build(nn.PyTorchUniform, rng.Rand)
	if err != nil {
		return nil, fmt.Errorf("clone: %w", err)
	}
	inputs := 0
	for _, l := range design.Layers {
		if l.Kind == nn.KindInput {
			inputs += l.Width
		}
	}
	if spaces.Discrete() || inputs != spaces.Observation || net.Outputs() != spaces.Dimensions {
		return nil, fmt.Errorf("clone: a network of %d inputs and %d outputs cannot act on observations of %d by %d dimensions",
			inputs, net.Outputs(), spaces.Observation, spaces.Dimensions)
	}
	return &Clone{
		config: config, spaces: spaces, rng: rng,
		learner:  NewLearner(net, nn.AdamConfig{Rate: float32(config.Rate), Decay: float32(config.Decay)}, 0),
		acting:   NewNetPolicy(net, spaces),
		examples: make([]float32, config.Buffer*(spaces.Observation+spaces.Dimensions)),
		states:   make([]float32, config.Batch*spaces.Observation),
		actions:  make([]float32, config.Batch*spaces.Dimensions), slopes: make([]float32, config.Batch*spaces.Dimensions),
	}, nil
}

// Remember adds an action of the teacher.
func (s *Clone) Remember(observation []float32, action Action) {
	row := s.example(s.at)
	copy(row[copy(row, observation):], action.Values)
	s.at = (s.at + 1) % s.config.Buffer
	s.count = min(s.count+1, s.config.Buffer)
}

func (s *Clone) example(i int) []float32 {
	width := s.spaces.Observation + s.spaces.Dimensions
	return s.examples[i*width:][:width]
}

// Len is the number of examples.
func (s *Clone) Len() int { return s.count }

// Update learns from one batch and returns its mean squared difference before. There must be
// examples.
func (s *Clone) Update() float64 {
	n, m := s.spaces.Observation, s.spaces.Dimensions
	for i := range s.config.Batch {
		row := s.example(s.rng.IntN(s.count))
		copy(s.states[i*n:][:n], row)
		copy(s.actions[i*m:][:m], row[n:])
	}
	out := s.learner.Context.Forward(s.config.Batch, s.states)
	loss := nn.Loss(nn.MSE).Mean(s.slopes, out, s.actions) // eq. 9
	s.learner.Descend(s.slopes)
	return float64(loss)
}

// Decide implements Policy.
func (s *Clone) Decide(observation []float32, action *Action) {
	s.acting.Decide(observation, action)
}

// Net is the student's network, not a copy.
func (s *Clone) Net() *nn.Net { return s.learner.Net }

// Archive saves or restores the student.
func (s *Clone) Archive(a *Archive) {
	a.Label("a student with " + Describe(s.config.Settings()))
	s.rng.Archive(a)
	s.learner.Archive(a)
	a.Int(&s.count)
	a.Int(&s.at)
	if s.count < 0 || s.count > s.config.Buffer || s.at < 0 || s.at >= s.config.Buffer {
		a.Fail(fmt.Errorf("clone: the saved student has %d examples, this one at most %d", s.count, s.config.Buffer))
		return
	}
	a.Floats(s.examples[:s.count*(s.spaces.Observation+s.spaces.Dimensions)])
}
