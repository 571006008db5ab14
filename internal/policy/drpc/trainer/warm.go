package trainer

import (
	"fmt"

	"github.com/loadline/loadline/internal/rl"
)

// warm is the progress of the warm-up of a teacher without trained critics.
type warm struct {
	began, steps int       // steps of the training at its start, and steps to do
	held         []float32 // the actor's weights
}

func (s *Trainer) beginWarm(steps int) {
	s.warm = warm{s.training.Steps(), steps, append([]float32(nil), s.teacher.Weights()...)}
	s.phase = warming
}

// warmUp is an episode of a teacher whose model file has its actor only: the replay
// is filled and the critics learn. The actor's weights are restored after every step,
// since untrained critics would spoil them.
func (s *Trainer) warmUp() error {
	w := &s.warm
	err := s.training.Explore(&rl.Single{
		Env: s.env, Agent: s.teacher,
		Before: func([]float32) { s.note() },
		After:  func() { copy(s.teacher.Weights(), w.held) },
	}, warmStream)
	if err != nil {
		return err
	}
	s.hooks.progress(min(1, float64(s.training.Steps()-w.began)/float64(w.steps)),
		fmt.Sprintf("warming up, %d steps", s.training.Steps()-w.began))
	if s.training.Steps()-w.began < w.steps {
		return nil
	}
	s.training.KeepBest(s.evaluate(s.decider.Decide, evaluationStream).Reward)
	s.warm = warm{}
	s.stage2.begin(s, s.training.Best())
	return nil
}
