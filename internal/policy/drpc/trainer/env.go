package trainer

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/loop"
	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/rl"
	"github.com/loadline/loadline/internal/train"
)

// EnvConfig configures the environment of a teacher.
type EnvConfig struct {
	train.Scenario
	Forecasts *train.ForecastTable // nil = no forecasts

	Shape  drpc.Shape
	Period time.Duration // of the teacher's decisions
	Beat   time.Duration // between scrapes, and the shortest period of students
	Steps  int           // of an episode
	Scale  drpc.Steps
	Reward drpc.Reward
	Shares *formulation.Shares // of the SLO; nil = proportional
}

// Env is an arena as an environment: it observes all services and machines, and has
// three actions per service and one reward.
type Env struct {
	*train.Arena
	config  EnvConfig
	encoder *drpc.Encoder
	scaler  *drpc.Scaler

	locals   []drpc.Local
	proposal loadline.Proposal
	score    drpc.Score
}

// NewEnv checks the configuration.
func NewEnv(config EnvConfig) (*Env, error) {
	if config.Beat < time.Second || config.Period%config.Beat != 0 {
		return nil, fmt.Errorf("drpc trainer: a period of %v in beats of %v, must be whole beats of at least 1s", config.Period,
			config.Beat)
	}
	needs := drpc.NeedsOf(config.Period, time.Second)
	needs.Scrape = min(needs.Scrape, config.Beat)
	w := &Env{config: config, scaler: drpc.NewScaler(config.App, config.Scale), locals: make([]drpc.Local, len(config.App.Services))}
	var err error
	if w.encoder, err = drpc.NewEncoder(config.App); err != nil {
		return nil, err
	}
	w.encoder.UseShares(config.Shares)
	arena := train.WholeApplication(config.Scenario, needs, config.Steps)
	arena.Resize, arena.Forecasts, arena.Splitter = train.RandomSize, config.Forecasts, loop.FixedSplit(w.encoder.Topology.Partial())
	w.Arena, err = train.NewArena(arena)
	return w, err
}

// Parts is the number of rows that share the teacher's network.
func (w *Env) Parts() int { return w.encoder.Parts(w.config.Shape) }

// Spaces implements rl.Env.
func (w *Env) Spaces() rl.Spaces {
	return rl.Spaces{Observation: w.encoder.Width(w.config.Shape), Dimensions: drpc.Axes * len(w.config.App.Services)}
}

// Reset implements rl.Env.
func (w *Env) Reset(rng *rand.Rand, observation []float32) {
	w.Begin(rng, train.NoCulprit)
	clear(w.locals)
	w.score = drpc.Score{}
	w.observe()
	w.fill(observation)
}

// Step implements rl.Env. The action becomes what was applied of it.
func (w *Env) Step(action *rl.Action, observation []float32) rl.Result {
	s := w.Situation()
	w.scaler.Pressed = drpc.Pressed(s.App, s.Now())
	w.proposal.Services = w.proposal.Services[:0]
	for i, desired := range s.InFlight {
		of := action.Values[i*drpc.Axes:][:drpc.Axes]
		setting, done := w.scaler.Scale(i, desired, drpc.MemoryOf(&s.Now().Services[i]), drpc.Action(of))
		copy(of, done[:])
		if setting = desired.Changes(setting); !setting.Empty() {
			w.proposal.Services = append(w.proposal.Services, loadline.ServiceProposal{Service: i, Setting: setting})
		}
	}
	w.Act(w.proposal)
	w.observe()
	w.fill(observation)
	return rl.Result{Reward: w.score.Reward, Truncated: w.Over()}
}

func (w *Env) fill(observation []float32) {
	w.encoder.Global(w.config.Shape, w.Situation(), w.locals, observation[:0])
}

// observe updates the students' observations and the score. Where a metric is absent, the
// last values are used: in production that service is left unchanged.
func (w *Env) observe() {
	s := w.Situation()
	for i := range w.locals {
		var seen drpc.Local
		if w.encoder.Local(s, i, &seen) == "" {
			w.locals[i] = seen
		}
	}
	if score, known := w.config.Reward.Of(s.App, s.Now()); known {
		w.score = score
	}
}

// Score is that of the last step.
func (w *Env) Score() drpc.Score { return w.score }

// Locals are the students' present observations; not a copy.
func (w *Env) Locals() []drpc.Local { return w.locals }
