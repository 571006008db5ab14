package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// LoadLineClass has what the LoadLines of a cluster share: a default Prometheus,
// prices, node pools, and one reserve of free room for all of them.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=llc,scope=Cluster
// +kubebuilder:printcolumn:name="Default",type=string,JSONPath=`.metadata.annotations.loadline\.dev/is-default-class`,description="Whether LoadLines without spec.className belong to it."
// +kubebuilder:printcolumn:name="LoadLines",type=integer,JSONPath=`.status.loadLines`,description="LoadLines of this class."
// +kubebuilder:printcolumn:name="Reserve",type=string,JSONPath=`.spec.reserve.policy`,description="How the reserve is held."
// +kubebuilder:printcolumn:name="Wanted",type=string,JSONPath=`.status.reserve.wanted.cpu`,description="Cores to keep free."
// +kubebuilder:printcolumn:name="Held",type=string,JSONPath=`.status.reserve.held.cpu`,description="Cores that are kept free."
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Memory wanted",type=string,JSONPath=`.status.reserve.wanted.memory`,priority=1,description="Memory to keep free."
// +kubebuilder:printcolumn:name="Memory held",type=string,JSONPath=`.status.reserve.held.memory`,priority=1,description="Memory that is kept free."
// +kubebuilder:printcolumn:name="Per hour",type=string,JSONPath=`.status.reserve.costPerHour`,priority=1,description="What the held reserve costs per hour."
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 46",messageExpression="'metadata.name has %d characters: use at most 46, so that the name of its reserve fits into labels'.format([self.metadata.name.size()])"
type LoadLineClass struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What LoadLines of this class share.
	// +optional
	Spec LoadLineClassSpec `json:"spec,omitzero"`

	// What Loadline observes and holds. Written only by the controller.
	// +optional
	Status LoadLineClassStatus `json:"status,omitzero"`
}

// LoadLineClassList is a list of classes.
//
// +kubebuilder:object:root=true
type LoadLineClassList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []LoadLineClass `json:"items"`
}

// DefaultClassAnnotation with the value "true" marks the class of all LoadLines
// without spec.className. Of several, the one created last counts, as with
// StorageClasses.
const DefaultClassAnnotation = "loadline.dev/is-default-class"

// IsDefault reports whether the class is marked as the default.
func (c *LoadLineClass) IsDefault() bool { return c.Annotations[DefaultClassAnnotation] == "true" }

// LoadLineClassSpec is what LoadLines of a class share.
type LoadLineClassSpec struct {
	// The Prometheus of LoadLines that give no spec.prometheus.url. Its Secrets and
	// ConfigMaps are in the controller's namespace.
	// +optional
	// +kubebuilder:validation:XValidation:rule="has(self.url)",message="url is missing: give the address of the server, such as http://prometheus.monitoring:9090"
	Prometheus *PrometheusServer `json:"prometheus,omitempty"`

	// Prices, for what the reserve costs. Left out, they are those of "loadline
	// simulate".
	// +optional
	Prices *Prices `json:"prices,omitempty"`

	// The node pools that pods of these applications run on.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	NodePools []NodePool `json:"nodePools,omitempty"`

	// The reserve: free room on nodes for pods to come, one for all LoadLines of this
	// class with mode Act.
	// +optional
	Reserve Reserve `json:"reserve,omitzero"`
}

// Prices are per hour.
type Prices struct {
	// Price of a core.
	// +optional
	// +kubebuilder:validation:XValidation:rule="double(string(self)) >= 0.000001 && double(string(self)) <= 10000.0",message="must be from 0.000001 to 10000"
	CoreHour *Number `json:"coreHour,omitempty"`

	// Price of a GiB of memory.
	// +optional
	// +kubebuilder:validation:XValidation:rule="double(string(self)) >= 0.000001 && double(string(self)) <= 10000.0",message="must be from 0.000001 to 10000"
	GiBHour *Number `json:"gibHour,omitempty"`

	// Prices of whole nodes, by instance type.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, double(string(self[k])) >= 0.000001 && double(string(self[k])) <= 10000.0)",message="prices of instances must be from 0.000001 to 10000"
	Instances map[string]Number `json:"instances,omitempty"`

	// The currency, for output.
	// +optional
	// +kubebuilder:validation:MaxLength=3
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Z]{3}$')",message="must be a code of three letters, such as EUR"
	Currency string `json:"currency,omitempty"`
}

// NodePool is a group of like nodes that an autoscaler adds and removes.
type NodePool struct {
	// Name of the pool.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// The time from a pod without a place until a new node of the pool is ready.
	// +required
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('1h')",message="must be longer than 0s and at most 1h"
	Startup Duration `json:"startup"`

	// Room of a node for pods.
	// +required
	Allocatable Room `json:"allocatable"`

	// The instance type of its nodes, for its price.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	InstanceType string `json:"instanceType,omitempty"`
}

