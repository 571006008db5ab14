package loadline

// PodMetric is a metric of a pod: its row in PodTable.
type PodMetric int

// What is measured of a pod.
const (
	PodCPU PodMetric = iota
	PodMemory
	PodBusy
	PodRestarts

	PodMetrics // how many there are
)

// String is the metric's name.
func (m PodMetric) String() string { return PodTable[m].Name }

// PodTable is what is measured of pods.
var PodTable = Table[PodMetric, PodObservation]{
	PodCPU: {Metric{Scope: OfPod, Name: "cpu", Unit: "cores", Aggregation: PerSecond,
		Help: "CPU in use", Absent: "fewer than two scrapes of the pod were made in the window",
	}, func(o *PodObservation) *Sample { return &o.CPU }},
	PodMemory: {Metric{Scope: OfPod, Name: "memory", Unit: "bytes", Aggregation: Gauge,
		Help: "memory in use", Absent: "no scrape of the pod was made in the window",
	}, func(o *PodObservation) *Sample { return &o.Memory }},
	PodBusy: {Metric{Scope: OfPod, Name: "busy", Unit: "count", Aggregation: PerSecond,
		Help: "requests in the pod", Absent: "no proxy counts the requests in the pod",
	}, func(o *PodObservation) *Sample { return &o.Busy }},
	PodRestarts: {Metric{Scope: OfPod, Name: "restarts", Unit: "count", Aggregation: Total,
		Help: "restarts of its containers; observations have their sum over the service's pods", Absent: notByState,
	}, nil},
}

// KindMetric is a metric of a kind of request: its row in KindTable.
type KindMetric int

// What is measured of a kind of request.
const (
	KindRate KindMetric = iota
	KindFailed
	KindOverSLO
	KindLatencyMean
	KindLatencyP50
	KindLatencyP90
	KindLatencyP95
	KindLatencyP99
	KindAtSLO

	KindMetrics // how many there are
)

// String is the metric's name.
func (m KindMetric) String() string { return KindTable[m].Name }

const noRequests = "no request of the kind ended in the window"

// KindTable is what is measured of kinds of requests.
var KindTable = Table[KindMetric, KindObservation]{
	KindRate: {Metric{Scope: OfKind, Name: "rate", Unit: "1/s", Aggregation: PerSecond,
		Help: "requests that arrived", Absent: "the entry of these requests is not measured",
	}, func(o *KindObservation) *Sample { return &o.Rate }},
	KindFailed: {Metric{Scope: OfKind, Name: "failed", Unit: "1/s", Aggregation: PerSecond,
		Help: "requests that failed", Absent: "failures are not measured",
	}, func(o *KindObservation) *Sample { return &o.Failed }},
	KindOverSLO: {Metric{Scope: OfKind, Name: "over_slo", Unit: "share", Aggregation: Ratio,
		Help: "requests that failed or took longer than the SLO", Absent: noRequests,
	}, func(o *KindObservation) *Sample { return &o.OverSLO }},
	KindLatencyMean: {Metric{Scope: OfKind, Name: "latency_mean", Unit: "s", Aggregation: Mean, Log: "latency_s.mean",
		Help: "mean response time", Absent: noRequests,
	}, func(o *KindObservation) *Sample { return &o.Latency.Mean }},
	KindLatencyP50: {Metric{Scope: OfKind, Name: "latency_p50", Unit: "s", Aggregation: Quantile, Log: "latency_s.p50",
		Help: "median response time", Absent: noRequests,
	}, func(o *KindObservation) *Sample { return &o.Latency.P50 }},
	KindLatencyP90: {Metric{Scope: OfKind, Name: "latency_p90", Unit: "s", Aggregation: Quantile, Log: "latency_s.p90",
		Help: "90th percentile of the response time", Absent: noRequests,
	}, func(o *KindObservation) *Sample { return &o.Latency.P90 }},
	KindLatencyP95: {Metric{Scope: OfKind, Name: "latency_p95", Unit: "s", Aggregation: Quantile, Log: "latency_s.p95",
		Help: "95th percentile of the response time", Absent: noRequests,
	}, func(o *KindObservation) *Sample { return &o.Latency.P95 }},
	KindLatencyP99: {Metric{Scope: OfKind, Name: "latency_p99", Unit: "s", Aggregation: Quantile, Log: "latency_s.p99",
		Help: "99th percentile of the response time", Absent: noRequests,
	}, func(o *KindObservation) *Sample { return &o.Latency.P99 }},
	KindAtSLO: {Metric{Scope: OfKind, Name: "at_slo", Unit: "s", Aggregation: Quantile, Log: "at_slo_s",
		Help: "response time at the percentile of the SLO", Absent: noRequests,
	}, func(o *KindObservation) *Sample { return &o.AtSLO }},
}

// NodeMetric is a metric of a node: its row in NodeTable.
type NodeMetric int

// What is measured of a node.
const (
	NodeCPU NodeMetric = iota
	NodeMemory
	NodeCPUCapacity
	NodeMemoryCapacity
	NodeCPUAllocatable
	NodeMemoryAllocatable
	NodePods
	NodeOthersCPU
	NodeOthersMemory
	NodeOthersCPURequest
	NodeOthersMemoryRequest

	NodeMetrics // how many there are
)

// String is the metric's name.
func (m NodeMetric) String() string { return NodeTable[m].Name }

// About is the metric's row.
func (m NodeMetric) About() Metric { return NodeTable[m].Metric }

const noNode = notByState + ", or no pod of the application was on the node"

