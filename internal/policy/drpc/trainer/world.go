package trainer

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/arena"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/rl"
	"github.com/loadline/loadline/internal/sim"
)

// WorldConfig is what a teacher practises on.
type WorldConfig struct {
	App      *loadline.App
	Load     sim.Arrivals
	Duration time.Duration  // of the load
	Almanac  *arena.Almanac // what is forecast when; nil = nothing

	Shape  drpc.Shape
	Period time.Duration // of the teacher's decisions
	Beat   time.Duration // between scrapes, and of students
	Steps  int           // of an episode
	Scale  drpc.Steps
	Reward drpc.Reward
	Shares *formulation.Shares // that response times are judged by; nil = in proportion
}

// World is an arena as an environment: the state of all services and machines,
// three actions of each service, one reward.
type World struct {
	*arena.Arena
	config WorldConfig
	eyes   *drpc.Eyes
	scaler *drpc.Scaler

	locals   []drpc.Local
	proposal loadline.Proposal
	worth    drpc.Worth
}

// NewWorld checks that there is something to practise on.
func NewWorld(config WorldConfig) (*World, error) {
	if config.Beat < time.Second || config.Period%config.Beat != 0 {
		return nil, fmt.Errorf("school: a period of %v in beats of %v, must be whole beats of at least 1s", config.Period, config.Beat)
	}
	needs := drpc.NeedsOf(config.Period, time.Second)
	needs.Scrape = min(needs.Scrape, config.Beat)
	w := &World{config: config, scaler: drpc.NewScaler(config.App, config.Scale), locals: make([]drpc.Local, len(config.App.Services))}
	var err error
	if w.Arena, err = arena.New(arena.Config{
		App: config.App, Load: config.Load, Duration: config.Duration, Almanac: config.Almanac, Needs: needs, Steps: config.Steps, Resize: arena.AnySize,
	}); err != nil {
		return nil, err
	}
	if w.eyes, err = drpc.NewEyes(config.App); err != nil {
		return nil, err
	}
	w.eyes.Judge(config.Shares)
	return w, nil
}

// Parts that a teacher's networks may share.
func (w *World) Parts() int { return w.eyes.Parts(w.config.Shape) }

// Spaces implements rl.Env.
func (w *World) Spaces() rl.Spaces {
	return rl.Spaces{Observation: w.eyes.Width(w.config.Shape), Dimensions: drpc.Axes * len(w.config.App.Services)}
}

// Reset implements rl.Env.
func (w *World) Reset(rng *rand.Rand, observation []float32) {
	w.Begin(rng, arena.Nobody)
	clear(w.locals)
	w.worth = drpc.Worth{}
	w.look()
	w.fill(observation)
}

// Step implements rl.Env. The action becomes what was applied of it.
func (w *World) Step(action *rl.Action, observation []float32) rl.Result {
	s := w.Situation()
	w.scaler.Pressed = drpc.Pressed(s.App, s.Now())
	w.proposal.Services = w.proposal.Services[:0]
	for i, told := range s.InFlight {
		of := action.Values[i*drpc.Axes:][:drpc.Axes]
		setting, done := w.scaler.Scale(i, told, drpc.MemoryOf(&s.Now().Services[i]), drpc.Action(of))
		copy(of, done[:])
		if setting = told.Changes(setting); !setting.Empty() {
			w.proposal.Services = append(w.proposal.Services, loadline.ServiceProposal{Service: i, Setting: setting})
		}
	}
	w.Act(w.proposal)
	w.look()
	w.fill(observation)
	return rl.Result{Reward: w.worth.Reward, Truncated: w.Over()}
}

func (w *World) fill(observation []float32) {
	w.eyes.Whole(w.config.Shape, w.Situation(), w.locals, observation[:0])
}

// look sees what is measured now. Where something is absent, what was seen last
// stands: whoever is at work would leave that service as it is.
func (w *World) look() {
	s := w.Situation()
	for i := range w.locals {
		var seen drpc.Local
		if w.eyes.Local(s, i, &seen) == "" {
			w.locals[i] = seen
		}
	}
	if worth, known := w.config.Reward.Of(s.App, s.Now()); known {
		w.worth = worth
	}
}

// beat lets a policy's proposal be carried out, and a beat pass.
func (w *World) beat(p loadline.Proposal, delay time.Duration) {
	w.Beat(p, w.config.Beat, delay)
	w.look()
}

// Worth of the last step.
func (w *World) Worth() drpc.Worth { return w.worth }

// Locals are what the students see now; not a copy.
func (w *World) Locals() []drpc.Local { return w.locals }
