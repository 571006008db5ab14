package school

import (
	"github.com/loadline/loadline/internal/drpc"
	"github.com/loadline/loadline/internal/rl"
)

// Distil is how students are brought up to a teacher that has stopped changing.
type Distil struct {
	Episodes int // in which examples are gathered
	Steps    int // of each: longer than in stage 1, since students are at work for longer, and drift
	Batches  int // that each student learns from
}

// distil fills every deployment's buffer with what the teacher does now, and lets
// the students learn from it. In every other episode they act themselves, and the
// teacher says what it would have done: a student that has only seen where its
// teacher goes does not know what to do where it gets to by itself (DAgger, Ross,
// Gordon and Bagnell, 2011).
func (s *School) distil() {
	observation := make([]float32, s.exam.Spaces().Observation)
	action := s.exam.Spaces().NewAction()
	defer s.exam.Lasting(s.config.Distil.Steps)()
	for e := range s.config.Distil.Episodes {
		s.exam.Reset(rl.NewChance(s.config.Seed, distilStream+s.version<<16+uint64(e)).Rand, observation)
		for !s.exam.Over() {
			s.mind.Decide(observation, s.wants)
			for i, student := range s.students {
				student.Remember(&s.exam.locals[i], s.wants[i*drpc.Axes:][:drpc.Axes])
			}
			copy(action.Values, s.wants)
			if e%2 == 1 {
				s.decideAll(action.Values)
			}
			s.exam.Step(&action, observation)
		}
		if e%4 == 3 { // so that those who act have learned something
			for _, student := range s.students {
				student.Study(s.config.Distil.Batches / 10)
			}
		}
	}
	for _, student := range s.students {
		student.Study(s.config.Distil.Batches)
	}
	copy(s.tutor.Net.Params(), s.mind.Net.Params())
}

// decideAll is what all students want in the exam's state.
func (s *School) decideAll(actions []float32) {
	for i, student := range s.students {
		student.Decide(&s.exam.locals[i], (*drpc.Action)(actions[i*drpc.Axes:]))
	}
}

// compare students with their teacher, service by service, in the states that the
// teacher gets to.
func (s *School) compare(stream uint64) []Imitation {
	all := make([]Imitation, len(s.students))
	steps := 0.0
	var want drpc.Action
	s.examine(func(whole, actions []float32) {
		s.mind.Decide(whole, actions)
		steps++
		for i, student := range s.students {
			student.Decide(&s.exam.locals[i], &want)
			for axis, x := range want {
				d := float64(x - actions[i*drpc.Axes+axis])
				all[i].Error += d * d / drpc.Axes
				if drpc.ChoiceOf(x) == drpc.ChoiceOf(actions[i*drpc.Axes+axis]) {
					all[i].Agreed += 1.0 / drpc.Axes
				}
			}
		}
	}, stream)
	for i := range all {
		all[i].Service = s.students[i].Service
		all[i].Error /= steps
		all[i].Agreed /= steps
	}
	return all
}
