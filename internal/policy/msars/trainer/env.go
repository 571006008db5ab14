package trainer

import (
	"math/rand/v2"
	"time"

	"github.com/loadline/loadline/internal/train"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/policy/msars"
	"github.com/loadline/loadline/internal/rl"
)

// env is an arena as an environment: it observes what the policy in production observes,
// and has three actions per service and one reward. Profiles are not monitored, because
// they are exact here.
type env struct {
	*train.Arena
	divider  *msars.Divider
	steering *msars.Steering
	services int

	score drpc.Score
	users drpc.Score // by DRPC's reward, which is that of the users' SLO
	fault error
}

func newEnv(subject train.Scenario, division msars.Division, c Config, forecasts *train.ForecastTable) (*env, error) {
	needs := drpc.NeedsOf(c.Period, time.Second)
	w := &env{services: len(subject.App.Services)}
	var err error
	config := train.WholeApplication(subject, needs, c.Episode)
	config.Resize, config.Forecasts, config.Splitter = train.RandomSize, forecasts, w
	if w.Arena, err = train.NewArena(config); err != nil {
		return nil, err
	}
	if w.divider, err = msars.NewDivider(subject.App, division, needs.Window); err != nil {
		return nil, err
	}
	w.steering, err = msars.NewSteering(subject.App, w.divider, c.Steps, c.Reward)
	return w, err
}

// Spaces implements rl.Env.
func (w *env) Spaces() rl.Spaces {
	return rl.Spaces{Observation: w.steering.Width(), Dimensions: drpc.Axes * w.services}
}

// Reset implements rl.Env.
func (w *env) Reset(rng *rand.Rand, observation []float32) {
	w.steering.Begin()
	w.Begin(rng, train.NoCulprit)
	w.score, w.users = drpc.Score{}, drpc.Score{}
	w.observe()
	w.steering.Fill(w.Situation(), observation[:0])
}

// Step implements rl.Env. The action becomes what was applied of it.
func (w *env) Step(action *rl.Action, observation []float32) rl.Result {
	proposal, err := w.steering.Propose(w.Now(), w.Situation(), action.Values, false)
	w.note(err)
	w.Act(proposal)
	w.observe()
	w.steering.Fill(w.Situation(), observation[:0])
	return rl.Result{Reward: w.score.Reward, Truncated: w.Over()}
}

// Split implements loop.Splitter, as the policy in production does.
func (w *env) Split(now time.Time, s loadline.Situation) []loadline.SLO {
	parts, err := w.steering.Split(now, s)
	w.note(err)
	return parts
}

// observe updates the agent's observation and the scores. Where a metric is absent, its
// last value is used: a policy in production would hold.
func (w *env) observe() {
	s := w.Situation()
	if w.fault == nil {
		w.steering.Observe(s)
	}
	if score, known := w.steering.Score(s); known {
		w.score = score
	}
	if users, known := drpc.DefaultReward().Of(s.App, s.Now()); known {
		w.users = users
	}
}

// note keeps the first error, which ends the training: an environment returns none.
func (w *env) note(err error) {
	if w.fault == nil {
		w.fault = err
	}
}
