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

// env is an arena as an environment: the observations of the policy in production, three actions
// of each service, one reward. Profiles are not monitored here: they are exact.
type env struct {
	*train.Arena
	divider  *msars.Divider
	steering *msars.Steering
	services int

	seen  loadline.Situation
	score drpc.Score
	users drpc.Score // by DRPC's reward, which is judged by the users' SLO
	fault error
}

func newEnv(subject train.Scenario, division msars.Division, c Config, forecasts *train.ForecastTable) (*env, error) {
	needs := drpc.NeedsOf(c.Period, time.Second)
	w := &env{services: len(subject.App.Services)}
	var err error
	config := train.WholeApplication(subject, needs, c.Episode)
	config.Resize, config.Forecasts = train.RandomSize, forecasts
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
	w.Begin(rng, train.NoCulprit)
	w.steering.Begin()
	w.score, w.users = drpc.Score{}, drpc.Score{}
	w.observe()
	w.steering.Fill(w.seen, observation[:0])
}

// Step implements rl.Env. The action becomes what was applied of it.
func (w *env) Step(action *rl.Action, observation []float32) rl.Result {
	proposal, err := w.steering.Propose(w.Now(), w.seen, action.Values, false)
	w.blame(err)
	w.Act(proposal)
	w.observe()
	w.steering.Fill(w.seen, observation[:0])
	return rl.Result{Reward: w.score.Reward, Truncated: w.Over()}
}

// observe at what is measured now. Where something is absent, what was seen last stands:
// a policy in production would hold.
func (w *env) observe() {
	seen, _, err := w.steering.SplitAndObserve(w.Now(), w.Situation())
	w.blame(err)
	w.seen = seen
	if score, known := w.steering.Score(seen); known {
		w.score = score
	}
	if users, known := drpc.DefaultReward().Of(seen.App, seen.Now()); known {
		w.users = users
	}
}

// blame keeps the first fault, which ends the training: an environment has none.
func (w *env) blame(err error) {
	if w.fault == nil {
		w.fault = err
	}
}
