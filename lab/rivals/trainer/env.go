package trainer

import (
	"math/rand/v2"

	"github.com/loadline/loadline/internal/train"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/lab/rivals"
)

// forecastSpec describes CoScal's forecasters: the input is the rate in the minute before a
// decision, as it is measured, the output that before the next decision.
var forecastSpec = train.ForecastSpec{Step: rivals.CoScalPeriod, Span: drpc.ForecastStep, Task: rivals.GRUTask(), Config: rivals.GRUConfig}

// env is an arena with DRPC's reward, the common reward.
type env struct {
	*train.Arena
	score drpc.Score
}

func newEnv(subject train.Scenario, rival rivals.Rival, steps int, resizes bool, forecasts *train.ForecastTable) (*env, error) {
	config := train.WholeApplication(subject, rival.Needs(), steps)
	config.Forecasts, config.Splitter, config.Noise.Users = forecasts, rival, true
	if resizes {
		config.Resize = train.RandomSize
	}
	a, err := train.NewArena(config)
	return &env{Arena: a}, err
}

func (w *env) begin(rng *rand.Rand, culprit int) {
	w.Begin(rng, culprit)
	w.score = drpc.Score{}
	w.updateScore()
}

func (w *env) act(p loadline.Proposal) {
	w.Act(p)
	w.updateScore()
}

// follow makes a step with the decision of a policy.
func (w *env) follow(p loadline.Policy) {
	w.Follow(p)
	w.Advance(w.Needs().Period)
	w.CountStep()
	w.updateScore()
}

// updateScore scores the last window. If a metric is absent, the last value is used.
func (w *env) updateScore() {
	if score, known := drpc.DefaultReward().Of(w.App(), w.Situation().Now()); known {
		w.score = score
	}
}
