package practice

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/drpc"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/fluid"
)

// nobody is to blame.
const nobody = -1

// begin an episode. A culprit, if there is one, gets too little for its load, and
// everybody else enough.
func (w *world) begin(rng *rand.Rand, culprit int) {
	latest := w.subject.Duration - w.episode()
	w.start = time.Duration(rng.Int64N(int64(latest) + 1)).Truncate(time.Second)
	app := *w.subject.App
	app.Services = slices.Clone(app.Services)
	w.app = &app
	for i := range app.Services {
		s := &app.Services[i]
		if w.resizes {
			someSize(rng, s)
		}
		// One service in thirty begins with too little: there are many services, and one
		// is enough to make users wait.
		full := 0.15 + 0.55*rng.Float64()
		switch {
		case i == culprit:
			full = 1.05 + 0.45*rng.Float64()
		case culprit == nobody && rng.Float64() < 0.03:
			full = 0.8 + 0.4*rng.Float64()
		}
		w.someReplicas(i, full, i == culprit)
	}
	metrics := sim.MetricsFor(w.needs)
	metrics.CPUNoise = 0.05
	w.chance = rand.New(rand.NewPCG(rng.Uint64(), rng.Uint64()))
	engine := fluid.New(sim.Config{
		App: w.app, Load: from{w.subject.Load, w.start}, Seed: rng.Uint64(), ResizeDelay: loadline.Dist{Mean: 800 * time.Millisecond},
	}, fluidStep)
	engine.AddNoise()
	w.cluster = sim.NewCluster(w.app, engine, metrics, rng.Uint64())
	w.spare, w.window = append(w.spare, w.window...), w.window[:0]
	w.taken, w.worth = 0, drpc.Worth{}
	w.wait(w.needs.Window)
	w.look()
}

// someReplicas so that the service is about as full as that. Where one replica is
// too many, a culprit's is made smaller instead.
func (w *world) someReplicas(service int, full float64, culprit bool) {
	s, g := &w.app.Services[service], &w.ground.Services[service]
	rate := 0.0
	for k, visits := range g.Visits {
		if visits > 0 {
			users, _ := w.subject.Load.Rate(k, w.start+w.needs.Window)
			rate += visits * users
		}
	}
	capacity := s.Size.CPULimit
	if capacity == 0 {
		capacity = max(s.Size.CPURequest, 1)
	}
	n := rate * g.CPU / capacity / full
	s.Replicas = min(max(int(math.Ceil(n)), 1, s.Bounds.MinReplicas), max(s.Bounds.MaxReplicas, 1))
	if culprit && s.Size.CPULimit > 0 {
		smaller := max(rate*g.CPU/full/float64(s.Replicas), s.Bounds.MinCPU, 0.001)
		s.Size.CPULimit = min(smaller, s.Size.CPULimit)
		s.Size.CPURequest = min(s.Size.CPURequest, s.Size.CPULimit)
	}
}

// someSize is from half to twice of what the application says, so that an agent sees
// what smaller and larger replicas do.
func someSize(rng *rand.Rand, s *loadline.Service) {
	cpu, memory := math.Exp2(2*rng.Float64()-1), math.Exp2(2*rng.Float64()-1)
	b, size := s.Bounds, &s.Size
	if size.CPULimit > 0 {
		limit := max(size.CPULimit*cpu, b.MinCPU)
		if b.MaxCPU > 0 {
			limit = min(limit, b.MaxCPU)
		}
		size.CPURequest = min(max(size.CPURequest*limit/size.CPULimit, b.MinCPU), limit)
		size.CPULimit = limit
	}
	if size.MemoryLimit > 0 {
		limit := max(float64(size.MemoryLimit)*memory, float64(b.MinMemory), 1.2*float64(s.Memory.Base))
		if b.MaxMemory > 0 {
			limit = min(limit, float64(b.MaxMemory))
		}
		request := max(float64(size.MemoryRequest)*limit/float64(size.MemoryLimit), float64(b.MinMemory))
		size.MemoryLimit, size.MemoryRequest = int64(limit), int64(min(request, limit))
	}
}

// from is a load that begins later.
type from struct {
	load  sim.Arrivals
	start time.Duration
}

// Rate implements sim.Arrivals.
func (f from) Rate(kind int, t time.Duration) (perSecond float64, until time.Duration) {
	perSecond, until = f.load.Rate(kind, t+f.start)
	if until != sim.Never {
		until -= f.start
	}
	return perSecond, until
}
