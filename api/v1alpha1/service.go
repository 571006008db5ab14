package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// Axis is what may be moved of a service.
//
// +kubebuilder:validation:Enum=Horizontal;VerticalRequests;VerticalLimits
type Axis string

const (
	Horizontal       Axis = "Horizontal"       // replicas
	VerticalRequests Axis = "VerticalRequests" // requests of a replica
	VerticalLimits   Axis = "VerticalLimits"   // limits of a replica
)

// MovedBy is who sets the replicas.
//
// +kubebuilder:validation:Enum=Scale;KEDA
type MovedBy string

const (
	ByScale MovedBy = "Scale" // Loadline, through the scale subresource
	ByKEDA  MovedBy = "KEDA"  // KEDA, which asks Loadline
)

// Resize is how sizes of replicas are changed.
//
// +kubebuilder:validation:Enum=InPlaceOnly;InPlaceOrRecreate
type Resize string

const (
	InPlaceOnly       Resize = "InPlaceOnly"
	InPlaceOrRecreate Resize = "InPlaceOrRecreate"
)

// Service is one workload of the application and what may be done with it.
//
// +kubebuilder:validation:XValidation:rule="!self.axes.exists(a, a != 'Horizontal') || has(self.bounds.cpu) || has(self.bounds.memory)",message="a vertical axis needs bounds.cpu or bounds.memory: only what has bounds is moved"
// +kubebuilder:validation:XValidation:rule="!has(self.optional) || 'Horizontal' in self.axes",message="an optional service is switched off by taking it to zero replicas: add Horizontal to axes"
// +kubebuilder:validation:XValidation:rule="!has(self.optional) || self.bounds.replicas.min == 0",messageExpression="'an optional service is switched off by taking it to zero replicas: bounds.replicas.min must be 0, not %d'.format([self.bounds.replicas.min])"
// +kubebuilder:validation:XValidation:rule="self.movedBy != 'KEDA' || 'Horizontal' in self.axes",message="KEDA moves replicas: add Horizontal to axes, or set movedBy to Scale"
// +kubebuilder:validation:XValidation:rule="self.resize != 'InPlaceOrRecreate' || self.axes.exists(a, a != 'Horizontal')",message="InPlaceOrRecreate is about sizes: add VerticalRequests or VerticalLimits to axes, or leave resize out"
// +kubebuilder:validation:XValidation:rule="!has(self.floor) || !has(self.floor.replicas) || self.floor.replicas <= self.bounds.replicas.max",messageExpression="'floor.replicas (%d) is above bounds.replicas.max (%d)'.format([self.floor.replicas, self.bounds.replicas.max])"
// +kubebuilder:validation:XValidation:rule="!has(self.floor) || !has(self.floor.cpu) || has(self.bounds.cpu)",message="floor.cpu needs bounds.cpu: only what has bounds is moved"
// +kubebuilder:validation:XValidation:rule="!has(self.floor) || !has(self.floor.cpu) || !has(self.bounds.cpu) || !quantity(string(self.floor.cpu)).isGreaterThan(quantity(string(self.bounds.cpu.max)))",messageExpression="'floor.cpu (' + string(self.floor.cpu) + ') is above bounds.cpu.max (' + string(self.bounds.cpu.max) + ')'"
// +kubebuilder:validation:XValidation:rule="!has(self.floor) || !has(self.floor.memory) || has(self.bounds.memory)",message="floor.memory needs bounds.memory: only what has bounds is moved"
// +kubebuilder:validation:XValidation:rule="!has(self.floor) || !has(self.floor.memory) || !has(self.bounds.memory) || !quantity(string(self.floor.memory)).isGreaterThan(quantity(string(self.bounds.memory.max)))",messageExpression="'floor.memory (' + string(self.floor.memory) + ') is above bounds.memory.max (' + string(self.bounds.memory.max) + ')'"
type Service struct {
	// The service's name in the metrics and in the model of the application, mostly
	// that of its Deployment.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="!(self in ['true', 'false', '*'])",message="has a meaning of its own in the annotation loadline.dev/paused: choose another name"
	// +kubebuilder:validation:XValidation:rule="!self.contains(',') && self.trim() == self",message="must not have commas, nor spaces around it"
	Name string `json:"name"`

	// The workload that is moved.
	// +required
	TargetRef TargetRef `json:"targetRef"`

	// The container whose size is moved. Left out, it is the only one that is no
	// sidecar, or the one that the annotation kubectl.kubernetes.io/default-container
	// names, or the first.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Container string `json:"container,omitempty"`

	// Nothing is ever set outside these.
	// +required
	Bounds Bounds `json:"bounds"`

	// What may be moved. Horizontal is the number of replicas. VerticalRequests is
	// what a replica requests, VerticalLimits what it is limited to, of CPU and memory
	// as far as they have bounds; with VerticalRequests alone, limits stay as they are.
	// +optional
	// +listType=set
	// +kubebuilder:default={Horizontal}
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	Axes []Axis `json:"axes,omitempty"`

	// The application works without this service: in need it is taken to zero replicas
	// (brownout) and brought back afterwards. Left out, it is not optional.
	// +optional
	Optional *Optional `json:"optional,omitempty"`

	// Who sets the replicas. Scale: Loadline, through the scale subresource. KEDA: a
	// ScaledObject with Loadline as its external trigger; Loadline then never writes
	// replicas. Beside a CPU trigger in that ScaledObject, moving CPU requests is a
	// conflict, which the controller finds and shows.
	// +optional
	// +kubebuilder:default=Scale
	MovedBy MovedBy `json:"movedBy,omitempty"`

	// How sizes are changed. InPlaceOnly resizes running pods and leaves alone those
	// that cannot be. InPlaceOrRecreate evicts such pods one at a time, within their
	// disruption budget, so that their successors have the size.
	// +optional
	// +kubebuilder:default=InPlaceOnly
	Resize Resize `json:"resize,omitempty"`

	// What is known to carry the usual peak. The service is raised to it when nobody
	// has known its load for guard.data.floorAfter. Left out, it is the replicas that
	// the twin declares, or else the lower bound.
	// +optional
	Floor *Floor `json:"floor,omitempty"`

	// Nothing is changed of this service while this is true. The annotation
	// loadline.dev/paused on its workload does the same.
	// +optional
	Paused bool `json:"paused,omitempty"`
}

