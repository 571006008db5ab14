package sim

import (
	"time"

	"github.com/loadline/loadline"
)

// Reading is what the exporters of a cluster show at one instant: counters
// since the start of the run, and gauges.
type Reading struct {
	At       time.Duration
	Services []ServiceReading
	Kinds    []KindReading
	Nodes    []NodeReading
	Calls    []CallReading // in the order of Edges
}

// ServiceReading is one service's part. Counters are float64 because the fluid
// engine counts fractions.
type ServiceReading struct {
	// Of is the exported value of each metric of loadline.ServiceTable: a gauge if its
	// aggregation is Gauge, else a counter from the start. A mean number of requests is
	// exported as the counter of its integral, in request-seconds. Latencies and the control
	// plane's metrics are not included.
	Of           [loadline.ServiceMetrics]float64
	Ended        float64 // visits
	Latency, Own LatencyReading
	Pods         []PodReading
}

// Meter sets the metrics that a meter counts, with the integral of held requests and the memory
// in use, which meters do not have.
func (s *ServiceReading) Meter(m *ServiceMeter, heldSeconds, memoryBytes float64) {
	s.Ended = m.Ended
	s.Of[loadline.ServiceRate] = m.Arrived
	s.Of[loadline.ServiceErrors] = m.Failed
	s.Of[loadline.ServiceRefused] = m.Refused
	s.Of[loadline.ServiceDropped] = m.OptionalDropped
	s.Of[loadline.ServiceConcurrency] = m.BusySeconds
	s.Of[loadline.ServiceQueue] = m.QueueSeconds
	s.Of[loadline.ServiceHeld] = heldSeconds
	s.Of[loadline.ServiceCPU] = m.CPUSeconds
	s.Of[loadline.ServiceMemory] = memoryBytes
	s.Of[loadline.ServiceQuotaPeriods] = m.Periods
	s.Of[loadline.ServiceThrottled] = m.ThrottledPeriods
	s.Of[loadline.ServiceRestarts] = m.Restarts
}

// PodReading is one pod's part; Slot refers to the ControlPlane.
type PodReading struct {
	Slot        int
	ID          int64
	CPUSeconds  float64 // of this pod
	MemoryBytes float64
	BusySeconds float64
}

// KindReading is one kind of request, seen from its users.
type KindReading struct {
	Arrived, Ended, Failed, Over float64 // Over: late or failed
	Latency                      LatencyReading
}

// CallReading is the calls of one service to another, measured by the caller (Edge names the
// pair). Repetitions count individually; a call dropped by brownout is not made.
type CallReading struct {
	Count      float64 // calls that ended
	Failed     float64 // of them: refused, or failed
	SumSeconds float64 // their duration, queueing at the callee included
}

// NodeReading is one node.
type NodeReading struct {
	CPUSeconds  float64
	MemoryBytes float64
}

// LatencyReading is a cumulative histogram (event engine), or, where Histogram
// is nil, the quantiles of the time since the last Read (fluid engine).
type LatencyReading struct {
	Count, SumSeconds  float64 // cumulative
	Histogram          *Histogram
	P50, P90, P95, P99 float64 // seconds; of the interval; NaN = nothing ended
	AtSLO              float64 // seconds; kinds only: at the percentile of the SLO
}

// ExporterBits is the resolution of exported histograms: 8 buckets per
// doubling, like a Prometheus native histogram of schema 3.
const ExporterBits = 3

// Resize makes the reading's slices fit an app.
func (r *Reading) Resize(services, kinds, nodes int) {
	if len(r.Services) != services {
		r.Services = make([]ServiceReading, services)
	}
	if len(r.Kinds) != kinds {
		r.Kinds = make([]KindReading, kinds)
	}
	if len(r.Nodes) != nodes {
		r.Nodes = make([]NodeReading, nodes)
	}
}

// copyFrom makes the reading a copy of another one of the same application, in its own memory.
func (r *Reading) copyFrom(from *Reading) {
	r.At = from.At
	r.Resize(len(from.Services), len(from.Kinds), len(from.Nodes))
	for i := range from.Services {
		to, s := &r.Services[i], &from.Services[i]
		to.Of, to.Ended, to.Pods = s.Of, s.Ended, append(to.Pods[:0], s.Pods...)
		to.Latency.copyFrom(&s.Latency)
		to.Own.copyFrom(&s.Own)
	}
	for i := range from.Kinds {
		latency := r.Kinds[i].Latency
		latency.copyFrom(&from.Kinds[i].Latency)
		r.Kinds[i] = from.Kinds[i]
		r.Kinds[i].Latency = latency
	}
	copy(r.Nodes, from.Nodes)
	r.Calls = append(r.Calls[:0], from.Calls...)
}

func (l *LatencyReading) copyFrom(from *LatencyReading) {
	own := l.Histogram
	*l = *from
	if from.Histogram == nil {
		return
	}
	if own == nil {
		own = NewHistogram(ExporterBits)
	}
	own.CopyFrom(from.Histogram)
	l.Histogram = own
}
