package trainer

import (
	"context"
	"fmt"

	"github.com/loadline/loadline/internal/rl"
)

// Random streams of evaluations, apart from those of the agent and of exploration.
const (
	evaluationStream = 2 << 32
	finalStream      = 3 << 32
)

// trainee is MSARS' agent in its environment, evaluated by its mean reward.
type trainee struct {
	rl.Single
	trainer *trainer
	latest  Result // of the last evaluation
}

// Explore implements rl.Trainee. An error of the split ends the training.
func (t *trainee) Explore(e *rl.Episode) error {
	if err := t.Single.Explore(e); err != nil {
		return err
	}
	return t.trainer.env.fault
}

// Evaluate implements rl.Trainee.
func (t *trainee) Evaluate(uint64, rl.TrainingConfig) (float64, error) {
	var err error
	t.latest, err = t.trainer.evaluate(t.trainer.decide, evaluationStream)
	return t.latest.Reward, err
}

// learn trains the agent until it has converged or its steps are done. The weights of the
// best evaluation are used, because TD3 is unstable.
func (s *trainer) learn(ctx context.Context, report func(Point)) error {
	c := &s.config
	agent := &trainee{Single: rl.Single{Env: s.env, Agent: s.agent}, trainer: s}
	training := rl.NewTrainingOf(agent, c.Seed, rl.TrainingConfig{
		Steps: c.Most, WholeEpisodes: true, EvaluateEvery: c.Every, EvenlySpaced: true, Episodes: c.Episodes, Patience: c.Patience,
		Gain: c.Gain,
	})
	err := training.Run(ctx, rl.Hooks{EveryPoint: func(at rl.Point) {
		p := Point{agent.latest.Point(at), agent.latest.Users, agent.latest.CommonReward}
		s.report.Curve = append(s.report.Curve, p)
		if report != nil {
			report(p)
		}
		s.progress(preparedUntil+(learnedUntil-preparedUntil)*float64(p.Steps)/float64(c.Most),
			fmt.Sprintf("TD3, reward %.3f", p.Evaluation))
	}})
	if err != nil {
		return err
	}
	training.AdoptBest()
	s.steps, s.report.Plateau = training.Steps(), training.Plateau()
	return nil
}

// evaluate runs a policy, without exploration, on the episodes of a stream.
func (s *trainer) evaluate(decide func(seen, actions []float32), stream uint64) (Result, error) {
	var r Result
	env := s.evaluation
	observation, action := make([]float32, env.Spaces().Observation), env.Spaces().NewAction()
	steps := 0.0
	for e := range s.config.Episodes {
		env.Reset(rl.NewRNG(s.config.Seed, stream+uint64(e)).Rand, observation)
		for !env.Over() {
			decide(observation, action.Values)
			env.Step(&action, observation)
			r.Add(env.score.Reward, env.score.QoS, env.score.CPU, env.score.Memory)
			r.Users += env.users.QoS
			r.CommonReward += env.users.Reward
			steps++
		}
	}
	return Result{r.Mean(steps), r.Users / steps, r.CommonReward / steps}, env.fault
}
