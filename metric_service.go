package loadline

import "fmt"

// ServiceMetric is a metric of a service: its row in ServiceTable.
type ServiceMetric int

// Metrics of a service, in the order of ServiceObservation. Those of the control plane come
// last.
const (
	ServiceRate ServiceMetric = iota
	ServiceErrors
	ServiceRefused
	ServiceDropped
	ServiceConcurrency
	ServiceQueue
	ServiceHeld
	ServiceLatencyMean
	ServiceLatencyP50
	ServiceLatencyP90
	ServiceLatencyP95
	ServiceLatencyP99
	ServiceOwnMean
	ServiceOwnP50
	ServiceOwnP90
	ServiceOwnP95
	ServiceOwnP99
	ServiceCPU
	ServiceMemory
	ServiceQuotaPeriods
	ServiceThrottled
	ServiceRestarts
	ServiceReady
	ServiceDesired
	ServiceCPURequest
	ServiceCPULimit
	ServiceMemoryRequest
	ServiceMemoryLimit
	ServiceStartup

	builtinServiceMetrics

	// ServiceMetrics is the size of an array by ServiceMetric. The rows in use are
	// those of ServiceTable.
	ServiceMetrics = builtinServiceMetrics + MoreMetrics
)

// String is the metric's name.
func (m ServiceMetric) String() string {
	if m < 0 || int(m) >= len(ServiceTable) {
		return fmt.Sprintf("unused metric %d", int(m))
	}
	return ServiceTable[m].Name
}

// About is the metric's row.
func (m ServiceMetric) About() Metric { return ServiceTable[m].Metric }

const (
	noVisits   = "no visit ended in the window, or fewer than two scrapes were made"
	noScrapes  = "fewer than two scrapes of the service were made in the window"
	noLastOne  = "no scrape of the service was made in the window"
	notByState = "kube-state-metrics is not scraped"
)

