package trainer

import (
	"context"
	"fmt"
	"math"

	"github.com/loadline/loadline/internal/rl"
)

// Streams of chance, apart from those of the agent.
const (
	exploreStream    = 1 << 32
	evaluationStream = 2 << 32
	finalStream      = 3 << 32
)

// learn lets the agent explore until it has levelled off, or its steps are done. What
// counts is the best evaluation: TD3 is not steady.
func (s *school) learn(ctx context.Context, tell func(Point)) error {
	c := &s.config
	spaces := s.world.Spaces()
	observation, next, action := make([]float32, spaces.Observation), make([]float32, spaces.Observation), spaces.NewAction()
	best, bestReward := []float32(nil), math.Inf(-1)
	steps, episodes, evaluated, stale := 0, 0, 0, 0
	rewards, count, losses, updates := 0.0, 0, 0.0, 0
	for steps < c.Most && stale < c.Patience {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.world.Reset(rl.NewChance(c.Seed, exploreStream+uint64(episodes)).Rand, observation)
		for ends := false; !ends; {
			s.agent.Explore(observation, &action)
			r := s.world.Step(&action, next)
			loss, updated := s.agent.Learn(rl.Transition{Observation: observation, Action: action, Result: r, Next: next})
			if updated {
				losses += loss
				updates++
			}
			rewards += r.Reward
			count++
			steps++
			observation, next = next, observation
			ends = r.Ends()
		}
		if s.world.fault != nil {
			return s.world.fault
		}
		episodes++
		if steps-evaluated < c.Every && steps < c.Most {
			continue
		}
		evaluated = steps
		result, err := s.examine(s.decide, evaluationStream)
		if err != nil {
			return err
		}
		p := Point{result.Point(steps, episodes, rewards/float64(count), losses/max(1, float64(updates))), result.Users, result.Yardstick}
		rewards, count, losses, updates = 0, 0, 0, 0
		s.report.Curve = append(s.report.Curve, p)
		if tell != nil {
			tell(p)
		}
		s.progress(preparedUntil+(learnedUntil-preparedUntil)*float64(steps)/float64(c.Most), fmt.Sprintf("TD3, reward %.3f", p.Evaluation))
		stale++
		if p.Evaluation > bestReward+c.Gain {
			stale = 0
		}
		if p.Evaluation > bestReward {
			bestReward = p.Evaluation
			best = append(best[:0], s.agent.Weights()...)
		}
	}
	if stale >= c.Patience {
		s.report.Plateau = steps
	}
	copy(s.agent.Weights(), best)
	s.steps = steps
	return nil
}

// examine lets somebody decide without exploring, on the episodes of a stream.
func (s *school) examine(decide func(seen, actions []float32), stream uint64) (Result, error) {
	var r Result
	observation := make([]float32, s.exam.Spaces().Observation)
	action := s.exam.Spaces().NewAction()
	steps := 0.0
	for e := range s.config.Episodes {
		s.exam.Reset(rl.NewChance(s.config.Seed, stream+uint64(e)).Rand, observation)
		for !s.exam.Over() {
			decide(observation, action.Values)
			s.exam.Step(&action, observation)
			w := s.exam.worth
			r.Add(w.Reward, w.QoS, w.CPU, w.Memory)
			r.Users += s.exam.users.QoS
			r.Yardstick += s.exam.users.Reward
			steps++
		}
	}
	return Result{r.Mean(steps), r.Users / steps, r.Yardstick / steps}, s.exam.fault
}