// Room is CPU and memory on nodes.
//
// +kubebuilder:validation:XValidation:rule="quantity(string(self.cpu)).compareTo(quantity('1m')) >= 0",messageExpression="'cpu (' + string(self.cpu) + ') must be at least 1m'"
// +kubebuilder:validation:XValidation:rule="quantity(string(self.memory)).compareTo(quantity('1Mi')) >= 0",messageExpression="'memory (' + string(self.memory) + ') must be at least 1Mi: is its unit missing?'"
type Room struct {
	// Cores, such as 3900m.
	// +required
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=32
	CPU resource.Quantity `json:"cpu"`

	// Memory, such as 14Gi.
	// +required
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=32
	Memory resource.Quantity `json:"memory"`
}

// ReservePolicy is how a reserve is held.
//
// +kubebuilder:validation:Enum=Off;Placeholder;CapacityBuffer;Auto
type ReservePolicy string

const (
	ReserveOff            ReservePolicy = "Off"            // none is held; its size is shown
	ReservePlaceholder    ReservePolicy = "Placeholder"    // by pods of low priority
	ReserveCapacityBuffer ReservePolicy = "CapacityBuffer" // by the cluster's node autoscaler
	ReserveAuto           ReservePolicy = "Auto"           // by a CapacityBuffer if the cluster has them
)

// Reserve is the free room on nodes that is kept for pods to come.
//
// +kubebuilder:validation:XValidation:rule="self.policy == 'Off' || has(self.max)",messageExpression="'max is missing: the policy ' + self.policy + ' costs money, so give the most that may be kept free, such as {cpu: 8, memory: 32Gi}'"
type Reserve struct {
	// How it is held. Off: not at all. Placeholder: by a Deployment of pods with a
	// negative priority, which give way at once. CapacityBuffer: by a CapacityBuffer
	// (autoscaling.x-k8s.io), which Cluster Autoscaler and Karpenter provide nodes for.
	// Auto: by a CapacityBuffer if the cluster has this API, else by placeholders.
	// +optional
	// +kubebuilder:default=Off
	Policy ReservePolicy `json:"policy,omitempty"`

	// The most that is kept free. Required unless the policy is Off.
	// +optional
	Max *Room `json:"max,omitempty"`

	// The priority class of the placeholder pods. Its value must be negative, and its
	// preemptionPolicy Never, so that a placeholder never displaces another pod.
	// +optional
	// +kubebuilder:default="loadline-reserve"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	PriorityClassName string `json:"priorityClassName,omitempty"`

	// The namespace of the reserve's objects, in which the controller may write
	// (deploy/reserve).
	// +optional
	// +kubebuilder:default="loadline-reserve"
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must be the name of a namespace"
	Namespace string `json:"namespace,omitempty"`

	// The image of the placeholder pods, which does nothing.
	// +optional
	// +kubebuilder:default="registry.k8s.io/pause:3.10"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image,omitempty"`
}

// LoadLineClassStatus is what Loadline observes and holds.
type LoadLineClassStatus struct {
	// The generation of the spec that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions: ReserveHeld.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// LoadLines of this class.
	// +optional
	// +kubebuilder:validation:Minimum=0
	LoadLines int32 `json:"loadLines,omitempty"`

	// The reserve.
	// +optional
	Reserve *ReserveStatus `json:"reserve,omitempty"`
}

// ReserveStatus is the state of a reserve. With the policy Off it shows what would be
// held.
type ReserveStatus struct {
	// How it is held: Placeholder or CapacityBuffer. Left out, it is not.
	// +optional
	By ReservePolicy `json:"by,omitempty"`

	// The namespace of its objects.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`

	// What is to be kept free for LoadLines with mode Act, all together, within max.
	// +optional
	Wanted *Amount `json:"wanted,omitempty"`

	// What is kept free: the room of placeholder pods that run, or that the node
	// autoscaler reports as provided.
	// +optional
	Held *Amount `json:"held,omitempty"`

	// Pods that the reserve consists of.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Pods int32 `json:"pods,omitempty"`

	// The size of each, that of the largest pod of these LoadLines, rounded up.
	// +optional
	PodSize *Amount `json:"podSize,omitempty"`

	// The cost of what is held, per hour.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	CostPerHour string `json:"costPerHour,omitempty"`

	// What the policies of LoadLines want kept free, the largest first, at most 100.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	Applications []ApplicationReserve `json:"applications,omitempty"`
}

// ApplicationReserve is what the policy of one LoadLine wants kept free.
type ApplicationReserve struct {
	// Namespace of the LoadLine.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`

	// Name of the LoadLine.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// What it wants.
	// +required
	Wanted Amount `json:"wanted"`

	// Whether it counts: only LoadLines with mode Act do.
	// +optional
	Counted bool `json:"counted,omitempty"`
}

// Amount is an amount of CPU and memory in a status.
type Amount struct {
	// Cores.
	// +optional
	CPU *resource.Quantity `json:"cpu,omitempty"`

	// Memory.
	// +optional
	Memory *resource.Quantity `json:"memory,omitempty"`
}
