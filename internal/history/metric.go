package history

import "github.com/loadline/loadline"

// ServiceMetric, CallMetric and NodeMetric are rows of the metric table, which has names, units and
// columns.
type (
	ServiceMetric = loadline.ServiceMetric
	CallMetric    = loadline.CallMetric
	NodeMetric    = loadline.NodeMetric
)

// Short names of the metrics of a service: means over the step, as in loadline.ServiceTable.
const (
	Rate          = loadline.ServiceRate
	Errors        = loadline.ServiceErrors
	LatencyMean   = loadline.ServiceLatencyMean
	LatencyP50    = loadline.ServiceLatencyP50
	LatencyP90    = loadline.ServiceLatencyP90
	LatencyP95    = loadline.ServiceLatencyP95
	LatencyP99    = loadline.ServiceLatencyP99
	Concurrency   = loadline.ServiceConcurrency
	Queue         = loadline.ServiceQueue
	CPU           = loadline.ServiceCPU
	Memory        = loadline.ServiceMemory
	Throttled     = loadline.ServiceThrottled
	Ready         = loadline.ServiceReady
	Desired       = loadline.ServiceDesired
	CPURequest    = loadline.ServiceCPURequest
	CPULimit      = loadline.ServiceCPULimit
	MemoryRequest = loadline.ServiceMemoryRequest
	MemoryLimit   = loadline.ServiceMemoryLimit
	Restarts      = loadline.ServiceRestarts
	Startup       = loadline.ServiceStartup

	ServiceMetrics = loadline.ServiceMetrics // the size of an array by ServiceMetric
)

// Short names of the metrics of calls.
const (
	CallRate   = loadline.CallRate
	CallErrors = loadline.CallErrors
	CallMean   = loadline.CallMean
	CallP50    = loadline.CallP50
	CallP90    = loadline.CallP90
	CallP95    = loadline.CallP95
	CallP99    = loadline.CallP99

	CallMetrics = loadline.CallMetrics
)

// Short names of the metrics of nodes.
const (
	NodeCPUCapacity         = loadline.NodeCPUCapacity
	NodeMemoryCapacity      = loadline.NodeMemoryCapacity
	NodeCPUAllocatable      = loadline.NodeCPUAllocatable
	NodeMemoryAllocatable   = loadline.NodeMemoryAllocatable
	NodePods                = loadline.NodePods
	NodeOthersCPU           = loadline.NodeOthersCPU
	NodeOthersMemory        = loadline.NodeOthersMemory
	NodeOthersCPURequest    = loadline.NodeOthersCPURequest
	NodeOthersMemoryRequest = loadline.NodeOthersMemoryRequest

	NodeMetrics = loadline.NodeMetrics
)
