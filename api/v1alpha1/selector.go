package v1alpha1

// Selector finds workloads of the namespace by their labels: Deployments and
// StatefulSets.
type Selector struct {
	// Labels that a workload must have, all of them.
	// +required
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=16
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() <= 317)",message="the key of a label has at most 317 characters"
	MatchLabels map[string]LabelValue `json:"matchLabels"`

	// Names of workloads that are left out although they have the labels, such as a
	// database.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=200
	Except []WorkloadName `json:"except,omitempty"`
}

// LabelValue is the value of a label.
//
// +kubebuilder:validation:MaxLength=63
type LabelValue string

// WorkloadName is the name of a Deployment or StatefulSet.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=253
type WorkloadName string

// ServiceAnnotation on a workload is the name under which the metrics know the
// service, for workloads that a selector finds. Without it that is the workload's name.
const ServiceAnnotation = "loadline.dev/service"

// Template is how every service that the selector finds may be scaled.
//
// +kubebuilder:validation:XValidation:rule="!self.axes.exists(a, a != 'Horizontal') || has(self.bounds.cpu) || has(self.bounds.memory)",message="a vertical axis needs bounds.cpu or bounds.memory: resources without bounds are not scaled"
// +kubebuilder:validation:XValidation:rule="self.resize != 'InPlaceOrRecreate' || self.axes.exists(a, a != 'Horizontal')",message="InPlaceOrRecreate is about sizes: add VerticalRequests or VerticalLimits to axes, or leave resize out"
// +kubebuilder:validation:XValidation:rule="!has(self.floor) || !has(self.floor.replicas) || self.floor.replicas <= self.bounds.replicas.max",messageExpression="'floor.replicas (%d) is above bounds.replicas.max (%d)'.format([self.floor.replicas, self.bounds.replicas.max])"
type Template struct {
	// Nothing is ever set outside these bounds.
	// +required
	Bounds Bounds `json:"bounds"`

	// The dimensions to scale, as in services.
	// +optional
	// +listType=set
	// +kubebuilder:default={Horizontal}
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	Axes []Axis `json:"axes,omitempty"`

	// How sizes are changed, as in services.
	// +optional
	// +kubebuilder:default=InPlaceOnly
	Resize Resize `json:"resize,omitempty"`

	// A size that is enough for the usual peak, as in services.
	// +optional
	Floor *Floor `json:"floor,omitempty"`
}
