package school

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/drpc"
	"github.com/loadline/loadline/internal/rl"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/fluid"
)

// WorldConfig is what a teacher practises on.
type WorldConfig struct {
	App      *loadline.App
	Load     sim.Arrivals
	Duration time.Duration // of the load
	Almanac  *Almanac      // what is forecast when; nil = nothing

	Shape  drpc.Shape
	Period time.Duration // of the teacher's decisions
	Beat   time.Duration // between scrapes, and of students
	Steps  int           // of an episode
	Scale  drpc.Steps
	Reward drpc.Reward
}

// fluidStep is how far the engine goes at once.
const fluidStep = 5 * time.Second

// World is a whole application in the fluid engine, as an environment: the state of
// all services and machines, three actions of each service, one reward. Each
// episode begins at a random instant of the load, with random replicas and sizes.
type World struct {
	config WorldConfig
	needs  loadline.Needs
	eyes   *drpc.Eyes
	scaler *drpc.Scaler

	app      *loadline.App // of the episode: with other replicas and sizes
	services []loadline.Service
	start    time.Duration // of the episode in the load
	cluster  *sim.Cluster
	window   [1]loadline.Observation
	told     []loadline.Allocation
	locals   []drpc.Local
	forecast []loadline.Forecast
	plan     loadline.Plan
	worth    drpc.Worth
	steps    int
	chance   *rand.Rand // of the episode
}

