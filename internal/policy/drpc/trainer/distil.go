package trainer

import (
	"fmt"

	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/rl"
)

// Distillation is how students are brought up to a teacher that has stopped changing.
type Distillation struct {
	Episodes int // in which examples are gathered
	Steps    int // of each: longer than in stage 1, since students are at work for longer, and drift
	Batches  int // that each student learns from
}

// distillation is the progress of the distillation.
type distillation struct {
	unit   int     // episodes gathered, and then students trained on them
	why    string  // there is one: how stage 1 ended; empty = because the teacher has gained
	reward float64 // the teacher's reward
	then   phase
}

func (s *Trainer) beginDistillation(why string, reward float64, then phase) {
	s.distillation = distillation{why: why, reward: reward, then: then}
	s.phase = distilling
}

// distil is a unit of a distillation: the first fill every deployment's buffer with what
// the teacher does now, in the rest one student after the other learns from it.
func (s *Trainer) distil() {
	l, n := &s.distillation, s.config.Distil.Episodes
	if l.unit < n {
		s.gather(l.unit)
	} else {
		s.study(l.unit - n)
	}
	l.unit++
	s.hooks.progress(stage1Until, fmt.Sprintf("distilling, %.0f %%", 100*float64(l.unit)/float64(n+len(s.students))))
	if l.unit == n+len(s.students) {
		copy(s.reference.Net.Params(), s.decider.Net.Params())
		s.phase = l.then
	}
}

// study lets a student learn. One that cannot, since nothing moves it any more (it may
// have come with weights that are all nothing), begins once more from random weights.
func (s *Trainer) study(i int) {
	if loss := s.students[i].Train(s.config.Distil.Batches); loss > hopeless {
		s.students[i].Forget(s.config.Seed + uint64(i))
		s.students[i].Train(s.config.Distil.Batches)
	}
}

// hopeless is a mean squared difference to the teacher that random weights have too.
const hopeless = 0.5

// gather is an episode of examples. In every other one students act themselves, and
// the teacher says what it would have done: a student that has only seen where its
// teacher goes does not know what to do where it gets to by itself (DAgger, Ross,
// Gordon and Bagnell, 2011).
func (s *Trainer) gather(episode int) {
	observation, action := s.newObservation(), s.evaluation.Spaces().NewAction()
	defer s.evaluation.Lengthen(s.config.Distil.Steps)()
	s.evaluation.Reset(rl.NewRNG(s.config.Seed, distilStream+s.version<<16+uint64(episode)).Rand, observation)
	for !s.evaluation.Over() {
		s.decider.Decide(observation, s.wants)
		for i, student := range s.students {
			student.Remember(&s.evaluation.locals[i], s.wants[i*drpc.Axes:][:drpc.Axes])
		}
		copy(action.Values, s.wants)
		if episode%2 == 1 {
			s.decideAll(action.Values)
		}
		s.evaluation.Step(&action, observation)
	}
	if episode%4 == 3 { // so that acting students have been trained
		for _, student := range s.students {
			student.Train(s.config.Distil.Batches / 10)
		}
	}
}

// decideAll is the action of all students in the evaluated state.
func (s *Trainer) decideAll(actions []float32) {
	for i, student := range s.students {
		student.Decide(&s.evaluation.locals[i], (*drpc.Action)(actions[i*drpc.Axes:]))
	}
}

// compare students with their teacher, service by service, in the states that the
// teacher gets to.
func (s *Trainer) compare(stream uint64) []Imitation {
	all := make([]Imitation, len(s.students))
	steps := 0.0
	var want drpc.Action
	s.evaluate(func(whole, actions []float32) {
		s.decider.Decide(whole, actions)
		steps++
		for i, student := range s.students {
			student.Decide(&s.evaluation.locals[i], &want)
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
