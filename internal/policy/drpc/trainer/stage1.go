package trainer

import (
	"fmt"
	"math"

	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/rl"
	"github.com/loadline/loadline/internal/train"
)

// Stage1 is when the teacher has explored enough. The paper does not say.
type Stage1 struct {
	Steps     int     // at most
	Every     int     // steps from one evaluation to the next
	Episodes  int     // of an evaluation
	Patience  int     // evaluations without gain after which the teacher has levelled off
	Gain      float64 // of reward that counts as one
	Imitation float64 // error that students must be below by then
	Refresh   int     // steps at most when the notifier sends everybody back
}

// Streams of chance, apart from those of the agents.
const (
	exploreStream    = 1 << 32
	evaluationStream = 2 << 32
	examStream       = 3 << 32
	distilStream     = 4 << 32
	actStream        = 5 << 32
	finalStream      = 6 << 32
	warmStream       = 8 << 32
)

// stage1 is how far it has come.
type stage1 struct {
	limit     int // steps at most, this time
	began     int // at how many steps
	evaluated int // the same, of the last evaluation
	stale     int // evaluations without gain

	// Since the last evaluation.
	rewards, losses float64
	count, updates  int
}

func (s *Trainer) beginStage1(limit int) {
	s.stage1 = stage1{limit: limit, began: s.steps, evaluated: s.steps}
	s.bestReward = math.Inf(-1)
	s.phase = exploring
}

// explore is an episode of stage 1 (lines 4 to 9): the teacher explores and acts, and
// each student learns what the teacher does with its deployment. It ends when the
// teacher has levelled off and students are near enough, or with its steps.
func (s *Trainer) explore() {
	st, c := &s.stage1, s.config.Stage1
	observation, next := s.newObservation(), s.newObservation()
	s.world.Reset(rl.NewChance(s.config.Seed, exploreStream+uint64(s.episodes)).Rand, observation)
	episode := 0.0
	for {
		s.note()
		s.teach(observation)
		s.teacher.Explore(observation, &s.action)
		r := s.world.Step(&s.action, next)
		loss, updated := s.teacher.Learn(rl.Transition{Observation: observation, Action: s.action, Result: r, Next: next})
		if updated {
			st.losses += loss
			st.updates++
		}
		episode += r.Reward
		s.steps++
		observation, next = next, observation
		if r.Ends() {
			break
		}
	}
	s.episodes++
	s.report.Episodes = append(s.report.Episodes, episode/float64(s.config.Episode))
	st.rewards += episode
	st.count += s.config.Episode
	done := s.steps-st.began >= st.limit
	if s.steps-st.evaluated < c.Every && !done {
		return
	}
	p := s.evaluate()
	switch {
	case st.stale >= c.Patience && p.Imitation <= c.Imitation:
		s.endStage1(fmt.Sprintf("the teacher has levelled off at %.3f, students are within %.3f", s.bestReward, p.Imitation))
	case done:
		s.endStage1(fmt.Sprintf("its %d steps are done, the teacher is at %.3f", st.limit, s.bestReward))
	}
}

func (s *Trainer) newObservation() []float32 { return make([]float32, s.world.Spaces().Observation) }

// evaluate adds a point to the learning curve.
func (s *Trainer) evaluate() Point {
	st, c := &s.stage1, s.config.Stage1
	st.evaluated = s.steps
	result := s.examine(s.mind.Decide, evaluationStream)
	imitation, _ := MeanImitation(s.compare(evaluationStream))
	p := Point{result.Point(s.steps, s.episodes, st.rewards/float64(st.count), st.losses/max(1, float64(st.updates))), imitation}
	st.rewards, st.count, st.losses, st.updates = 0, 0, 0, 0
	s.report.Curve = append(s.report.Curve, p)
	if s.hooks.Point != nil {
		s.hooks.Point(p)
	}
	s.hooks.progress(forecastsUntil+(stage1Until-forecastsUntil)*float64(s.steps-st.began)/float64(st.limit), fmt.Sprintf("stage 1, reward %.3f", p.Evaluation))
	st.stale++
	if p.Evaluation > s.bestReward+c.Gain {
		st.stale = 0
	}
	if p.Evaluation > s.bestReward {
		s.bestReward = p.Evaluation
		s.best = append(s.best[:0], s.teacher.Weights()...)
	}
	if st.stale >= c.Patience && s.report.Plateau == 0 {
		s.report.Plateau = s.steps
	}
	return p
}

// endStage1 lets the teacher be as it was at its best, and the students learn from it.
func (s *Trainer) endStage1(why string) {
	copy(s.teacher.Weights(), s.best)
	s.beginLesson("stage 1 ended: "+why, s.examine(s.mind.Decide, examStream).Reward, comparing)
}

// mixKept is how slowly the mix that was practised on follows.
const mixKept = 1e-3

// note remembers which states and which mix of requests were practised on.
func (s *Trainer) note() {
	for i := range s.world.locals {
		s.seen.Add(&s.world.locals[i])
	}
	if mix := drpc.MixOf(s.world.Situation().Now()); mix != nil {
		s.mix = s.mix.Follow(mix, mixKept)
	}
}

// teach lets every student learn what the teacher means to do, before it tries
// something else (line 8): a student that imitated exploration would imitate chance.
func (s *Trainer) teach(observation []float32) {
	s.mind.Decide(observation, s.wants)
	for i, student := range s.students {
		student.Mode = drpc.Learning
		student.Remember(&s.world.locals[i], s.wants[i*drpc.Axes:][:drpc.Axes])
		student.Study(1)
	}
}

// examine lets somebody decide for all without exploring, on the episodes of a
// stream.
func (s *Trainer) examine(decide func(whole, actions []float32), stream uint64) train.Result {
	var r train.Result
	observation := make([]float32, s.exam.Spaces().Observation)
	action := s.exam.Spaces().NewAction()
	steps := 0.0
	for e := range s.config.Stage1.Episodes {
		s.exam.Reset(rl.NewChance(s.config.Seed, stream+uint64(e)).Rand, observation)
		for !s.exam.Over() {
			decide(observation, action.Values)
			s.exam.Step(&action, observation)
			add(&r, s.exam.Worth())
			steps++
		}
	}
	return r.Mean(steps)
}

func add(r *train.Result, w drpc.Worth) { r.Add(w.Reward, w.QoS, w.CPU, w.Memory) }
