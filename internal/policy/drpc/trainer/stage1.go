package trainer

import (
	"fmt"

	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/rl"
	"github.com/loadline/loadline/internal/train"
)

// Stage1 configures stage 1 and its end, which the paper does not define.
type Stage1 struct {
	Steps     int     // at most
	Every     int     // steps from one evaluation to the next
	Episodes  int     // of an evaluation
	Patience  int     // evaluations without gain after which the teacher has levelled off
	Gain      float64 // least improvement of the reward that counts
	Imitation float64 // error that students must be below at the end
	Refresh   int     // steps at most after the notifier has restarted stage 1
}

// Random streams, apart from those of the agents and of exploration.
const (
	evaluationStream = 2 << 32
	checkStream      = 3 << 32
	distilStream     = 4 << 32
	actStream        = 5 << 32
	finalStream      = 6 << 32
	warmStream       = 8 << 32
)

// stage1 is the present run of stage 1.
type stage1 struct {
	limit int // steps at most
	began int // steps of the training at its start
}

func (s *Trainer) beginStage1(limit int) {
	s.stage1 = stage1{limit: limit, began: s.training.Steps()}
	s.training.Restart(limit)
	s.phase = exploring
}

// explorer is the teacher in stage 1 (lines 4 to 9): it acts and explores, and each
// student learns the teacher's actions for its service.
type explorer struct {
	rl.Single
	trainer   *Trainer
	latest    train.Result // of the last evaluation
	imitation float64      // the students' error at that point
}

// Explore implements rl.Trainee.
func (x *explorer) Explore(e *rl.Episode) error {
	err := x.Single.Explore(e)
	x.trainer.report.Episodes = append(x.trainer.report.Episodes, e.Mean())
	return err
}

// Evaluate implements rl.Trainee.
func (x *explorer) Evaluate(uint64, rl.TrainingConfig) (float64, error) {
	s := x.trainer
	x.latest = s.evaluate(s.decider.Decide, evaluationStream)
	x.imitation, _ = MeanImitation(s.compare(evaluationStream))
	return x.latest.Reward, nil
}

// before is called before each of the teacher's decisions.
func (s *Trainer) before(observation []float32) {
	s.note()
	s.teach(observation)
}

// explore is an episode of stage 1. The stage ends when the teacher has converged and the
// students' error is low enough, or when its steps are done.
func (s *Trainer) explore() error {
	st := &s.stage1
	evaluated, err := s.training.Next(rl.Hooks{EveryPoint: s.point})
	if err != nil || !evaluated {
		return err
	}
	switch imitation := s.explorer.imitation; {
	case s.training.LevelledOff() && imitation <= s.config.Stage1.Imitation:
		s.endStage1(fmt.Sprintf("the teacher has levelled off at %.3f, students are within %.3f", s.training.Best(), imitation))
	case s.training.Steps()-st.began >= st.limit:
		s.endStage1(fmt.Sprintf("its %d steps are done, the teacher is at %.3f", st.limit, s.training.Best()))
	}
	return nil
}

func (s *Trainer) newObservation() []float32 { return make([]float32, s.env.Spaces().Observation) }

// point adds to the learning curve.
func (s *Trainer) point(at rl.Point) {
	st := &s.stage1
	p := Point{s.explorer.latest.Point(at), s.explorer.imitation}
	s.report.Curve = append(s.report.Curve, p)
	s.report.Plateau = s.training.Plateau()
	if s.hooks.Point != nil {
		s.hooks.Point(p)
	}
	s.hooks.progress(forecastsUntil+(stage1Until-forecastsUntil)*float64(p.Steps-st.began)/float64(st.limit),
		fmt.Sprintf("stage 1, reward %.3f", p.Evaluation))
}

// endStage1 restores the best weights of the teacher and starts the distillation.
func (s *Trainer) endStage1(why string) {
	s.training.AdoptBest()
	s.beginDistillation("stage 1 ended: "+why, s.evaluate(s.decider.Decide, checkStream).Reward, comparing)
}

// mixKept is the weight of one observation in the moving average of the mix.
const mixKept = 1e-3

// note records the states and the mix of requests that were trained on.
func (s *Trainer) note() {
	for i := range s.env.locals {
		s.visits.Add(&s.env.locals[i])
	}
	if mix := drpc.MixOf(s.env.Situation().Now()); mix != nil {
		s.mix = s.mix.Follow(mix, mixKept)
	}
}

// teach trains every student on the teacher's action without exploration (line 8): with
// it, students would imitate noise.
func (s *Trainer) teach(observation []float32) {
	s.decider.Decide(observation, s.wants)
	for i, student := range s.students {
		student.Mode = drpc.Learning
		student.Remember(&s.env.locals[i], s.wants[i*drpc.Axes:][:drpc.Axes])
		student.Train(1)
	}
}

// evaluate runs a policy of all services, without exploration, on the episodes of a
// stream.
func (s *Trainer) evaluate(decide func(whole, actions []float32), stream uint64) train.Result {
	var r train.Result
	observation := make([]float32, s.evaluation.Spaces().Observation)
	action := s.evaluation.Spaces().NewAction()
	steps := 0.0
	for e := range s.config.Stage1.Episodes {
		s.evaluation.Reset(rl.NewRNG(s.config.Seed, stream+uint64(e)).Rand, observation)
		for !s.evaluation.Over() {
			decide(observation, action.Values)
			s.evaluation.Step(&action, observation)
			add(&r, s.evaluation.Score())
			steps++
		}
	}
	return r.Mean(steps)
}

func add(r *train.Result, w drpc.Score) { r.Add(w.Reward, w.QoS, w.CPU, w.Memory) }
