package arena

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/sim"
)

// Config is what is practised on, and by whom.
type Config struct {
	App      *loadline.App
	Load     sim.Arrivals
	Duration time.Duration // of the load

	Needs   loadline.Needs // of whoever decides
	Steps   int            // of an episode
	Resize  Resize         // sizes that an episode begins with; nil = as the application says
	Almanac *Almanac       // what is forecast when; nil = nothing
	Users   bool           // users' response times are as uncertain as services' are
}

// Resize gives a service of an episode another size.
type Resize func(rng *rand.Rand, service int, s *loadline.Service)

// fluidStep is how far the engine goes at once.
const fluidStep = 5 * time.Second

// Arena is one episode after the other. It is for one goroutine.
type Arena struct {
	config Config
	ground *formulation.Ground

	app      *loadline.App // of the episode: with other replicas and sizes
	services []loadline.Service
	start    time.Duration // of the episode in the load
	cluster  *sim.Cluster
	window   []loadline.Observation
	spare    []loadline.Observation
	told     []loadline.Allocation
	forecast []loadline.Forecast
	plan     loadline.Plan
	taken    int        // steps
	chance   *rand.Rand // of the episode
}

// New checks that there is something to practise on. Begin comes next.
func New(config Config) (*Arena, error) {
	a := &Arena{config: config, app: config.App, ground: formulation.NewGround(config.App), forecast: make([]loadline.Forecast, len(config.App.Services))}
	var faults []error
	if config.Steps < 1 {
		faults = append(faults, fmt.Errorf("arena: episodes of %d steps, must be at least 1", config.Steps))
	}
	if n := config.Needs; n.Period < 2*time.Second || n.Delay < 0 || n.Delay >= n.Period {
		faults = append(faults, fmt.Errorf("arena: a period of %v with a delay of %v, must be at least 2s and longer than the delay", n.Period, n.Delay))
	}
	if config.Duration < a.episode() {
		faults = append(faults, fmt.Errorf("arena: the load lasts %v, an episode %v: give a longer workload or shorter episodes", config.Duration, a.episode()))
	}
	return a, errors.Join(faults...)
}

// episode is how long one lasts.
func (a *Arena) episode() time.Duration {
	return a.config.Needs.Window + time.Duration(a.config.Steps)*a.config.Needs.Period
}

// Lasting makes episodes longer, as long as that or as the load allows, until undone.
func (a *Arena) Lasting(steps int) (undo func()) {
	usual := a.config.Steps
	most := int((a.config.Duration - a.config.Needs.Window) / a.config.Needs.Period)
	a.config.Steps = max(usual, min(steps, most))
	return func() { a.config.Steps = usual }
}

// Briefly makes episodes as short as that, until undone.
func (a *Arena) Briefly(steps int) (undo func()) {
	usual := a.config.Steps
	a.config.Steps = min(usual, steps)
	return func() { a.config.Steps = usual }
}

// Act takes a proposal, as the loop would: it takes effect after its delay, and the
// step lasts a period.
func (a *Arena) Act(p loadline.Proposal) {
	a.Beat(p, a.config.Needs.Period, a.config.Needs.Delay)
	a.Count()
}

// Beat is the same for a time of its own, and no step by itself.
func (a *Arena) Beat(p loadline.Proposal, beat, delay time.Duration) {
	a.plan.Services = a.plan.Services[:0]
	for _, s := range p.Services {
		a.plan.Services = append(a.plan.Services, loadline.ServicePlan{Service: s.Service, Setting: s.Setting})
	}
	a.wait(delay)
	if len(a.plan.Services) > 0 {
		_ = a.cluster.Apply(context.Background(), a.plan) // fails only when the context is done
	}
	a.wait(beat - delay)
	a.look()
}

// Count a step that was made of beats.
func (a *Arena) Count() { a.taken++ }

// Over says whether the episode is.
func (a *Arena) Over() bool { return a.taken >= a.config.Steps }

// Taken is how many steps there were.
func (a *Arena) Taken() int { return a.taken }

// Now is the episode's time.
func (a *Arena) Now() time.Time { return a.cluster.Now() }

// App of the episode; before the first, as the application says.
func (a *Arena) App() *loadline.App { return a.app }

// Ground of the application that is practised on.
func (a *Arena) Ground() *formulation.Ground { return a.ground }

// Needs of whoever decides.
func (a *Arena) Needs() loadline.Needs { return a.config.Needs }

// Situation is valid until the next beat.
func (a *Arena) Situation() loadline.Situation {
	s := loadline.Situation{App: a.app, Window: a.window, Allocation: a.told, InFlight: a.told}
	if a.config.Almanac != nil {
		s.Forecast = a.forecast
	}
	return s
}

func (a *Arena) wait(d time.Duration) {
	_ = a.cluster.WaitUntil(context.Background(), a.cluster.Now().Add(d))
}

// look takes what is measured now into the window; the oldest makes room for it.
func (a *Arena) look() {
	var o loadline.Observation
	switch n := len(a.spare); {
	case len(a.window) >= max(a.config.Needs.Keep, 1):
		o = a.window[0]
		copy(a.window, a.window[1:])
		a.window = a.window[:len(a.window)-1]
	case n > 0:
		o, a.spare = a.spare[n-1], a.spare[:n-1]
	}
	_ = a.cluster.Observe(context.Background(), &o)
	a.blur(&o)
	a.window = append(a.window, o)
	a.told = a.cluster.Allocation(a.told[:0])
	if a.config.Almanac != nil {
		a.config.Almanac.fill(a.start+sim.Since(a.cluster.Now()), a.cluster.Now(), a.forecast)
	}
}
