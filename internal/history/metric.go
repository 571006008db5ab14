package history

// ServiceMetric is one thing that is measured of a service. The order is that
// of the columns on disk; a new one goes at the end.
type ServiceMetric int

// What is measured of a service. Unless said otherwise it is summed over the
// service's pods and is a mean over the step.
const (
	Rate          ServiceMetric = iota // requests that arrived, per second
	Errors                             // requests that failed, per second
	LatencyMean                        // seconds, as the server sees it: calls to others included
	LatencyP50                         // seconds
	LatencyP90                         // seconds
	LatencyP95                         // seconds
	LatencyP99                         // seconds
	Concurrency                        // requests in the service
	Queue                              // of them, those that wait for a worker
	CPU                                // cores in use
	Memory                             // bytes in use
	Throttled                          // share of CPU quota periods in which pods were stopped, 0..1
	Ready                              // replicas that serve
	Desired                            // replicas asked for
	CPURequest                         // cores, of one replica
	CPULimit                           // cores, of one replica; absent = none
	MemoryRequest                      // bytes, of one replica
	MemoryLimit                        // bytes, of one replica; absent = none
	Restarts                           // containers that restarted during the step
	Startup                            // seconds from creation to ready, mean of the pods that became ready during the step; absent = none did

	ServiceMetrics // how many there are
)

// CallMetric is one thing that is measured of the calls from one service to
// another.
type CallMetric int

// What is measured of calls, as the caller's side or the callee's proxy saw it.
const (
	CallRate    CallMetric = iota // per second
	CallErrors                    // that failed, per second
	CallMean                      // seconds
	CallP50                       // seconds
	CallP90                       // seconds
	CallP95                       // seconds
	CallP99                       // seconds
	CallMetrics                   // how many there are
)

// About is how people, columns and query presets name a metric.
type About struct {
	Name string // in columns, presets and messages
	Unit string // "1/s", "s", "cores", "bytes", "share", "count"
	Help string
	// Cost is what a fit loses when the metric is absent altogether.
	Cost string
}

var serviceMetrics = [ServiceMetrics]About{
	Rate:          {"rate", "1/s", "requests that arrived", "no service can be fitted without its request rate"},
	Errors:        {"errors", "1/s", "requests that failed", "failed requests count as good ones"},
	LatencyMean:   {"latency_mean", "s", "mean response time", "waiting time is taken from the quantiles, or assumed"},
	LatencyP50:    {"latency_p50", "s", "median response time", "the spread of the response time is assumed"},
	LatencyP90:    {"latency_p90", "s", "90th percentile of the response time", "objectives at 90 % cannot be checked"},
	LatencyP95:    {"latency_p95", "s", "95th percentile of the response time", "objectives at 95 % cannot be checked"},
	LatencyP99:    {"latency_p99", "s", "99th percentile of the response time", "the knee of the load-latency profile rests on the mean alone"},
	Concurrency:   {"concurrency", "count", "requests in the service", "the number of workers is assumed"},
	Queue:         {"queue", "count", "requests that wait for a worker", "the number of workers is assumed"},
	CPU:           {"cpu", "cores", "CPU in use", "CPU per request is assumed: the twin cannot say how many replicas are enough"},
	Memory:        {"memory", "bytes", "memory in use", "memory is taken from the requests"},
	Throttled:     {"throttled", "share", "CPU quota periods in which pods were stopped", "saturation is seen in the latency alone"},
	Ready:         {"ready", "count", "replicas that serve", "the replicas asked for stand in; start-up is invisible"},
	Desired:       {"desired", "count", "replicas asked for", "the ready replicas stand in; what the autoscaler did cannot be learned from"},
	CPURequest:    {"cpu_request", "cores", "CPU request of a replica", "the limit stands in, or one core; costs are a guess"},
	CPULimit:      {"cpu_limit", "cores", "CPU limit of a replica", "replicas are taken to have no CPU limit"},
	MemoryRequest: {"memory_request", "bytes", "memory request of a replica", "the memory in use stands in"},
	MemoryLimit:   {"memory_limit", "bytes", "memory limit of a replica", "replicas are taken to have no memory limit"},
	Restarts:      {"restarts", "count", "containers that restarted", "out-of-memory kills are not seen"},
	Startup:       {"startup", "s", "time from creation to ready", "start-up time is assumed"},
}

var callMetrics = [CallMetrics]About{
	CallRate:   {"rate", "1/s", "calls", "call ratios are regressed from the services' rates"},
	CallErrors: {"errors", "1/s", "calls that failed", "failed calls count as good ones"},
	CallMean:   {"latency_mean", "s", "mean time of a call", "time spent in calls is taken from the callee's own latency"},
	CallP50:    {"latency_p50", "s", "median time of a call", ""},
	CallP90:    {"latency_p90", "s", "90th percentile of the time of a call", ""},
	CallP95:    {"latency_p95", "s", "95th percentile of the time of a call", ""},
	CallP99:    {"latency_p99", "s", "99th percentile of the time of a call", ""},
}

// About the metric: its name, unit and meaning.
func (m ServiceMetric) About() About { return serviceMetrics[m] }

// String is the metric's name.
func (m ServiceMetric) String() string { return serviceMetrics[m].Name }

// About the metric: its name, unit and meaning.
func (m CallMetric) About() About { return callMetrics[m] }

// String is the metric's name.
func (m CallMetric) String() string { return callMetrics[m].Name }

// ServiceMetricNamed finds a metric by its name.
func ServiceMetricNamed(name string) (ServiceMetric, bool) {
	for m := range ServiceMetrics {
		if m.String() == name {
			return m, true
		}
	}
	return 0, false
}

// CallMetricNamed finds a metric by its name.
func CallMetricNamed(name string) (CallMetric, bool) {
	for m := range CallMetrics {
		if m.String() == name {
			return m, true
		}
	}
	return 0, false
}
