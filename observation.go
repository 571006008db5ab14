package loadline

import "time"

// Sample is one measured value with its instant. The zero Sample is absent: an unmeasured value
// can never be read as a measured zero.
type Sample struct {
	Value float64
	At    time.Time
}

// Present reports whether there is a value.
func (s Sample) Present() bool { return !s.At.IsZero() }

// Or returns the value, or the given one if the sample is absent.
func (s Sample) Or(absent float64) float64 {
	if s.Present() {
		return s.Value
	}
	return absent
}

// Observation is the metrics at one instant: rates and quantiles over the observer's window,
// gauges as last scraped.
type Observation struct {
	At       time.Time
	Services []ServiceObservation // in the order of App.Services
	Kinds    []KindObservation    // in the order of App.Kinds
	Nodes    []NodeObservation    // in the order of App.Nodes
}

// ServiceObservation is one service's part of an Observation. Rates are per
// second, latencies in seconds, CPU in cores, memory in bytes, summed over the
// service's pods unless said otherwise.
type ServiceObservation struct {
	Rate        Sample // visits that arrived
	Errors      Sample // visits that failed, for any reason
	Refused     Sample // of them, refused because the backlog was full
	Dropped     Sample // optional calls to this service that brownout dropped
	Concurrency Sample // visits in the service, mean over the window
	Queue       Sample // of them, those waiting for a worker
	Held        Sample // of those, held because no replica was ready; absent if the service holds none
	Latency     Latency
	Own         Latency // without the time spent in calls to other services
	CPU         Sample
	Memory      Sample
	Throttled   Sample // share of CPU quota periods in which a pod was throttled, 0..1
	Restarts    Sample // since the start
	// More holds the metrics of ServiceTable that have no field here.
	More     [MoreMetrics]Sample
	Brownout bool
	Pods     []PodObservation
}

// Latency of the visits that ended in the window, in seconds.
type Latency struct {
	Mean, P50, P90, P95, P99 Sample
}

// PodObservation is one pod of a service. Identity, phase and spec come from the cluster's API
// and are always present; CPU and memory usage come from metrics.
type PodObservation struct {
	ID      int64
	Node    int // index into App.Nodes; -1 = not bound
	Phase   PodPhase
	Created time.Time
	Ready   time.Time // zero = not yet
	Size    Size
	CPU     Sample // cores in use, mean over the window
	Memory  Sample // bytes in use
	Busy    Sample // visits in the pod, mean over the window (a sidecar's concurrency)
}

// PodPhase is the phase of a pod between creation and deletion.
type PodPhase int

const (
	PodPending PodPhase = iota // not placed on a node
	PodStarting
	PodReady
	PodDraining // gets no new visits, completes those it has
)

func (p PodPhase) String() string {
	switch p {
	case PodPending:
		return "pending"
	case PodStarting:
		return "starting"
	case PodReady:
		return "ready"
	case PodDraining:
		return "draining"
	}
	return "unknown"
}

// KindObservation is one kind of request, measured for its users.
type KindObservation struct {
	Rate    Sample // requests that arrived, per second
	Failed  Sample // requests that failed, per second
	OverSLO Sample // share of the requests that ended in the window that failed or took longer than the SLO's latency
	Latency Latency
	// AtSLO is the latency at the percentile of the kind's SLO, in seconds.
	AtSLO Sample
}

// NodeObservation is one node.
type NodeObservation struct {
	CPU    Sample // cores in use
	Memory Sample // bytes in use
	Lost   bool
}

// ReadyPods counts the ready pods.
func (s *ServiceObservation) ReadyPods() int {
	n := 0
	for i := range s.Pods {
		if s.Pods[i].Phase == PodReady {
			n++
		}
	}
	return n
}
