package drpc

import (
	"fmt"

	"github.com/loadline/loadline/internal/nn"
	"github.com/loadline/loadline/internal/rl"
)

// Mode is the mode of a student.
type Mode uint8

const (
	Learning Mode = iota // it imitates its teacher
	Acting               // it decides alone
)

func (m Mode) String() string {
	if m == Acting {
		return "acting"
	}
	return "learning"
}

// StudentConfig has the constants of the students' training: those of the authors' code, except
// for a rate with which it takes seconds instead of hours.
func StudentConfig() rl.CloneConfig {
	c := rl.DefaultClone()
	c.Buffer, c.Rate, c.Decay = 4096, 2e-3, 1e-4
	return c
}

// Student decides for one deployment: 643 parameters on local state. It is for one
// goroutine.
type Student struct {
	Service string
	Mode    Mode

	version uint64 // of its weights; 0 = its own, untrained
	learner *rl.Clone
	acting  *nn.Context
	taught  rl.Action // borrows
}

// spaces of a student.
var studentSpaces = rl.Spaces{Observation: Locals, Dimensions: Axes}

// NewStudent makes an untrained student.
func NewStudent(service string, config rl.CloneConfig, seed uint64) (*Student, error) {
	learner, err := rl.NewClone(nn.Student(), config, studentSpaces, seed)
	if err != nil {
		return nil, fmt.Errorf("drpc: student of %s: %w", service, err)
	}
	s := &Student{Service: service, learner: learner, acting: learner.Net().NewContext()}
	s.prepare()
	return s, nil
}

// prepare warms the context up: from its second single row on it uses prepared steps, and
// rounding must not depend on how long a student has been acting.
func (s *Student) prepare() {
	var nothing Local
	for range 2 {
		s.acting.Forward(1, nothing[:])
	}
}

// Remember adds the teacher's action in a state to the buffer.
func (s *Student) Remember(local *Local, taught []float32) {
	s.taught.Values = taught
	s.learner.Remember(local[:], s.taught)
}

// Examples in the buffer.
func (s *Student) Examples() int { return s.learner.Len() }

// Train trains on the given number of batches of the buffer, and returns their mean squared
// difference to the teacher (eq. 9). Without examples it does nothing.
func (s *Student) Train(batches int) float64 {
	if s.learner.Len() == 0 || batches < 1 {
		return 0
	}
	sum := 0.0
	for range batches {
		sum += s.learner.Update()
	}
	return sum / float64(batches)
}

// Decide fills in the student's action. It does not allocate.
func (s *Student) Decide(local *Local, action *Action) {
	copy(action[:], s.acting.Forward(1, local[:]))
}

// Forget resets the weights and keeps the examples.
func (s *Student) Forget(seed uint64) {
	fresh, err := nn.Student().Build(nn.PyTorchUniform, rl.AgentRNG(seed).Rand)
	if err != nil {
		panic(fmt.Sprintf("drpc: the students' own design: %v", err))
	}
	copy(s.Net().Params(), fresh.Params())
}

// Net is the student's network.
func (s *Student) Net() *nn.Net { return s.learner.Net() }

// Version of its weights.
func (s *Student) Version() uint64 { return s.version }
