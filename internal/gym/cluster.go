package gym

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/rl"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/fluid"
)

// ClusterConfig is how a simulated cluster is practised on.
type ClusterConfig struct {
	Problem *formulation.Problem
	Places  []Place
	Steps   int // of an episode

	ResizeRestarts bool    // a changed size restarts the replica
	CPUNoise       float64 // relative deviation of CPU readings, so that nothing is learned by heart
	MetricsLoss    float64 // share of scrapes that are lost
	StartupFactor  float64 // on start-up times; 0 = 1
}

// Cluster is an environment of one service at a time in the fluid engine. Each
// episode begins at a random instant of the load of a random place, with a random
// number of replicas.
type Cluster struct {
	config  ClusterConfig
	grounds []*formulation.Ground // by place

	place       *Place
	ground      *formulation.Ground
	app         *loadline.App // of the episode: the place's with other replicas
	services    []loadline.Service
	cluster     *sim.Cluster
	window      []loadline.Observation
	allocation  []loadline.Allocation
	features    []float32
	steps       int
	needs       loadline.Needs
	plan        loadline.Plan
	lastFeature []float32
}

// fluidStep is how far the engine goes at once.
const fluidStep = 5 * time.Second

// NewCluster checks that there is something to learn on.
func NewCluster(config ClusterConfig) (*Cluster, error) {
	if len(config.Places) == 0 {
		return nil, errors.New("gym: there is no service to practise on")
	}
	if config.Steps < 1 {
		return nil, fmt.Errorf("gym: episodes of %d steps, must be at least 1", config.Steps)
	}
	c := &Cluster{config: config, needs: config.Problem.Needs()}
	for _, p := range config.Places {
		if p.Duration < c.episode() {
			return nil, fmt.Errorf("gym: the load of %s lasts %v, an episode %v; give a longer history or shorter episodes", p.Service, p.Duration, c.episode())
		}
		c.grounds = append(c.grounds, formulation.NewGround(p.App))
	}
	return c, nil
}

// episode is how long one lasts, with the look back before its first decision.
func (c *Cluster) episode() time.Duration {
	return time.Duration(c.config.Steps)*c.needs.Period + c.lookBack()
}

func (c *Cluster) lookBack() time.Duration { return max(c.needs.Window, 2*c.needs.Period) }

// Spaces implements rl.Env.
func (c *Cluster) Spaces() rl.Spaces { return c.config.Problem.Spaces() }

// Reset implements rl.Env.
func (c *Cluster) Reset(rng *rand.Rand, observation []float32) {
	at := rng.IntN(len(c.config.Places))
	place := &c.config.Places[at]
	c.place = place
	c.ground = c.grounds[at]
	latest := place.Duration - c.episode()
	start := time.Duration(rng.Int64N(int64(latest) + 1)).Truncate(time.Second)
	load := sim.From(place.Load, start)

	c.services = append(c.services[:0], place.App.Services...)
	c.services[0].Replicas = c.someReplicas(rng, load)
	if c.config.Problem.Form().Name == "serverless-vertical" {
		c.services[0].Size = someSize(rng, &c.services[0])
	}
	app := *place.App
	app.Services = c.services
	c.app = &app
	engine := fluid.New(sim.Config{
		App: c.app, Load: load, Seed: rng.Uint64(), ResizeRestarts: c.config.ResizeRestarts, StartupFactor: c.config.StartupFactor,
	}, fluidStep)
	metrics := sim.MetricsFor(c.needs)
	metrics.CPUNoise, metrics.Loss = c.config.CPUNoise, c.config.MetricsLoss
	c.cluster = sim.NewCluster(c.app, engine, metrics, rng.Uint64())
	c.window = c.window[:0]
	c.steps = 0
	c.wait(c.lookBack())
	c.observe()
	c.see(observation)
}

// someReplicas is from half to twice of what the load needs when it begins.
func (c *Cluster) someReplicas(rng *rand.Rand, load sim.Arrivals) int {
	s := &c.services[0]
	rate, _ := load.Rate(0, 0)
	capacity := s.Size.CPULimit
	if capacity == 0 {
		capacity = max(s.Size.CPURequest, 1)
	}
	needed := rate * c.ground.Services[0].CPU / capacity
	n := int(math.Ceil(needed * (0.8 + 2*rng.Float64())))
	return min(max(n, 1, s.Bounds.MinReplicas), s.Bounds.MaxReplicas)
}

// someSize is anywhere within the bounds, evenly by orders of magnitude.
func someSize(rng *rand.Rand, s *loadline.Service) loadline.Size {
	size := s.Size
	low, high := s.Bounds.MinCPU, s.Bounds.MaxCPU
	if low > 0 && high > low {
		cpu := math.Round(1000*low*math.Pow(high/low, rng.Float64())) / 1000
		size.CPURequest, size.CPULimit = cpu, cpu
	}
	return size
}

// Step implements rl.Env: the decision takes effect after its delay, and the
// step lasts a period.
func (c *Cluster) Step(action *rl.Action, observation []float32) rl.Result {
	problem := c.config.Problem
	situation := c.situation()
	told := c.allocation[0]
	setting := told.Changes(problem.Setting(c.ground, situation, 0, action.Choice))
	c.wait(c.needs.Delay)
	if !setting.Empty() {
		c.plan.Services = append(c.plan.Services[:0], loadline.ServicePlan{Service: 0, Setting: setting})
		// Applying to a simulated cluster fails only when the context is done.
		_ = c.cluster.Apply(context.Background(), c.plan)
	}
	c.wait(c.needs.Period - c.needs.Delay)
	now := told.With(setting)
	c.observe()
	c.steps++
	reward := problem.Reward(c.ground, c.situation(), 0, formulation.Paid{Replicas: float64(now.Replicas), CPU: now.Size.CPURequest, Memory: float64(now.Size.MemoryRequest), Changed: setting.Replicas.Set, Reference: c.place.Reference})
	c.see(observation)
	return rl.Result{Reward: reward, Truncated: c.steps >= c.config.Steps}
}

func (c *Cluster) wait(d time.Duration) {
	_ = c.cluster.WaitUntil(context.Background(), c.cluster.Now().Add(d))
}

// observe adds to the window. The observation that falls out gives its memory to
// the new one.
func (c *Cluster) observe() {
	keep := max(c.needs.Keep, 1)
	switch {
	case len(c.window) < keep && len(c.window) < cap(c.window):
		c.window = c.window[:len(c.window)+1]
	case len(c.window) < keep:
		c.window = append(c.window, loadline.Observation{})
	default:
		oldest := c.window[0]
		copy(c.window, c.window[1:])
		c.window[keep-1] = oldest
	}
	_ = c.cluster.Observe(context.Background(), &c.window[len(c.window)-1])
	c.allocation = c.cluster.Allocation(c.allocation[:0])
}

func (c *Cluster) situation() loadline.Situation {
	return loadline.Situation{App: c.app, Window: c.window, Allocation: c.allocation, InFlight: c.allocation}
}

// see fills in the features. Where one is absent, the last ones stand: a policy
// at work would leave the service as it is then.
func (c *Cluster) see(observation []float32) {
	var absent string
	c.features, absent = c.config.Problem.See(c.ground, c.situation(), 0, c.features[:0])
	if absent == "" {
		c.lastFeature = append(c.lastFeature[:0], c.features...)
	}
	clear(observation)
	copy(observation, c.lastFeature)
}
