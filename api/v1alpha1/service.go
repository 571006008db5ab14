package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// Axis is a dimension in which a service is scaled.
//
// +kubebuilder:validation:Enum=Horizontal;VerticalRequests;VerticalLimits
type Axis string

const (
	Horizontal       Axis = "Horizontal"       // replicas
	VerticalRequests Axis = "VerticalRequests" // requests of a replica
	VerticalLimits   Axis = "VerticalLimits"   // limits of a replica
)

// MovedBy selects what sets the replicas.
//
// +kubebuilder:validation:Enum=Scale;KEDA;Knative
type MovedBy string

const (
	ByScale   MovedBy = "Scale"   // Loadline, through the scale subresource
	ByKEDA    MovedBy = "KEDA"    // KEDA, which queries Loadline
	ByKnative MovedBy = "Knative" // Loadline as the autoscaler of a Knative Service
)

// Resize is how sizes of replicas are changed.
//
// +kubebuilder:validation:Enum=InPlaceOnly;InPlaceOrRecreate
type Resize string

const (
	InPlaceOnly       Resize = "InPlaceOnly"
	InPlaceOrRecreate Resize = "InPlaceOrRecreate"
)

// Service is one workload of the application and how it may be scaled.
//
// +kubebuilder:validation:XValidation:rule="!self.axes.exists(a, a != 'Horizontal') || has(self.bounds.cpu) || has(self.bounds.memory)",message="a vertical axis needs bounds.cpu or bounds.memory: resources without bounds are not scaled"
// +kubebuilder:validation:XValidation:rule="!has(self.optional) || 'Horizontal' in self.axes",message="an optional service is switched off by scaling it to zero replicas: add Horizontal to axes"
// +kubebuilder:validation:XValidation:rule="!has(self.optional) || self.bounds.replicas.min == 0",messageExpression="'an optional service is switched off by scaling it to zero replicas: bounds.replicas.min must be 0, not %d'.format([self.bounds.replicas.min])"
// +kubebuilder:validation:XValidation:rule="self.movedBy != 'KEDA' || 'Horizontal' in self.axes",message="KEDA scales replicas: add Horizontal to axes, or set movedBy to Scale"
// +kubebuilder:validation:XValidation:rule="self.movedBy != 'Knative' || self.axes == ['Horizontal']",message="Knative makes the pods of a revision equal: axes must be Horizontal alone"
// +kubebuilder:validation:XValidation:rule="self.movedBy != 'Knative' || !has(self.optional)",message="a Knative Service cannot be switched off: a request that waits for it wakes it; leave optional out"
// +kubebuilder:validation:XValidation:rule="(self.movedBy == 'Knative') == (self.targetRef.kind == 'Service' && self.targetRef.apiVersion.startsWith('serving.knative.dev/'))",message="movedBy Knative is for a Knative Service, which nothing else can scale: set movedBy to Knative, and targetRef to apiVersion serving.knative.dev/v1 and kind Service"
// +kubebuilder:validation:XValidation:rule="self.resize != 'InPlaceOrRecreate' || self.axes.exists(a, a != 'Horizontal')",message="InPlaceOrRecreate is about sizes: add VerticalRequests or VerticalLimits to axes, or leave resize out"
// +kubebuilder:validation:XValidation:rule="!has(self.floor) || !has(self.floor.replicas) || self.floor.replicas <= self.bounds.replicas.max",messageExpression="'floor.replicas (%d) is above bounds.replicas.max (%d)'.format([self.floor.replicas, self.bounds.replicas.max])"
// +kubebuilder:validation:XValidation:rule="!has(self.schedule) || 'Horizontal' in self.axes",message="a schedule is about replicas: add Horizontal to axes"
// +kubebuilder:validation:XValidation:rule="!has(self.schedule) || self.schedule.all(w, w.replicas <= self.bounds.replicas.max)",message="schedule: replicas are above bounds.replicas.max"
// +kubebuilder:validation:XValidation:rule="!has(self.floor) || !has(self.floor.cpu) || has(self.bounds.cpu)",message="floor.cpu needs bounds.cpu: resources without bounds are not scaled"
// +kubebuilder:validation:XValidation:rule="!has(self.floor) || !has(self.floor.cpu) || !has(self.bounds.cpu) || !quantity(string(self.floor.cpu)).isGreaterThan(quantity(string(self.bounds.cpu.max)))",messageExpression="'floor.cpu (' + string(self.floor.cpu) + ') is above bounds.cpu.max (' + string(self.bounds.cpu.max) + ')'"
// +kubebuilder:validation:XValidation:rule="!has(self.floor) || !has(self.floor.memory) || has(self.bounds.memory)",message="floor.memory needs bounds.memory: resources without bounds are not scaled"
// +kubebuilder:validation:XValidation:rule="!has(self.floor) || !has(self.floor.memory) || !has(self.bounds.memory) || !quantity(string(self.floor.memory)).isGreaterThan(quantity(string(self.bounds.memory.max)))",messageExpression="'floor.memory (' + string(self.floor.memory) + ') is above bounds.memory.max (' + string(self.bounds.memory.max) + ')'"
type Service struct {
	// The service's name in the metrics and in the application model, usually that of
	// its Deployment.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="!(self in ['true', 'false', '*'])",message="is a reserved value of the annotation loadline.dev/paused: choose another name"
	// +kubebuilder:validation:XValidation:rule="!self.contains(',') && self.trim() == self",message="must not have commas, nor spaces around it"
	Name string `json:"name"`

	// The workload to scale.
	// +required
	TargetRef TargetRef `json:"targetRef"`

	// The container to resize. Left out, it is the only one that is not a sidecar, or
	// the one named by the annotation kubectl.kubernetes.io/default-container, or the
	// first.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Container string `json:"container,omitempty"`

	// The queue from which its pods take their work. Its load is then that of the
	// queue, and an objective with this service is about the time in queue.
	// +optional
	Queue *Queue `json:"queue,omitempty"`

	// Nothing is ever set outside these bounds.
	// +required
	Bounds Bounds `json:"bounds"`

	// The dimensions to scale. Horizontal is the number of replicas. VerticalRequests
	// is the CPU and memory requests of a replica, VerticalLimits its limits, each
	// only if it has bounds; with VerticalRequests alone, limits are not changed.
	// +optional
	// +listType=set
	// +kubebuilder:default={Horizontal}
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	Axes []Axis `json:"axes,omitempty"`

	// The application works without this service: under overload it is scaled to zero
	// replicas (brownout) and restored afterwards. Left out, it is not optional.
	// +optional
	Optional *Optional `json:"optional,omitempty"`

	// What sets the replicas. Scale: Loadline, through the scale subresource. KEDA: a
	// ScaledObject with Loadline as its external trigger; Loadline then does not write
	// replicas. Changing CPU requests while that ScaledObject has a CPU trigger is a
	// conflict, which the controller detects and reports. Knative: the autoscaler class
	// loadline.dev of a Knative Service, which loadline run --knative is.
	// +optional
	// +kubebuilder:default=Scale
	MovedBy MovedBy `json:"movedBy,omitempty"`

	// How sizes are changed. InPlaceOnly resizes running pods and skips those that
	// cannot be resized. InPlaceOrRecreate evicts such pods one at a time, within
	// their disruption budget, so that their replacements have the size.
	// +optional
	// +kubebuilder:default=InPlaceOnly
	Resize Resize `json:"resize,omitempty"`

	// A size that is enough for the usual peak. The service is raised to it when its
	// load has been unknown for guard.data.floorAfter. Left out, it is the replicas
	// that the twin declares, or else the lower bound.
	// +optional
	Floor *Floor `json:"floor,omitempty"`

	// Least replicas at certain times, such as working hours. They hold whatever the
	// policy proposes, and on every rung; of several that are open the largest counts.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Schedule []ScheduledFloor `json:"schedule,omitempty"`

	// This service is not changed while this is true. The annotation
	// loadline.dev/paused on its workload has the same effect.
	// +optional
	Paused bool `json:"paused,omitempty"`

	// Selected: spec.selector found it. It is part of no resource: the controller
	// completes the list of services in memory.
	Selected bool `json:"-"`
}

