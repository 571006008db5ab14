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

// ArenaConfig is what episodes are made of.
type ArenaConfig struct {
	Scenario

	Needs     loadline.Needs // of the policy that decides
	Steps     int            // of an episode
	LookBack  time.Duration  // simulated before the first decision
	Resize    Resize         // sizes that an episode begins with; nil = as the application says
	Forecasts *ForecastTable // nil = no forecasts
	Splitter  loop.Splitter  // of the SLO; nil = it is not split
	Noise     Noise

	// Guards makes the guards of each episode, which may have a memory; nil = none. An
	// environment must learn from the plan that they leave: see Propose.
	Guards func() []loop.Guard

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

// Arena simulates one episode after the other: the loop runs a policy whose
// proposals are an agent's actions. It is for one goroutine.
type Arena struct {
	config   ArenaConfig
	topology *formulation.Topology

	app      *loadline.App // of the episode: with other replicas and sizes
	services []loadline.Service
	start    time.Duration // of the episode in the load
	loop     loop.Loop     // on the episode's cluster
	pass     *loop.Pass    // begun, and finished by the next proposal
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

// NewArena checks that the scenario is long enough. Begin comes next.
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
	a.enter(sim.NewCluster(a.app, engine, metrics, rng.Uint64()))
}

// enter begins the episode's first pass after the look back.
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

// Act proposes, and a step of the policy's period passes.
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
	// Engines draw noise whenever they stop. They stop here with and without a plan, so
	// that an action does not change the noise that follows it.
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

// CountStep counts a step that was made of ticks.
func (a *Arena) CountStep() { a.steps++ }

// Over says whether the episode is.
func (a *Arena) Over() bool { return a.steps >= a.config.Steps }

// StepsTaken in this episode.
func (a *Arena) StepsTaken() int { return a.steps }

// Now is the episode's time.
func (a *Arena) Now() time.Time { return a.loop.Clock.Now() }

// App of the episode; before the first, that of the scenario.
func (a *Arena) App() *loadline.App { return a.app }

// Topology of the scenario's application.
func (a *Arena) Topology() *formulation.Topology { return a.topology }

// Needs of the policy that decides.
func (a *Arena) Needs() loadline.Needs { return a.config.Needs }

// Situation is valid until Advance.
func (a *Arena) Situation() loadline.Situation { return a.pass.Situation }