// NodeTable is what is measured of nodes. Histories keep the nodes that pods of the application
// were on; others are the pods of other namespaces.
var NodeTable = Table[NodeMetric, NodeObservation]{
	NodeCPU: {Metric{Scope: OfNode, Name: "cpu", Unit: "cores", Aggregation: PerSecond,
		Help: "CPU in use", Absent: "fewer than two scrapes of the node were made in the window",
	}, func(o *NodeObservation) *Sample { return &o.CPU }},
	NodeMemory: {Metric{Scope: OfNode, Name: "memory", Unit: "bytes", Aggregation: Gauge,
		Help: "memory in use", Absent: "no scrape of the node was made in the window",
	}, func(o *NodeObservation) *Sample { return &o.Memory }},
	NodeCPUCapacity: {Metric{Scope: OfNode, Name: "cpu_capacity", Unit: "cores", Aggregation: Gauge, Column: 1,
		Help: "cores of the node", Absent: noNode,
		Cost: "the cores that pods may request stand in",
	}, nil},
	NodeMemoryCapacity: {Metric{Scope: OfNode, Name: "memory_capacity", Unit: "bytes", Aggregation: Gauge, Column: 2,
		Help: "memory of the node", Absent: noNode,
		Cost: "the memory that pods may request stands in",
	}, nil},
	NodeCPUAllocatable: {Metric{Scope: OfNode, Name: "cpu_allocatable", Unit: "cores", Aggregation: Gauge, Column: 3,
		Help: "cores that pods may request", Absent: noNode,
		Cost: "size and number of the nodes are assumed",
	}, nil},
	NodeMemoryAllocatable: {Metric{Scope: OfNode, Name: "memory_allocatable", Unit: "bytes", Aggregation: Gauge, Column: 4,
		Help: "memory that pods may request", Absent: noNode,
		Cost: "the memory of nodes is assumed",
	}, nil},
	NodePods: {Metric{Scope: OfNode, Name: "pods", Unit: "count", Aggregation: Gauge, Column: 5,
		Help: "pods of the application on the node", Absent: noNode,
		Cost: "all nodes count alike",
	}, nil},
	NodeOthersCPU: {Metric{Scope: OfNode, Name: "others_cpu", Unit: "cores", Aggregation: PerSecond, Column: 6,
		Help: "CPU in use by pods of other namespaces", Absent: noNode,
		Cost: "neighbours are assumed to use no CPU",
	}, nil},
	NodeOthersMemory: {Metric{Scope: OfNode, Name: "others_memory", Unit: "bytes", Aggregation: Gauge, Column: 7,
		Help: "memory in use by pods of other namespaces", Absent: noNode,
		Cost: "neighbours are assumed to use the memory that they request",
	}, nil},
	NodeOthersCPURequest: {Metric{Scope: OfNode, Name: "others_cpu_request", Unit: "cores", Aggregation: Gauge, Column: 8,
		Help: "CPU requested by pods of other namespaces", Absent: noNode,
		Cost: "neighbours are assumed to request the CPU that they use",
	}, nil},
	NodeOthersMemoryRequest: {Metric{Scope: OfNode, Name: "others_memory_request", Unit: "bytes", Aggregation: Gauge, Column: 9,
		Help: "memory requested by pods of other namespaces", Absent: noNode,
		Cost: "neighbours are assumed to request the memory that they use",
	}, nil},
}

// CallMetric is a metric of the calls from one service to another, measured at the caller or at
// the callee's proxy: its row in CallTable.
type CallMetric int

// What is measured of calls.
const (
	CallRate CallMetric = iota
	CallErrors
	CallMean
	CallP50
	CallP90
	CallP95
	CallP99

	CallMetrics // how many there are
)

// String is the metric's name.
func (m CallMetric) String() string { return CallTable[m].Name }

// About is the metric's row.
func (m CallMetric) About() Metric { return CallTable[m].Metric }

const noCalls = "no call ended during the step"

// CallTable is what histories keep of calls. Observations have no calls.
var CallTable = Table[CallMetric, struct{}]{
	CallRate: {Metric{Scope: OfCall, Name: "rate", Unit: "1/s", Aggregation: PerSecond, Column: 1,
		Help: "calls", Absent: "calls are not measured",
		Cost: "call ratios are regressed from the services' rates",
	}, nil},
	CallErrors: {Metric{Scope: OfCall, Name: "errors", Unit: "1/s", Aggregation: PerSecond, Column: 2,
		Help: "calls that failed", Absent: "failures are not measured",
		Cost: "failed calls count as good ones",
	}, nil},
	CallMean: {Metric{Scope: OfCall, Name: "latency_mean", Unit: "s", Aggregation: Mean, Column: 3,
		Help: "mean time of a call", Absent: noCalls,
		Cost: "time spent in calls is taken from the callee's own latency",
	}, nil},
	CallP50: {Metric{Scope: OfCall, Name: "latency_p50", Unit: "s", Aggregation: Quantile, Column: 4, Help: "median time of a call",
		Absent: noCalls}, nil},
	CallP90: {Metric{Scope: OfCall, Name: "latency_p90", Unit: "s", Aggregation: Quantile, Column: 5,
		Help: "90th percentile of the time of a call", Absent: noCalls}, nil},
	CallP95: {Metric{Scope: OfCall, Name: "latency_p95", Unit: "s", Aggregation: Quantile, Column: 6,
		Help: "95th percentile of the time of a call", Absent: noCalls}, nil},
	CallP99: {Metric{Scope: OfCall, Name: "latency_p99", Unit: "s", Aggregation: Quantile, Column: 7,
		Help: "99th percentile of the time of a call", Absent: noCalls}, nil},
}
