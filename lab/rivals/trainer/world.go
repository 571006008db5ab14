package trainer

import (
	"math/rand/v2"

	"github.com/loadline/loadline/internal/train"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/lab/rivals"
)

// forecastSpec is what CoScal's forecasters are given and forecast: the visits of the minute
// before a decision, which is what is measured, and those at the next.
var forecastSpec = train.ForecastSpec{Step: rivals.CoScalPeriod, Span: drpc.ForecastStep, Task: rivals.GRUTask(), Config: rivals.GRUConfig}

// world is an arena with DRPC's reward, the common reward.
type world struct {
	*train.Arena
	score drpc.Score
}

func newWorld(subject train.Scenario, rival rivals.Rival, steps int, resizes bool, forecasts *train.ForecastTable) (*world, error) {
	config := train.WholeApplication(subject, rival.Needs(), steps)
	config.Forecasts, config.Splitter, config.Noise.Users = forecasts, rival, true
	if resizes {
		config.Resize = train.RandomSize
	}
	a, err := train.NewArena(config)
	return &world{Arena: a}, err
}

func (w *world) begin(rng *rand.Rand, culprit int) {
	w.Begin(rng, culprit)
	w.score = drpc.Score{}
	w.weigh()
}

func (w *world) act(p loadline.Proposal) {
	w.Act(p)
	w.weigh()
}

// follow takes a step as a policy decides.
func (w *world) follow(p loadline.Policy) {
	w.Follow(p)
	w.Advance(w.Needs().Period)
	w.CountStep()
	w.weigh()
}

// weigh the last window. Where nothing was measured, the last value
// stands.
func (w *world) weigh() {
	if score, known := drpc.DefaultReward().Of(w.App(), w.Situation().Now()); known {
		w.score = score
	}
}
