// Package sim is the simulated cluster, as far as its two engines share it: the configuration
// of a run (Config), the interface of an engine (Engine), pod lifecycle (ControlPlane),
// exported metrics (Reading), the metrics system (Cluster), and the measurements of a run
// (Meter).
//
// The control plane is controlplane.go (pods), resize.go and podstart.go (their changes and
// starts), placement.go (the scheduler), nodes.go (nodes and neighbours), elastic.go (buying
// nodes), consolidate.go (removing them), pressure.go (node memory), loss.go (lost nodes) and
// bill.go.
//
// sim/event simulates every request and is the reference; sim/fluid advances a whole step in
// closed form and is used for training.
package sim

import (
	"math"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim/pool"
)

// Engine is a simulated cluster that can be advanced. Instants are nanoseconds
// since the start of the run.
type Engine interface {
	// AdvanceTo simulates until the given instant; going back is a no-op.
	AdvanceTo(t time.Duration)
	// Apply accepts a plan at the current instant.
	Apply(p loadline.Plan)
	// Disturb makes a disturbance happen at the current instant, whatever its At is.
	Disturb(d Disturbance)
	// Read fills r with what exporters expose now, reusing its slices.
	Read(r *Reading)
	// Meter is what has been measured so far.
	Meter() *Meter
	// Finish closes the accounts at the end of a run. Call it once.
	Finish()
	// ControlPlane holds the pods and the desired allocation of each service.
	ControlPlane() *ControlPlane
}

// Arrivals is the load: how many requests of each kind arrive.
type Arrivals interface {
	// Rate is the requests per second of a kind (index into App.Kinds) at t,
	// constant until the returned instant, which is after t.
	Rate(kind int, t time.Duration) (perSecond float64, until time.Duration)
}

// Live is a load that may change while a run goes on: an engine asks for a rate when it applies, and
// not ahead.
type Live interface {
	Arrivals
	Live()
}

// CPUModel is how a CPU limit is enforced.
type CPUModel int

const (
	// Quota is the kernel's bandwidth control: within each period of 100 ms a replica runs
	// unhindered until its quota is used up, and is then throttled until the period ends.
	Quota CPUModel = iota
	// Shared is an idealised limit: a speed, shared by the requests on the CPU, each at most at
	// one core.
	Shared
)

// QuotaPeriod is the kernel's default.
const QuotaPeriod = 100 * time.Millisecond

// MeterInterval is the interval over which usage is averaged before it is
// compared with the request for the cost: max(request, usage).
const MeterInterval = 15 * time.Second

// Config is the configuration of a run. The zero value of every field but App and Load is a
// usable default.
type Config struct {
	App  *loadline.App
	Load Arrivals
	Seed uint64
	CPU  CPUModel

	// WarmUp is excluded from the Meter's latency and SLO figures: requests that arrive before
	// it do not count. Cost is counted from the start.
	WarmUp time.Duration

	StartupFactor  float64       // on every sampled start-up; 0 = 1
	Grace          time.Duration // a draining pod is killed after it; 0 = 30 s
	ResizeDelay    loadline.Dist // from plan to effect of an in-place resize; zero = 0.8 s, CV 0.5
	ResizeRestarts bool          // a resize restarts the replica, as with resizePolicy RestartContainer
	// RecreateAfter is how long a resize may wait for room before the pod is evicted and created
	// anew, as by VPA's InPlaceOrRecreate; 0 = it waits.
	RecreateAfter time.Duration
	// Reserve is the cores of placeholder pods: see reserve.go.
	Reserve float64

	// Cluster is where the application runs. The zero value has the application's own
	// nodes, without neighbours.
	Cluster pool.Cluster
	// NodeGrace is the time until a lost node is noticed; 0 = 50 s. Its pods are replaced
	// after Toleration; 0 = 300 s, negative = at once.
	NodeGrace, Toleration time.Duration
	// PodStart comes before Service.Startup. nil = as measured (MeasuredPodStart) if the
	// cluster has pools, and nothing otherwise: App.Nodes have every image, and their
	// pods' Startup is all there is. An empty one is nothing too.
	PodStart *PodStart

	Disturbances []Disturbance // sorted by At
}

// Disturbance is an event that affects the cluster during a run. Exactly one of the fields
// after At is set.
type Disturbance struct {
	At       time.Duration
	Version  *VersionChange
	LoseNode *int // index into ControlPlane.Nodes; see ControlPlane.LoseNode
	// NeighbourUse is the share of each node that neighbours use from then on. What they request stays,
	// and so does who pays for the nodes.
	NeighbourUse *float64
}

// VersionChange gives a service's versions new weights, as a roll-out would. CPUFactor, if not
// 0, also multiplies the service's CPU time.
type VersionChange struct {
	Service   int
	Weights   []float64 // in the order of Service.Versions; nil = as they are
	CPUFactor float64
}

// WithDefaults returns the configuration with zero fields filled in.
func (c Config) WithDefaults() Config {
	if c.StartupFactor == 0 {
		c.StartupFactor = 1
	}
	if c.Grace == 0 {
		c.Grace = 30 * time.Second
	}
	if c.ResizeDelay.Mean == 0 {
		c.ResizeDelay = loadline.Dist{Mean: 800 * time.Millisecond, CV: 0.5}
	}
	if c.NodeGrace == 0 {
		c.NodeGrace = 50 * time.Second
	}
	if c.Toleration == 0 {
		c.Toleration = 300 * time.Second
	}
	if c.PodStart == nil && len(c.Cluster.Pools) > 0 {
		c.PodStart = MeasuredPodStart()
	}
	c.Cluster.Neighbours = c.Cluster.Neighbours.WithDefaults()
	return c
}

// Never is an instant after every run.
const Never = time.Duration(math.MaxInt64)

// Epoch is the wall-clock instant of simulated time 0.
var Epoch = time.Date(2000, 1, 3, 0, 0, 0, 0, time.UTC) // a Monday

// Time turns a simulated instant into a wall-clock one.
func Time(t time.Duration) time.Time { return Epoch.Add(t) }

// Since turns a wall-clock instant into a simulated one.
func Since(t time.Time) time.Duration { return t.Sub(Epoch) }
