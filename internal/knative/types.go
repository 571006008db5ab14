package knative

import (
	"fmt"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Class is the value of the class annotation.
const Class = "loadline.dev" // also in internal/kube, which is another edge

// Names of Knative's API.
const (
	annotation = "autoscaling.knative.dev/"

	ClassAnnotation = annotation + "class"

	RevisionLabel = "serving.knative.dev/revision"
	ServiceLabel  = "serving.knative.dev/service"

	// Proxy and Serve are the modes of a ServerlessService.
	Proxy = "Proxy"
	Serve = "Serve"

	unreachable = "Unreachable"
)

// Kinds of Knative's objects.
var (
	PodAutoscalers     = schema.GroupVersionKind{Group: "autoscaling.internal.knative.dev", Version: "v1alpha1", Kind: "PodAutoscaler"}
	ServerlessServices = schema.GroupVersionKind{Group: "networking.internal.knative.dev", Version: "v1alpha1", Kind: "ServerlessService"}
	Services           = schema.GroupVersionKind{Group: "serving.knative.dev", Version: "v1", Kind: "Service"}
)

// Condition is one of Knative's conditions. Its severity is empty for an error, which is the
// only one that these objects' readiness counts.
type Condition struct {
	Type               string      `json:"type"`
	Status             string      `json:"status"` // True, False, Unknown
	Severity           string      `json:"severity,omitempty"`
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitzero"`
	Reason             string      `json:"reason,omitempty"`
	Message            string      `json:"message,omitempty"`
}

// Reference to the object to scale.
type Reference struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Name       string `json:"name,omitempty"`
}

// PodAutoscaler is the part of a PodAutoscaler that is used here.
type PodAutoscaler struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec   PodAutoscalerSpec   `json:"spec"`
	Status PodAutoscalerStatus `json:"status,omitempty"`
}

// PodAutoscalerSpec is what Serving asks for.
type PodAutoscalerSpec struct {
	ContainerConcurrency int64     `json:"containerConcurrency,omitempty"` // 0 = unlimited
	ScaleTargetRef       Reference `json:"scaleTargetRef"`
	Reachability         string    `json:"reachability,omitempty"`
	ProtocolType         string    `json:"protocolType"`
}

// PodAutoscalerStatus is what Serving reads.
type PodAutoscalerStatus struct {
	ObservedGeneration int64       `json:"observedGeneration,omitempty"`
	Conditions         []Condition `json:"conditions,omitempty"`
	ServiceName        string      `json:"serviceName"`
	MetricsServiceName string      `json:"metricsServiceName"`
	DesiredScale       *int32      `json:"desiredScale,omitempty"`
	ActualScale        *int32      `json:"actualScale,omitempty"`
}

// ServerlessService is the part of a ServerlessService that is used here.
type ServerlessService struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec   ServerlessServiceSpec   `json:"spec"`
	Status ServerlessServiceStatus `json:"status,omitempty"`
}

// ServerlessServiceSpec is where a revision's requests go.
type ServerlessServiceSpec struct {
	Mode          string    `json:"mode,omitempty"`
	ObjectRef     Reference `json:"objectRef"`
	ProtocolType  string    `json:"protocolType"`
	NumActivators int32     `json:"numActivators,omitempty"`
}

// ServerlessServiceStatus is where they go at present.
type ServerlessServiceStatus struct {
	ObservedGeneration int64       `json:"observedGeneration,omitempty"`
	Conditions         []Condition `json:"conditions,omitempty"`
	ServiceName        string      `json:"serviceName,omitempty"`
	PrivateServiceName string      `json:"privateServiceName,omitempty"`
}

// Ready reports whether the spec was observed, and is in effect.
func (s *ServerlessService) Ready() bool {
	c := find(s.Status.Conditions, "Ready")
	return s.Generation == s.Status.ObservedGeneration && c != nil && c.Status == "True"
}

// proxiedFor is how long the endpoints have been those of activators; 0 = they are not.
func (s *ServerlessService) proxiedFor(now time.Time) time.Duration {
	c := find(s.Status.Conditions, "ActivatorEndpointsPopulated")
	if c == nil || c.Status != "True" {
		return 0
	}
	return now.Sub(c.LastTransitionTime.Time)
}

func find(conditions []Condition, kind string) *Condition {
	for i := range conditions {
		if conditions[i].Type == kind {
			return &conditions[i]
		}
	}
	return nil
}

// read converts an object as it comes from the API server.
func read[T any](o *unstructured.Unstructured) (*T, error) {
	into := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, into); err != nil {
		return nil, fmt.Errorf("%s %s/%s: %w", o.GetKind(), o.GetNamespace(), o.GetName(), err)
	}
	return into, nil
}

// setting of a revision, from its annotations. Some have an older spelling, which Knative
// accepts as well.
func (p *PodAutoscaler) setting(names ...string) (key, value string, found bool) {
	for _, name := range names {
		if v, ok := p.Annotations[annotation+name]; ok {
			return annotation + name, v, true
		}
	}
	return "", "", false
}

func number(key, text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || v != v {
		return 0, fmt.Errorf("%s is %q: must be a number, such as 10", key, text)
	}
	return v, nil
}

func count(key, text string) (int32, error) {
	v, err := strconv.ParseInt(text, 10, 32)
	if err != nil || v < 0 {
		return 0, fmt.Errorf("%s is %q: must be a whole number from 0 to 2147483647", key, text)
	}
	return int32(v), nil
}

func span(key, text string) (time.Duration, error) {
	v, err := time.ParseDuration(text)
	if err != nil || v < 0 {
		return 0, fmt.Errorf("%s is %q: must be a duration, such as 60s", key, text)
	}
	return v, nil
}
