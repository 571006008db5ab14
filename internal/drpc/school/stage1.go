package school

import (
	"context"
	"fmt"
	"math"

	"github.com/loadline/loadline/internal/drpc"
	"github.com/loadline/loadline/internal/rl"
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
)

// explore is stage 1 (lines 4 to 9): the teacher explores and acts, and each
// student learns what the teacher does with its deployment. It ends when the
// teacher has levelled off and students are near enough, or with its steps, and
// says which.
func (s *School) explore(ctx context.Context, limit int, tell func(Point)) (why string, err error) {
	st := s.config.Stage1
	spaces := s.world.Spaces()
	observation, next := make([]float32, spaces.Observation), make([]float32, spaces.Observation)
	began, evaluated, stale := s.steps, s.steps, 0
	rewards, count, losses, updates := 0.0, 0, 0.0, 0
	s.bestReward = math.Inf(-1)
	for s.steps-began < limit {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		chance := rl.NewChance(s.config.Seed, exploreStream+uint64(s.episodes))
		s.world.Reset(chance.Rand, observation)
		episode := 0.0
		for {
			s.note()
			s.teach(observation)
			s.teacher.Explore(observation, &s.action)
			r := s.world.Step(&s.action, next)
			loss, updated := s.teacher.Learn(rl.Transition{Observation: observation, Action: s.action, Result: r, Next: next})
			if updated {
				losses += loss
				updates++
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
		rewards += episode
		count += s.config.Episode
		if s.steps-evaluated < st.Every && s.steps-began < limit {
			continue
		}
		evaluated = s.steps
		result := s.examine(s.mind.Decide, evaluationStream)
		imitation, _ := MeanImitation(s.compare(evaluationStream))
		p := Point{
			Steps: s.steps, Episodes: s.episodes, Explored: rewards / float64(count), Loss: losses / max(1, float64(updates)),
			Evaluation: result.Reward, QoS: result.QoS, CPU: result.CPU, Memory: result.Memory, Imitation: imitation,
		}
		rewards, count, losses, updates = 0, 0, 0, 0
		s.report.Curve = append(s.report.Curve, p)
		if tell != nil {
			tell(p)
		}
		s.progress(forecastsUntil+(stage1Until-forecastsUntil)*float64(s.steps-began)/float64(limit),
			fmt.Sprintf("stage 1, reward %.3f", p.Evaluation))
		stale++
		if p.Evaluation > s.bestReward+st.Gain {
			stale = 0
		}
		if p.Evaluation > s.bestReward {
			s.bestReward = p.Evaluation
			s.best = append(s.best[:0], s.teacher.Weights()...)
		}
		if stale >= st.Patience && s.report.Plateau == 0 {
			s.report.Plateau = s.steps
		}
		if stale >= st.Patience && imitation <= st.Imitation {
			copy(s.teacher.Weights(), s.best)
			return fmt.Sprintf("the teacher has levelled off at %.3f, students are within %.3f", s.bestReward, imitation), nil
		}
	}
	copy(s.teacher.Weights(), s.best)
	return fmt.Sprintf("its %d steps are done, the teacher is at %.3f", limit, s.bestReward), nil
}

// mixKept is how slowly the mix that was practised on follows.
const mixKept = 1e-3

// note remembers which states and which mix of requests were practised on.
func (s *School) note() {
	for i := range s.world.locals {
		s.seen.Add(&s.world.locals[i])
	}
	if mix := drpc.MixOf(s.world.Situation().Now()); mix != nil {
		s.mix = s.mix.Follow(mix, mixKept)
	}
}

// teach lets every student learn what the teacher means to do, before it tries
// something else (line 8): a student that imitated exploration would imitate chance.
func (s *School) teach(observation []float32) {
	s.mind.Decide(observation, s.wants)
	for i, student := range s.students {
		student.Mode = drpc.Learning
		student.Remember(&s.world.locals[i], s.wants[i*drpc.Axes:][:drpc.Axes])
		student.Study(1)
	}
}

// examine lets somebody decide for all without exploring, on the episodes of a
// stream.
func (s *School) examine(decide func(whole, actions []float32), stream uint64) Result {
	var r Result
	observation := make([]float32, s.exam.Spaces().Observation)
	action := s.exam.Spaces().NewAction()
	steps := 0.0
	for e := range s.config.Stage1.Episodes {
		s.exam.Reset(rl.NewChance(s.config.Seed, stream+uint64(e)).Rand, observation)
		for !s.exam.Over() {
			decide(observation, action.Values)
			s.exam.Step(&action, observation)
			r.add(s.exam.Worth())
			steps++
		}
	}
	return r.over(steps)
}

func (r *Result) add(w drpc.Worth) {
	r.Reward += w.Reward
	r.QoS += w.QoS
	r.CPU += w.CPU
	r.Memory += w.Memory
}

func (r Result) over(n float64) Result {
	r.Reward /= n
	r.QoS /= n
	r.CPU /= n
	r.Memory /= n
	return r
}
