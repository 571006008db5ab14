package trainer

import (
	"fmt"

	"github.com/loadline/loadline/internal/rl"
)

// warm is how far a teacher is that has come without its critics.
type warm struct {
	began, steps int       // of the training, and to do
	held         []float32 // the actor's weights
}

func (s *Trainer) beginWarm(steps int) {
	s.warm = warm{s.training.Steps(), steps, append([]float32(nil), s.teacher.Weights()...)}
	s.phase = warming
}

// warmUp is an episode in which a teacher whose model file held nothing but what it
// does gets to know what that is worth: replay is filled, critics learn, and what it
// does is held as it was, since critics that know nothing would spoil it.
func (s *Trainer) warmUp() {
	w := &s.warm
	observation, next := s.newObservation(), s.newObservation()
	s.env.Reset(rl.NewRNG(s.config.Seed, warmStream+uint64(s.training.Episodes())).Rand, observation)
	for over := false; !over; {
		s.note()
		s.teacher.Explore(observation, &s.action)
		r := s.env.Step(&s.action, next)
		s.teacher.Learn(rl.Transition{Observation: observation, Action: s.action, Result: r, Next: next})
		copy(s.teacher.Weights(), w.held)
		s.training.Advance(1, 0)
		observation, next = next, observation
		over = r.Ends()
	}
	s.training.Advance(0, 1)
	s.hooks.progress(min(1, float64(s.training.Steps()-w.began)/float64(w.steps)),
		fmt.Sprintf("warming up, %d steps", s.training.Steps()-w.began))
	if s.training.Steps()-w.began < w.steps {
		return
	}
	s.training.KeepBest(s.evaluate(s.decider.Decide, evaluationStream).Reward)
	s.warm = warm{}
	s.stage2.begin(s, s.training.Best())
}