// TargetRef is a workload of the resource's namespace with a scale subresource.
//
// +kubebuilder:validation:XValidation:rule="!(self.kind in ['Pod', 'DaemonSet', 'Job', 'CronJob'])",messageExpression="'a ' + self.kind + ' has no scale subresource: use a Deployment, a StatefulSet, a Rollout or another kind that has'"
type TargetRef struct {
	// Group and version, such as apps/v1 or argoproj.io/v1alpha1.
	// +optional
	// +kubebuilder:default="apps/v1"
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9.-]+/)?v[0-9]+((alpha|beta)[0-9]+)?$')",message="must be a group and a version, such as apps/v1"
	APIVersion string `json:"apiVersion,omitempty"`

	// Kind, such as Deployment, StatefulSet or Rollout.
	// +optional
	// +kubebuilder:default=Deployment
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind,omitempty"`

	// Name of the workload.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// Bounds are the least and the most that may be set.
type Bounds struct {
	// Replicas.
	// +required
	Replicas ReplicaBounds `json:"replicas"`

	// CPU of a replica, request and limit alike. Left out, CPU is not moved.
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self.min)).compareTo(quantity('1m')) >= 0",messageExpression="'bounds.cpu.min (' + string(self.min) + ') must be at least 1m'"
	// +kubebuilder:validation:XValidation:rule="!quantity(string(self.min)).isGreaterThan(quantity(string(self.max)))",messageExpression="'bounds.cpu.min (' + string(self.min) + ') is above max (' + string(self.max) + '): swap them'"
	CPU *QuantityBounds `json:"cpu,omitempty"`

	// Memory of a replica, request and limit alike. Left out, memory is not moved.
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self.min)).compareTo(quantity('1Mi')) >= 0",messageExpression="'bounds.memory.min (' + string(self.min) + ') must be at least 1Mi: is its unit missing?'"
	// +kubebuilder:validation:XValidation:rule="!quantity(string(self.min)).isGreaterThan(quantity(string(self.max)))",messageExpression="'bounds.memory.min (' + string(self.min) + ') is above max (' + string(self.max) + '): swap them'"
	Memory *QuantityBounds `json:"memory,omitempty"`
}

// ReplicaBounds are the fewest and the most replicas.
//
// +kubebuilder:validation:XValidation:rule="self.min <= self.max",messageExpression="'bounds.replicas.min (%d) is above max (%d): swap them'.format([self.min, self.max])"
type ReplicaBounds struct {
	// The fewest. 0 allows the service to be taken to zero.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100000
	Min *int32 `json:"min,omitempty"`

	// The most.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	Max int32 `json:"max"`
}

// QuantityBounds are the least and the most of CPU or memory.
type QuantityBounds struct {
	// The least, such as 100m of CPU or 64Mi of memory.
	// +required
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=32
	Min resource.Quantity `json:"min"`

	// The most, such as 2 of CPU or 1Gi of memory.
	// +required
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=32
	Max resource.Quantity `json:"max"`
}

// Optional says what it costs to do without a service.
type Optional struct {
	// What one dropped call to the service costs, in units of one request over its
	// objective: 1 is as bad as that, "0.1" a tenth of it.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:XValidation:rule="double(self) > 0.0 && double(self) <= 1000.0",message="must be above 0 and at most 1000: brownout is never free"
	Price Number `json:"price,omitzero"`
}

// Floor is a safe size. It is only ever a raise.
type Floor struct {
	// Replicas.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	Replicas *int32 `json:"replicas,omitempty"`

	// CPU of a replica's limit, and of its request if it has no limit.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=32
	CPU *resource.Quantity `json:"cpu,omitempty"`

	// Memory of a replica's limit, and of its request if it has no limit.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=32
	Memory *resource.Quantity `json:"memory,omitempty"`
}
