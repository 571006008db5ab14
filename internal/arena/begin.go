package arena

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/fluid"
)

// Nobody is to blame.
const Nobody = -1

// tight is how often a service begins with too little. There are many services, and
// one is enough to make users wait: were it more often, there would be no episode in
// which anything can be learned of the others.
const tight = 0.03

// cpuNoise is the relative deviation of CPU readings.
const cpuNoise = 0.05

// Begin an episode. A culprit, if there is one, gets too little for its load, and
// everybody else enough.
func (a *Arena) Begin(rng *rand.Rand, culprit int) {
	latest := a.config.Duration - a.episode()
	a.start = time.Duration(rng.Int64N(int64(latest) + 1)).Truncate(time.Second)
	a.services = append(a.services[:0], a.config.App.Services...)
	app := *a.config.App
	app.Services = slices.Clip(a.services)
	a.app = &app
	for i := range app.Services {
		if a.config.Resize != nil {
			a.config.Resize(rng, i, &app.Services[i])
		}
		full := 0.15 + 0.55*rng.Float64()
		switch {
		case i == culprit:
			full = 1.05 + 0.45*rng.Float64()
		case culprit == Nobody && rng.Float64() < tight:
			full = 0.8 + 0.4*rng.Float64()
		}
		a.fill(i, full, i == culprit)
	}
	metrics := sim.MetricsFor(a.config.Needs)
	metrics.CPUNoise = cpuNoise
	a.chance = rand.New(rand.NewPCG(rng.Uint64(), rng.Uint64()))
	a.cluster = sim.NewCluster(a.app, a.engine(rng.Uint64()), metrics, rng.Uint64())
	a.spare, a.window = append(a.spare, a.window...), a.window[:0]
	a.taken = 0
	a.wait(a.config.Needs.Window)
	a.look()
}

// engine of an episode. Resizes take as long as they do on the mean: the engine stops
// wherever something happens, and dozens of replicas that are resized each at an
// instant of its own would cost more than all the rest.
func (a *Arena) engine(seed uint64) sim.Engine {
	e := fluid.New(sim.Config{
		App: a.app, Load: sim.From(a.config.Load, a.start), Seed: seed, ResizeDelay: loadline.Dist{Mean: 800 * time.Millisecond},
	}, fluidStep)
	e.AddNoise()
	return e
}

// fill gives a service so many replicas that it begins about as full as that. Where
// one replica is too many, a culprit's is made smaller instead.
func (a *Arena) fill(service int, full float64, culprit bool) {
	s, g := &a.app.Services[service], &a.ground.Services[service]
	rate := 0.0
	for k, visits := range g.Visits {
		if visits > 0 {
			users, _ := a.config.Load.Rate(k, a.start+a.config.Needs.Window)
			rate += visits * users
		}
	}
	capacity := s.Size.CPULimit
	if capacity == 0 {
		capacity = max(s.Size.CPURequest, 1)
	}
	n := int(math.Ceil(rate * g.CPU / capacity / full))
	s.Replicas = min(max(n, 1, s.Bounds.MinReplicas), max(s.Bounds.MaxReplicas, 1))
	if culprit && s.Size.CPULimit > 0 {
		smaller := max(rate*g.CPU/full/float64(s.Replicas), s.Bounds.MinCPU, 0.001)
		s.Size.CPULimit = min(smaller, s.Size.CPULimit)
		s.Size.CPURequest = min(s.Size.CPURequest, s.Size.CPULimit)
	}
}