// TargetRef is a workload in the resource's namespace with a scale subresource.
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

// Bounds are the minimum and maximum values.
type Bounds struct {
	// Replicas.
	// +required
	Replicas ReplicaBounds `json:"replicas"`

	// CPU of a replica, for request and limit. Left out, CPU is not scaled.
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self.min)).compareTo(quantity('1m')) >= 0",messageExpression="'bounds.cpu.min (' + string(self.min) + ') must be at least 1m'"
	// +kubebuilder:validation:XValidation:rule="!quantity(string(self.min)).isGreaterThan(quantity(string(self.max)))",messageExpression="'bounds.cpu.min (' + string(self.min) + ') is above max (' + string(self.max) + '): swap them'"
	CPU *QuantityBounds `json:"cpu,omitempty"`

	// Memory of a replica, for request and limit. Left out, memory is not scaled.
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self.min)).compareTo(quantity('1Mi')) >= 0",messageExpression="'bounds.memory.min (' + string(self.min) + ') must be at least 1Mi: is its unit missing?'"
	// +kubebuilder:validation:XValidation:rule="!quantity(string(self.min)).isGreaterThan(quantity(string(self.max)))",messageExpression="'bounds.memory.min (' + string(self.min) + ') is above max (' + string(self.max) + '): swap them'"
	Memory *QuantityBounds `json:"memory,omitempty"`
}

