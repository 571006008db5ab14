package school

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/drpc"
	"github.com/loadline/loadline/internal/sim"
)

// begin starts an episode.
func (w *World) begin(rng *rand.Rand) {
	latest := w.config.Duration - w.episode()
	w.start = time.Duration(rng.Int64N(int64(latest) + 1)).Truncate(time.Second)
	load := from{w.config.Load, w.start}
	w.copyServices()
	for i := range w.services {
		w.someSize(rng, &w.services[i])
		w.someReplicas(rng, i)
	}
	metrics := sim.MetricsFor(w.needs)
	metrics.CPUNoise = cpuNoise
	w.chance = rand.New(rand.NewPCG(rng.Uint64(), rng.Uint64()))
	w.cluster = sim.NewCluster(w.app, w.engineOf(load, rng.Uint64()), metrics, rng.Uint64())
	clear(w.locals)
	w.steps, w.worth = 0, drpc.Worth{}
	w.wait(w.lookBack())
	w.look()
}

// cpuNoise is the relative deviation of CPU readings.
const cpuNoise = 0.05

// tight is how often a service begins with too little. There are many services
// and one is enough to make users wait: were it more often, there would be no
// episode in which anything can be learned of the others.
const tight = 0.03

// someReplicas are so many that they begin between a little and well used.
func (w *World) someReplicas(rng *rand.Rand, service int) {
	s, g := &w.services[service], &w.eyes.Ground.Services[service]
	rate := 0.0
	for k, visits := range g.Visits {
		if visits > 0 {
			users, _ := w.config.Load.Rate(k, w.start+w.lookBack())
			rate += visits * users
		}
	}
	capacity := s.Size.CPULimit
	if capacity == 0 {
		capacity = max(s.Size.CPURequest, 1)
	}
	full := 0.15 + 0.55*rng.Float64()
	if rng.Float64() < tight {
		full = 0.8 + 0.4*rng.Float64()
	}
	n := int(math.Ceil(rate * g.CPU / capacity / full))
	s.Replicas = min(max(n, 1, s.Bounds.MinReplicas), max(s.Bounds.MaxReplicas, 1))
}

// someSize is from half to twice of what the application says, by whole steps, so
// that an agent sees what smaller and larger replicas do.
func (w *World) someSize(rng *rand.Rand, s *loadline.Service) {
	at := loadline.Allocation{Replicas: s.Replicas, Size: s.Size}
	index := w.config.App.ServiceIndex(s.Name)
	var used loadline.Sample
	used.Value, used.At = float64(s.Memory.Base)*1.2, sim.Epoch
	for range 3 {
		var a drpc.Action
		for axis := range drpc.AxisHorizontal {
			a[axis] = float32(rng.IntN(3) - 1)
		}
		setting, _ := w.scaler.Scale(index, at, used, a)
		at = at.With(setting)
	}
	s.Size = at.Size
}

// from is a load that begins later.
type from struct {
	load  sim.Arrivals
	start time.Duration
}

func (f from) Rate(kind int, t time.Duration) (perSecond float64, until time.Duration) {
	perSecond, until = f.load.Rate(kind, t+f.start)
	if until != sim.Never {
		until -= f.start
	}
	return perSecond, until
}