// ServiceTable is the metrics of services, summed over a service's pods unless the aggregation
// is another one.
var ServiceTable = Table[ServiceMetric, ServiceObservation]{
	ServiceRate: {Metric{Scope: OfService, Name: "rate", Unit: "1/s", Aggregation: PerSecond, Column: 1,
		Help: "requests that arrived", Absent: noScrapes,
		Cost: "no service can be fitted without its request rate",
	}, func(o *ServiceObservation) *Sample { return &o.Rate }},
	ServiceErrors: {Metric{Scope: OfService, Name: "errors", Unit: "1/s", Aggregation: PerSecond, Column: 2,
		Help: "requests that failed", Absent: noScrapes,
		Cost: "failed requests count as good ones",
	}, func(o *ServiceObservation) *Sample { return &o.Errors }},
	ServiceRefused: {Metric{Scope: OfService, Name: "refused", Unit: "1/s", Aggregation: PerSecond,
		Help: "failed requests that found every place of the backlog taken", Absent: noScrapes,
	}, func(o *ServiceObservation) *Sample { return &o.Refused }},
	ServiceDropped: {Metric{Scope: OfService, Name: "dropped", Unit: "1/s", Aggregation: PerSecond,
		Help: "optional calls that brownout dropped", Absent: noScrapes,
	}, func(o *ServiceObservation) *Sample { return &o.Dropped }},
	ServiceConcurrency: {Metric{Scope: OfService, Name: "concurrency", Unit: "count", Aggregation: PerSecond, Column: 8,
		Help: "requests in the service", Absent: noScrapes,
		Cost: "the number of workers is assumed",
	}, func(o *ServiceObservation) *Sample { return &o.Concurrency }},
	ServiceQueue: {Metric{Scope: OfService, Name: "queue", Unit: "count", Aggregation: PerSecond, Column: 9,
		Help: "requests that wait for a worker", Absent: noScrapes,
		Cost: "the number of workers is assumed",
	}, func(o *ServiceObservation) *Sample { return &o.Queue }},
	ServiceHeld: {Metric{Scope: OfService, Name: "held", Unit: "count", Aggregation: PerSecond,
		Help: "requests that wait because no replica is ready", Absent: "the service does not hold requests, or " + noScrapes,
	}, func(o *ServiceObservation) *Sample { return &o.Held }},
	ServiceLatencyMean: {Metric{Scope: OfService, Name: "latency_mean", Unit: "s", Aggregation: Mean, Column: 3, Log: "latency_s.mean",
		Help: "mean response time", Absent: noVisits,
		Cost: "waiting time is taken from the quantiles, or assumed",
	}, func(o *ServiceObservation) *Sample { return &o.Latency.Mean }},
	ServiceLatencyP50: {Metric{Scope: OfService, Name: "latency_p50", Unit: "s", Aggregation: Quantile, Column: 4, Log: "latency_s.p50",
		Help: "median response time", Absent: noVisits,
		Cost: "the spread of the response time is assumed",
	}, func(o *ServiceObservation) *Sample { return &o.Latency.P50 }},
	ServiceLatencyP90: {Metric{Scope: OfService, Name: "latency_p90", Unit: "s", Aggregation: Quantile, Column: 5, Log: "latency_s.p90",
		Help: "90th percentile of the response time", Absent: noVisits,
		Cost: "objectives at 90 % cannot be checked",
	}, func(o *ServiceObservation) *Sample { return &o.Latency.P90 }},
	ServiceLatencyP95: {Metric{Scope: OfService, Name: "latency_p95", Unit: "s", Aggregation: Quantile, Column: 6, Log: "latency_s.p95",
		Help: "95th percentile of the response time", Absent: noVisits,
		Cost: "objectives at 95 % cannot be checked",
	}, func(o *ServiceObservation) *Sample { return &o.Latency.P95 }},
	ServiceLatencyP99: {Metric{Scope: OfService, Name: "latency_p99", Unit: "s", Aggregation: Quantile, Column: 7, Log: "latency_s.p99",
		Help: "99th percentile of the response time", Absent: noVisits,
		Cost: "the knee of the load-latency profile rests on the mean alone",
	}, func(o *ServiceObservation) *Sample { return &o.Latency.P99 }},
	ServiceOwnMean: {Metric{Scope: OfService, Name: "own_latency_mean", Unit: "s", Aggregation: Mean, Log: "own_latency_s.mean",
		Help: "mean response time without calls to other services", Absent: noVisits,
	}, func(o *ServiceObservation) *Sample { return &o.Own.Mean }},
	ServiceOwnP50: {Metric{Scope: OfService, Name: "own_latency_p50", Unit: "s", Aggregation: Quantile, Log: "own_latency_s.p50",
		Help: "median response time without calls to other services", Absent: noVisits,
	}, func(o *ServiceObservation) *Sample { return &o.Own.P50 }},
	ServiceOwnP90: {Metric{Scope: OfService, Name: "own_latency_p90", Unit: "s", Aggregation: Quantile, Log: "own_latency_s.p90",
		Help: "90th percentile of the response time without calls to other services", Absent: noVisits,
	}, func(o *ServiceObservation) *Sample { return &o.Own.P90 }},
	ServiceOwnP95: {Metric{Scope: OfService, Name: "own_latency_p95", Unit: "s", Aggregation: Quantile, Log: "own_latency_s.p95",
		Help: "95th percentile of the response time without calls to other services", Absent: noVisits,
	}, func(o *ServiceObservation) *Sample { return &o.Own.P95 }},
	ServiceOwnP99: {Metric{Scope: OfService, Name: "own_latency_p99", Unit: "s", Aggregation: Quantile, Log: "own_latency_s.p99",
		Help: "99th percentile of the response time without calls to other services", Absent: noVisits,
	}, func(o *ServiceObservation) *Sample { return &o.Own.P99 }},
	ServiceCPU: {Metric{Scope: OfService, Name: "cpu", Unit: "cores", Aggregation: PerSecond, Column: 10,
		Series: "container_cpu_usage_seconds_total",
		Help:   "CPU in use", Absent: noScrapes,
		Cost: "CPU per request is assumed: the twin cannot say how many replicas are enough",
	}, func(o *ServiceObservation) *Sample { return &o.CPU }},
	ServiceMemory: {Metric{Scope: OfService, Name: "memory", Unit: "bytes", Aggregation: Gauge, Column: 11,
		Series: "container_memory_working_set_bytes",
		Help:   "memory in use", Absent: noLastOne,
		Cost: "memory is taken from the requests",
	}, func(o *ServiceObservation) *Sample { return &o.Memory }},
	ServiceQuotaPeriods: {Metric{Scope: OfService, Name: "quota_periods", Unit: "count", Aggregation: Total,
		Series: "container_cpu_cfs_periods_total",
		Help:   "CPU quota periods in which pods ran", Absent: "no pod has a CPU limit",
	}, nil},
	ServiceThrottled: {Metric{Scope: OfService, Name: "throttled", Unit: "share", Aggregation: Ratio, Per: ServiceQuotaPeriods, Column: 12,
		Series: "container_cpu_cfs_throttled_periods_total",
		Help:   "CPU quota periods in which pods were stopped", Absent: "no pod has a CPU limit, or no pod ran in the window",
		Cost: "saturation is seen in the latency alone",
	}, func(o *ServiceObservation) *Sample { return &o.Throttled }},
	ServiceRestarts: {Metric{Scope: OfService, Name: "restarts", Unit: "count", Aggregation: Total, Column: 19,
		Help: "containers that restarted", Absent: noLastOne,
		Cost: "out-of-memory kills are not seen",
	}, func(o *ServiceObservation) *Sample { return &o.Restarts }},
	ServiceReady: {Metric{Scope: OfService, Name: "ready", Unit: "count", Aggregation: Gauge, Column: 13,
		Help: "replicas that serve", Absent: notByState,
		Cost: "the replicas asked for stand in; start-up is invisible",
	}, nil},
	ServiceDesired: {Metric{Scope: OfService, Name: "desired", Unit: "count", Aggregation: Gauge, Column: 14,
		Help: "replicas asked for", Absent: notByState,
		Cost: "the ready replicas stand in; what the autoscaler did cannot be learned from",
	}, nil},
	ServiceCPURequest: {Metric{Scope: OfService, Name: "cpu_request", Unit: "cores", Aggregation: PerReplica, Column: 15,
		Help: "CPU request of a replica", Absent: "no request is set, or " + notByState,
		Cost: "the limit stands in, or one core; costs are a guess",
	}, nil},
	ServiceCPULimit: {Metric{Scope: OfService, Name: "cpu_limit", Unit: "cores", Aggregation: PerReplica, Column: 16,
		Help: "CPU limit of a replica", Absent: "no limit is set, or " + notByState,
		Cost: "replicas are taken to have no CPU limit",
	}, nil},
	ServiceMemoryRequest: {Metric{Scope: OfService, Name: "memory_request", Unit: "bytes", Aggregation: PerReplica, Column: 17,
		Help: "memory request of a replica", Absent: "no request is set, or " + notByState,
		Cost: "the memory in use stands in",
	}, nil},
	ServiceMemoryLimit: {Metric{Scope: OfService, Name: "memory_limit", Unit: "bytes", Aggregation: PerReplica, Column: 18,
		Help: "memory limit of a replica", Absent: "no limit is set, or " + notByState,
		Cost: "replicas are taken to have no memory limit",
	}, nil},
	ServiceStartup: {Metric{Scope: OfService, Name: "startup", Unit: "s", Aggregation: PerReplica, Column: 20,
		Help: "time from creation to ready", Absent: "no pod became ready during the step",
		Cost: "start-up time is assumed",
	}, nil},
}
