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
	"github.com/loadline/loadline/internal/loop"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/fluid"
)

// ArenaConfig configures the episodes of an Arena.
type ArenaConfig struct {
	Scenario

	Needs     loadline.Needs // of the policy that decides
	Steps     int            // of an episode
	LookBack  time.Duration  // simulated before the first decision
	Resize    Resize         // initial sizes of an episode; nil = the application's
	Forecasts *ForecastTable // nil = no forecasts
	Splitter  loop.Splitter  // of the SLO; nil = it is not split
	Noise     Noise

	// Guards makes the guards of each episode, which may have a memory; nil = none. An
	// environment must learn from the plan that they leave: see Propose.
	Guards func() []loop.Guard

	ResizeDelay    loadline.Dist // zero = the engine's default
	ResizeRestarts bool          // resizing restarts the replica
	StartupFactor  float64       // on start-up times; 0 = 1
}

// WholeApplication is the arena of a policy that decides for all services. A resize
// always takes its mean time: the engine stops at every event, and resizing dozens of
// replicas at different instants would dominate the cost of a step.
func WholeApplication(s Scenario, needs loadline.Needs, steps int) ArenaConfig {
	return ArenaConfig{
		Scenario: s, Needs: needs, Steps: steps, LookBack: needs.Window, Noise: Noise{CPU: 0.05, Latency: true},
		ResizeDelay: loadline.Dist{Mean: 800 * time.Millisecond},
	}
}

// fluidStep is the longest step of the engine.
const fluidStep = 5 * time.Second

// Arena simulates one episode after the other: the loop runs a policy whose
// proposals are an agent's actions. It is for one goroutine.
type Arena struct {
	config   ArenaConfig
	topology *formulation.Topology

	app      *loadline.App // of the episode, with its initial replicas and sizes
	services []loadline.Service
	start    time.Duration // offset of the episode in the load
	loop     loop.Loop     // on the episode's cluster
	pass     *loop.Pass    // the present one: begun, and finished by the next proposal
	agent    agent
	steps    int        // taken in this episode
	rng      *rand.Rand // of the episode's noise
}

// agent is the policy of an arena's loop. It proposes what was chosen outside of
// the loop, or what another policy decides.
type agent struct {
	needs    loadline.Needs
	proposal loadline.Proposal
	policy   loadline.Policy // instead of the proposal; nil = none
}

// Name implements loadline.Policy.
func (*agent) Name() string { return "agent" }

// Needs implements loadline.Policy.
func (g *agent) Needs() loadline.Needs { return g.needs }

// Decide implements loadline.Policy.
func (g *agent) Decide(now time.Time, s loadline.Situation) (loadline.Proposal, error) {
	if g.policy != nil {
		return g.policy.Decide(now, s)
	}
	return g.proposal, nil
}

// NewArena checks the configuration. An episode starts with Begin.
func NewArena(config ArenaConfig) (*Arena, error) {
	a := &Arena{config: config, app: config.App, topology: formulation.NewTopology(config.App), agent: agent{needs: config.Needs}}
	a.loop = loop.Loop{Policy: &a.agent, Splitter: config.Splitter}
	if config.Noise.Latency {
		a.loop.Filter = a.blur
	}
	if config.Forecasts != nil {
		a.loop.Forecaster = &episodeForecasts{arena: a, forecasts: make([]loadline.Forecast, len(config.App.Services))}
	}
	var faults []error
	if config.Steps < 1 {
		faults = append(faults, fmt.Errorf("arena: episodes of %d steps, must be at least 1", config.Steps))
	}
	if n := config.Needs; n.Period < time.Second || n.Delay < 0 {
		faults = append(faults, fmt.Errorf("arena: a period of %v with a delay of %v, must be at least 1s and 0s", n.Period, n.Delay))
	}
	if config.Duration < a.episode() {
		faults = append(faults, fmt.Errorf("arena: the load of %s lasts %v, an episode %v: give a longer load or shorter episodes",
			config.App.Name, config.Duration, a.episode()))
	}
	if err := fluid.Check(config.App); err != nil {
		faults = append(faults, fmt.Errorf("arena: %w", err))
	}
	return a, errors.Join(faults...)
}

