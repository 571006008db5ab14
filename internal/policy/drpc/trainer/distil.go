package trainer

import (
	"fmt"

	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/rl"
)

// Distillation configures the supervised training of students on a teacher that no longer changes.
type Distillation struct {
	Episodes int // in which examples are collected
	Steps    int // of each: longer than in stage 1, because students in production run for longer, and drift
	Batches  int // that each student learns from
}

// distillation is the progress of a distillation.
type distillation struct {
	unit   int     // episodes collected, plus students trained on them
	why    string  // how stage 1 ended; empty = the teacher has improved in stage 2
	reward float64 // the teacher's reward
	then   phase
}

func (s *Trainer) beginDistillation(why string, reward float64, then phase) {
	s.distillation = distillation{why: why, reward: reward, then: then}
	s.phase = distilling
}

// distil is a unit of a distillation: the first units fill every student's buffer with
// actions of the teacher, each of the others trains one student on its buffer.
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

// study trains a student. If its loss stays high, as with weights that are all 0 and have
// no gradient, it starts again from random weights.
func (s *Trainer) study(i int) {
	if loss := s.students[i].Train(s.config.Distil.Batches); loss > hopeless {
		s.students[i].Forget(s.config.Seed + uint64(i))
		s.students[i].Train(s.config.Distil.Batches)
	}
}

// hopeless is a mean squared difference to the teacher that random weights reach, too.
const hopeless = 0.5

// gather is an episode that collects examples. In every other one the students act and
// the teacher only labels: a student trained on the teacher's states alone does not learn
// what to do in the states that it reaches itself (DAgger, Ross, Gordon and Bagnell, 2011).
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
	if episode%4 == 3 { // the students that act next must have been trained
		for _, student := range s.students {
			student.Train(s.config.Distil.Batches / 10)
		}
	}
}

// decideAll sets the actions of all students in the evaluation's state.
func (s *Trainer) decideAll(actions []float32) {
	for i, student := range s.students {
		student.Decide(&s.evaluation.locals[i], (*drpc.Action)(actions[i*drpc.Axes:]))
	}
}

// compare measures the difference of students and teacher by service, in states that the
// teacher reaches.
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
