package train

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/fluid"
)

// ArenaConfig is what episodes are made of.
type ArenaConfig struct {
	Scenario

	Needs     loadline.Needs // of the policy that decides
	Steps     int            // of an episode
	LookBack  time.Duration  // simulated before the first decision
	Resize    Resize         // sizes that an episode begins with; nil = as the application says
	Forecasts *ForecastTable // nil = no forecasts
	Noise     Noise

	ResizeDelay    loadline.Dist // zero = the engine's own
	ResizeRestarts bool          // a changed size restarts the replica
	StartupFactor  float64       // on start-up times; 0 = 1
}

// WholeApplication is the arena of a policy that decides for all services. A resize
// takes its mean time: the engine stops at every event, and dozens of replicas that
// are resized each at an instant of its own would cost more than all the rest.
func WholeApplication(s Scenario, needs loadline.Needs, steps int) ArenaConfig {
	return ArenaConfig{
		Scenario: s, Needs: needs, Steps: steps, LookBack: needs.Window, Noise: Noise{CPU: 0.05, Latency: true},
		ResizeDelay: loadline.Dist{Mean: 800 * time.Millisecond},
	}
}

// fluidStep is how far the engine advances at once.
const fluidStep = 5 * time.Second

// Arena simulates one episode after the other. It is for one goroutine.
type Arena struct {
	config   ArenaConfig
	topology *formulation.Topology

	app      *loadline.App // of the episode: with other replicas and sizes
	services []loadline.Service
	start    time.Duration // of the episode in the load
	cluster  *sim.Cluster
	window   []loadline.Observation
	spare    []loadline.Observation // their memory is used again
	desired  []loadline.Allocation
	forecast []loadline.Forecast
	plan     loadline.Plan
	steps    int        // taken in this episode
	rng      *rand.Rand // of the episode's noise
}

// NewArena checks that the scenario is long enough. Begin comes next.
func NewArena(config ArenaConfig) (*Arena, error) {
	a := &Arena{
		config: config, app: config.App, topology: formulation.NewTopology(config.App),
		forecast: make([]loadline.Forecast, len(config.App.Services)),
	}
	var faults []error
	if config.Steps < 1 {
		faults = append(faults, fmt.Errorf("arena: episodes of %d steps, must be at least 1", config.Steps))
	}
	if n := config.Needs; n.Period < time.Second || n.Delay < 0 || n.Delay > n.Period {
		faults = append(faults, fmt.Errorf("arena: a period of %v with a delay of %v, must be at least 1s and no shorter than the delay", n.Period, n.Delay))
	}
	if config.Duration < a.episode() {
		faults = append(faults, fmt.Errorf("arena: the load of %s lasts %v, an episode %v: give a longer load or shorter episodes",
			config.App.Name, config.Duration, a.episode()))
	}
	return a, errors.Join(faults...)
}

// episode is how long one lasts, with the look back before its first decision.
func (a *Arena) episode() time.Duration {
	return a.config.LookBack + time.Duration(a.config.Steps)*a.config.Needs.Period
}

// Lengthen makes episodes last so many steps, or as many as the load allows, until
// undone.
func (a *Arena) Lengthen(steps int) (undo func()) {
	usual := a.config.Steps
	most := int((a.config.Duration - a.config.LookBack) / a.config.Needs.Period)
	a.config.Steps = max(usual, min(steps, most))
	return func() { a.config.Steps = usual }
}

// Shorten makes episodes last at most so many steps, until undone.
func (a *Arena) Shorten(steps int) (undo func()) {
	usual := a.config.Steps
	a.config.Steps = min(usual, steps)
	return func() { a.config.Steps = usual }
}