// NewWorld checks that there is something to practise on.
func NewWorld(config WorldConfig) (*World, error) {
	w := &World{config: config, needs: drpc.NeedsOf(config.Period, time.Second)}
	w.needs.Scrape = min(w.needs.Scrape, config.Beat)
	var faults []error
	if config.Steps < 1 {
		faults = append(faults, fmt.Errorf("school: episodes of %d steps, must be at least 1", config.Steps))
	}
	if config.Period < 2*time.Second || config.Beat < time.Second || config.Period%config.Beat != 0 {
		faults = append(faults, fmt.Errorf("school: a period of %v in beats of %v, must be whole beats of at least 1s", config.Period, config.Beat))
	}
	if config.Duration < w.episode() {
		faults = append(faults, fmt.Errorf("school: the load lasts %v, an episode %v: give a longer workload or shorter episodes", config.Duration, w.episode()))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	var err error
	if w.eyes, err = drpc.NewEyes(config.App); err != nil {
		return nil, err
	}
	w.scaler = drpc.NewScaler(config.App, config.Scale)
	w.locals = make([]drpc.Local, len(config.App.Services))
	w.forecast = make([]loadline.Forecast, len(config.App.Services))
	return w, nil
}

func (w *World) lookBack() time.Duration { return w.needs.Window }

// episode is how long one lasts.
func (w *World) episode() time.Duration {
	return w.lookBack() + time.Duration(w.config.Steps)*w.config.Period
}

// lasting makes episodes as long as that, or as the load allows, until undone.
func (w *World) lasting(steps int) (undo func()) {
	usual := w.config.Steps
	w.config.Steps = max(usual, min(steps, int((w.config.Duration-w.lookBack())/w.config.Period)))
	return func() { w.config.Steps = usual }
}

// Parts that a teacher's networks may share.
func (w *World) Parts() int { return w.eyes.Parts(w.config.Shape) }

// Spaces implements rl.Env.
func (w *World) Spaces() rl.Spaces {
	return rl.Spaces{Observation: w.eyes.Width(w.config.Shape), Dimensions: drpc.Axes * len(w.config.App.Services)}
}

// Reset implements rl.Env.
func (w *World) Reset(rng *rand.Rand, observation []float32) {
	w.begin(rng)
	w.fill(observation)
}

// Step implements rl.Env: what is decided takes effect after its delay, and the
// step lasts a period. The action becomes what was applied of it.
func (w *World) Step(action *rl.Action, observation []float32) rl.Result {
	w.plan.Services = w.plan.Services[:0]
	for i := range w.told {
		of := action.Values[i*drpc.Axes:][:drpc.Axes]
		setting, done := w.scaler.Scale(i, w.told[i], drpc.MemoryOf(&w.window[0].Services[i]), drpc.Action(of))
		copy(of, done[:])
		if setting = w.told[i].Changes(setting); !setting.Empty() {
			w.plan.Services = append(w.plan.Services, loadline.ServicePlan{Service: i, Setting: setting})
		}
	}
	w.wait(w.needs.Delay)
	w.apply()
	w.wait(w.config.Period - w.needs.Delay)
	w.look()
	w.steps++
	w.fill(observation)
	return rl.Result{Reward: w.worth.Reward, Truncated: w.over()}
}

func (w *World) over() bool { return w.steps >= w.config.Steps }

func (w *World) fill(observation []float32) {
	w.eyes.Whole(w.config.Shape, w.situation(), w.locals, observation[:0])
}

// apply hands the plan over. That fails only when the context is done.
func (w *World) apply() {
	if len(w.plan.Services) > 0 {
		_ = w.cluster.Apply(context.Background(), w.plan)
	}
}

func (w *World) wait(d time.Duration) {
	_ = w.cluster.WaitUntil(context.Background(), w.cluster.Now().Add(d))
}

// look sees what is measured now. Where something is absent, what was seen last
// stands: whoever is at work would leave that service as it is.
func (w *World) look() {
	_ = w.cluster.Observe(context.Background(), &w.window[0])
	w.blur()
	w.told = w.cluster.Allocation(w.told[:0])
	if w.config.Almanac != nil {
		w.config.Almanac.fill(w.start+sim.Since(w.cluster.Now()), w.cluster.Now(), w.forecast)
	}
	s := w.situation()
	for i := range w.locals {
		var seen drpc.Local
		if w.eyes.Local(s, i, &seen) == "" {
			w.locals[i] = seen
		}
	}
	if worth, known := w.config.Reward.Of(w.app, &w.window[0]); known {
		w.worth = worth
	}
}

func (w *World) situation() loadline.Situation {
	s := loadline.Situation{App: w.app, Window: w.window[:], Allocation: w.told, InFlight: w.told}
	if w.config.Almanac != nil {
		s.Forecast = w.forecast
	}
	return s
}

// act takes a proposal, as the loop would, and lets a beat pass.
func (w *World) act(p loadline.Proposal, beat, delay time.Duration) {
	w.plan.Services = w.plan.Services[:0]
	for _, s := range p.Services {
		w.plan.Services = append(w.plan.Services, loadline.ServicePlan{Service: s.Service, Setting: s.Setting})
	}
	w.wait(delay)
	w.apply()
	w.wait(beat - delay)
	w.look()
}

// Worth of the last step.
func (w *World) Worth() drpc.Worth { return w.worth }

// Locals are what the students see now; not a copy.
func (w *World) Locals() []drpc.Local { return w.locals }

// engineOf an episode. Resizes take as long as they do on the mean: the engine stops
// wherever something happens, and dozens of replicas that are resized each at an
// instant of its own would cost more than all the rest.
func (w *World) engineOf(load sim.Arrivals, seed uint64) sim.Engine {
	e := fluid.New(sim.Config{App: w.app, Load: load, Seed: seed, ResizeDelay: loadline.Dist{Mean: 800 * time.Millisecond}}, fluidStep)
	e.AddNoise()
	return e
}

// blur makes response times as uncertain as measured ones are: the 99th percentile of
// a few visits is chance, and whoever has never seen that takes it for need.
func (w *World) blur() {
	for i := range w.window[0].Services {
		s := &w.window[0].Services[i]
		visits := s.Rate.Or(0) * w.needs.Window.Seconds()
		s.Latency.P99.Value *= math.Exp(mostBlur / math.Sqrt(1+visits/fewVisits) * w.chance.NormFloat64())
	}
}

// How far the 99th percentile of hardly any visits is off, as the deviation of its
// logarithm, and how many visits are few.
const (
	mostBlur  = 0.8
	fewVisits = 30
)

// copyServices gives the episode services of its own.
func (w *World) copyServices() {
	w.services = append(w.services[:0], w.config.App.Services...)
	app := *w.config.App
	app.Services = slices.Clip(w.services)
	w.app = &app
}