// ReplicaBounds are the minimum and maximum replicas.
//
// +kubebuilder:validation:XValidation:rule="self.min <= self.max",messageExpression="'bounds.replicas.min (%d) is above max (%d): swap them'.format([self.min, self.max])"
type ReplicaBounds struct {
	// The minimum. 0 allows scaling to zero.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100000
	Min *int32 `json:"min,omitempty"`

	// The maximum.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	Max int32 `json:"max"`
}

// QuantityBounds are the minimum and maximum of CPU or memory.
type QuantityBounds struct {
	// The minimum, such as 100m of CPU or 64Mi of memory.
	// +required
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=32
	Min resource.Quantity `json:"min"`

	// The maximum, such as 2 of CPU or 1Gi of memory.
	// +required
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=32
	Max resource.Quantity `json:"max"`
}

// Optional is the cost of switching a service off.
type Optional struct {
	// The cost of one dropped call to the service, in units of one request over its
	// objective: 1 is as bad as that, "0.1" a tenth of it.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:XValidation:rule="double(self) > 0.0 && double(self) <= 1000.0",message="must be above 0 and at most 1000: brownout is never free"
	Price Number `json:"price,omitzero"`
}

// Floor is a safe size. It is only used to raise.
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

// ScheduledFloor is least replicas from each occurrence of one cron expression to the
// next occurrence of another.
type ScheduledFloor struct {
	// Name of the schedule, such as office-hours, for the records.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// When it begins, as a cron expression of five fields, such as "0 8 * * 1-5".
	// Pods need time to start: begin that much earlier.
	// +required
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches('^ *([^ ]+ +){4}[^ ]+ *$')",message="must have five fields: minute, hour, day of the month, month, day of the week, such as 0 8 * * 1-5"
	Start string `json:"start"`

	// When it ends, likewise.
	// +required
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches('^ *([^ ]+ +){4}[^ ]+ *$')",message="must have five fields: minute, hour, day of the month, month, day of the week, such as 0 20 * * 1-5"
	End string `json:"end"`

	// The time zone of both, such as Europe/Berlin. Left out, it is UTC.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone,omitempty"`

	// The least replicas.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	Replicas int32 `json:"replicas"`
}
