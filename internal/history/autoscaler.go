package history

// Autoscaler is a HorizontalPodAutoscaler as kube-state-metrics showed it at the end of a history.
// Those that KEDA makes for its ScaledObjects are among them, named keda-hpa-NAME.
type Autoscaler struct {
	Name        string             `json:"name"`
	Service     string             `json:"service"` // that it scales
	MinReplicas int                `json:"min_replicas"`
	MaxReplicas int                `json:"max_replicas"`
	Targets     []AutoscalerTarget `json:"targets,omitempty"` // sorted by metric and type
}

// AutoscalerTarget is one metric that an autoscaler keeps at a value.
type AutoscalerTarget struct {
	Metric string  `json:"metric"` // cpu, memory, or the name of another metric
	Type   string  `json:"type"`   // one of the types below
	Value  float64 `json:"value"`
}

// Types of targets, in the words of kube-state-metrics.
const (
	Utilization  = "utilization" // % of the pods' requests
	AverageValue = "average"     // for each pod
	TotalValue   = "value"       // for all of them
)

// Autoscaler of a service, or nil.
func (m *Manifest) Autoscaler(service string) *Autoscaler {
	for i := range m.Autoscalers {
		if m.Autoscalers[i].Service == service {
			return &m.Autoscalers[i]
		}
	}
	return nil
}