// episode is the duration of an episode, including LookBack.
func (a *Arena) episode() time.Duration {
	return a.config.LookBack + time.Duration(a.config.Steps)*a.config.Needs.Period
}

// Lengthen sets the number of steps of an episode, limited by the load, until undo is
// called.
func (a *Arena) Lengthen(steps int) (undo func()) {
	usual := a.config.Steps
	most := int((a.config.Duration - a.config.LookBack) / a.config.Needs.Period)
	a.config.Steps = max(usual, min(steps, most))
	return func() { a.config.Steps = usual }
}

// Shorten limits the number of steps of an episode until undo is called.
func (a *Arena) Shorten(steps int) (undo func()) {
	usual := a.config.Steps
	a.config.Steps = min(usual, steps)
	return func() { a.config.Steps = usual }
}

// begin starts an episode at a random instant of the load; initial sets the initial
// replicas and size of each service.
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
	a.enter(sim.NewCluster(a.app, engine, metrics, rng.Uint64()))
}

// enter simulates LookBack on the episode's cluster and begins the first pass.
func (a *Arena) enter(cluster *sim.Cluster) {
	a.loop.Reset()
	a.loop.App, a.loop.Cluster, a.loop.Clock, a.loop.Guards = a.app, cluster, cluster, nil
	if a.config.Guards != nil {
		a.loop.Guards = a.config.Guards()
	}
	a.steps = 0
	a.wait(a.Now().Add(a.config.LookBack))
	a.observe()
}

// Act makes one step: it proposes and advances by the policy's period.
func (a *Arena) Act(p loadline.Proposal) {
	a.Propose(p)
	a.Advance(a.config.Needs.Period)
	a.CountStep()
}

// Propose decides in the present situation. The plan of the decision is what the
// guards let through; it is applied after the policy's delay. The decision and the
// situation are valid until Advance.
func (a *Arena) Propose(p loadline.Proposal) *loadline.Decision {
	a.agent.proposal, a.agent.policy = p, nil
	return a.finish()
}

// Follow is Propose for what a policy decides: one that cannot decide holds. The
// forecasts and the split that it sees are the arena's.
func (a *Arena) Follow(p loadline.Policy) *loadline.Decision {
	a.agent.policy = p
	return a.finish()
}

func (a *Arena) finish() *loadline.Decision {
	_ = a.loop.Finish(context.Background()) // fails only when the context is done
	return &a.pass.Decision
}

// Advance simulates for some time after a proposal and observes. It does not count
// as a step.
func (a *Arena) Advance(length time.Duration) {
	now := a.Now()
	// The engine draws the arrivals of each of its steps. It stops after the delay with and
	// without a plan, so that whether there is one does not change the arrivals.
	a.wait(now.Add(min(a.config.Needs.Delay, length)))
	a.wait(now.Add(length))
	a.observe()
}

func (a *Arena) wait(until time.Time) {
	_ = a.loop.WaitUntil(context.Background(), until) // fails only when the context is done
}

// observe begins the next pass.
func (a *Arena) observe() {
	a.pass, _ = a.loop.Begin(context.Background()) // fails only when the context is done
}

// CountStep counts a step that was made with Propose or Follow, and Advance.
func (a *Arena) CountStep() { a.steps++ }

// Over reports whether the episode has ended.
func (a *Arena) Over() bool { return a.steps >= a.config.Steps }

// StepsTaken is the number of steps in this episode so far.
func (a *Arena) StepsTaken() int { return a.steps }

// Now is the simulated time.
func (a *Arena) Now() time.Time { return a.loop.Clock.Now() }

// App is the episode's application; before the first episode, the scenario's.
func (a *Arena) App() *loadline.App { return a.app }

// Topology is that of the scenario's application.
func (a *Arena) Topology() *formulation.Topology { return a.topology }

// Needs are those of the policy that decides.
func (a *Arena) Needs() loadline.Needs { return a.config.Needs }

// Situation is the one to decide on. It is valid until Advance.
func (a *Arena) Situation() loadline.Situation { return a.pass.Situation }