// begin an episode at a random instant of the load; initial sets what each service
// begins with.
func (a *Arena) begin(rng *rand.Rand, initial func(service int)) {
	c := &a.config
	latest := c.Duration - a.episode()
	a.start = time.Duration(rng.Int64N(int64(latest) + 1)).Truncate(time.Second)
	a.services = append(a.services[:0], c.App.Services...)
	app := *c.App
	app.Services = slices.Clip(a.services)
	a.app = &app
	for i := range app.Services {
		initial(i)
	}
	metrics := sim.MetricsFor(c.Needs)
	metrics.CPUNoise, metrics.Loss = c.Noise.CPU, c.Noise.Loss
	if c.Noise.Latency {
		a.rng = rand.New(rand.NewPCG(rng.Uint64(), rng.Uint64()))
	}
	engine := fluid.New(sim.Config{
		App: a.app, Load: sim.From(c.Load, a.start), Seed: rng.Uint64(),
		ResizeDelay: c.ResizeDelay, ResizeRestarts: c.ResizeRestarts, StartupFactor: c.StartupFactor,
	}, fluidStep)
	if c.Noise.Latency {
		engine.AddNoise()
	}
	a.cluster = sim.NewCluster(a.app, engine, metrics, rng.Uint64())
	a.spare, a.window = append(a.spare, a.window...), a.window[:0]
	a.steps = 0
	a.wait(c.LookBack)
	a.observe()
}

// Act applies a proposal as the loop would: it takes effect after its delay, and the
// step lasts a period.
func (a *Arena) Act(p loadline.Proposal) {
	a.Tick(p, a.config.Needs.Period, a.config.Needs.Delay)
	a.CountStep()
}

// Tick applies a proposal and lets some time pass. It does not count as a step.
func (a *Arena) Tick(p loadline.Proposal, length, delay time.Duration) {
	a.plan.Services = a.plan.Services[:0]
	for _, s := range p.Services {
		a.plan.Services = append(a.plan.Services, loadline.ServicePlan{Service: s.Service, Setting: s.Setting})
	}
	a.wait(delay)
	if len(a.plan.Services) > 0 {
		_ = a.cluster.Apply(context.Background(), a.plan) // fails only when the context is done
	}
	a.wait(length - delay)
	a.observe()
}

// CountStep counts a step that was made of ticks.
func (a *Arena) CountStep() { a.steps++ }

// Over says whether the episode is.
func (a *Arena) Over() bool { return a.steps >= a.config.Steps }

// StepsTaken in this episode.
func (a *Arena) StepsTaken() int { return a.steps }

// Now is the episode's time.
func (a *Arena) Now() time.Time { return a.cluster.Now() }

// App of the episode; before the first, that of the scenario.
func (a *Arena) App() *loadline.App { return a.app }

// Topology of the scenario's application.
func (a *Arena) Topology() *formulation.Topology { return a.topology }

// Needs of the policy that decides.
func (a *Arena) Needs() loadline.Needs { return a.config.Needs }

// Situation is valid until the next tick.
func (a *Arena) Situation() loadline.Situation {
	s := loadline.Situation{App: a.app, Window: a.window, Allocation: a.desired, InFlight: a.desired}
	if a.config.Forecasts != nil {
		s.Forecast = a.forecast
	}
	return s
}

func (a *Arena) wait(d time.Duration) {
	_ = a.cluster.WaitUntil(context.Background(), a.cluster.Now().Add(d)) // fails only when the context is done
}

// observe adds what is measured now to the window. The observation that falls out
// gives its memory to the new one.
func (a *Arena) observe() {
	var o loadline.Observation
	switch n := len(a.spare); {
	case len(a.window) >= max(a.config.Needs.Keep, 1):
		o = a.window[0]
		copy(a.window, a.window[1:])
		a.window = a.window[:len(a.window)-1]
	case n > 0:
		o, a.spare = a.spare[n-1], a.spare[:n-1]
	}
	_ = a.cluster.Observe(context.Background(), &o) // fails only when the context is done
	a.blur(&o)
	a.window = append(a.window, o)
	a.desired = a.cluster.Allocation(a.desired[:0])
	if a.config.Forecasts != nil {
		a.config.Forecasts.fill(a.start+sim.Since(a.cluster.Now()), a.cluster.Now(), a.forecast)
	}
}
