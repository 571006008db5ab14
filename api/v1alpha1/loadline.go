package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// LoadLine is one application managed by Loadline: its objectives, metrics,
// policy, bounds, and the services that may be scaled. Start with mode Recommend,
// check the status, then switch to Act.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=ll,scope=Namespaced
// +kubebuilder:printcolumn:name="Mode",type=string,JSONPath=`.spec.mode`,description="What Loadline may do: Observe, Recommend or Act."
// +kubebuilder:printcolumn:name="Rung",type=string,JSONPath=`.status.ladder.rung`,description="The policy that is followed: Primary, Rule, Hold or Floor."
// +kubebuilder:printcolumn:name="Policy",type=string,JSONPath=`.status.policy`,description="The policy in control."
// +kubebuilder:printcolumn:name="SLO met",type=string,JSONPath=`.status.sloMet`,description="Whether all objectives were met at the last decision."
// +kubebuilder:printcolumn:name="Services",type=string,JSONPath=`.status.servicesMoved`,description="Services that can be scaled now, of all."
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Decided",type=date,JSONPath=`.status.lastDecisionTime`,priority=1,description="When the last decision was made."
// +kubebuilder:printcolumn:name="Why",type=string,JSONPath=`.status.ladder.why`,priority=1,description="Why this rung is in force."
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",messageExpression="'metadata.name has %d characters: use at most 63, so that it fits into labels'.format([self.metadata.name.size()])"
type LoadLine struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The desired behaviour.
	// +required
	Spec LoadLineSpec `json:"spec"`

	// What Loadline observes, proposes and applies. Written only by the controller.
	// +optional
	Status LoadLineStatus `json:"status,omitzero"`
}

// LoadLineList is a list of applications.
//
// +kubebuilder:object:root=true
type LoadLineList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []LoadLine `json:"items"`
}

// BrownoutFinalizer keeps a LoadLine until the workloads in status.brownedOut are
// restored. A LoadLine has it only while there are any.
const BrownoutFinalizer = "loadline.dev/restore-brownout"

// Mode is what Loadline may do with an application.
//
// +kubebuilder:validation:Enum=Observe;Recommend;Act
type Mode string

const (
	Observe   Mode = "Observe"   // observes only
	Recommend Mode = "Recommend" // decides and reports, changes nothing
	Act       Mode = "Act"       // decides and applies
)

// LoadLineSpec is the desired behaviour.
//
// +kubebuilder:validation:XValidation:rule="!has(self.services) || self.services.all(s, self.services.exists_one(t, t.targetRef.name == s.targetRef.name && t.targetRef.kind == s.targetRef.kind && t.targetRef.apiVersion == s.targetRef.apiVersion))",message="two services have the same targetRef: each workload may be named once"
// +kubebuilder:validation:XValidation:rule="has(self.selector) || has(self.services) && self.services.size() > 0",message="services is empty and there is no selector: name at least one service, or give a selector"
// +kubebuilder:validation:XValidation:rule="has(self.selector) == has(self.template)",message="selector and template belong together: the selector finds services, the template has their bounds"
// +kubebuilder:validation:XValidation:rule="!has(self.selector) || has(self.twin) || self.objectives.all(o, has(o.service) || has(self.services) && self.services.size() > 0)",message="with a selector and without services no service is the first: say in each objective at which service its requests arrive"
type LoadLineSpec struct {
	// The service level objectives, for each kind of request. An objective without a
	// kind applies to all kinds without an objective of their own.
	// +required
	// +listType=map
	// +listMapKey=kind
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Objectives []Objective `json:"objectives"`

	// The LoadLineClass, which has what the applications of a cluster share. Left out,
	// it is the class with the annotation loadline.dev/is-default-class, if there is
	// one.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ClassName string `json:"className,omitempty"`

	// The source of the application's metrics. Without a url it is the Prometheus of
	// the class.
	// +optional
	Prometheus PrometheusSource `json:"prometheus,omitzero"`

	// The time between two decisions, from 1s to 10m. A policy with a longer period
	// is called at that period.
	// +optional
	// +kubebuilder:default="15s"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('10m')",message="must be from 1s to 10m"
	Interval Duration `json:"interval,omitzero"`

	// What Loadline may do. Observe only observes. Recommend decides and shows in the
	// status and in its records what it would do. Act applies the decisions.
	// +optional
	// +kubebuilder:default=Recommend
	Mode Mode `json:"mode,omitempty"`

	// The policy: a trained model or a baseline. Left out, it is {baseline: planner},
	// which is stored when the resource is created.
	// +optional
	// +kubebuilder:default={baseline: "planner"}
	Policy Policy `json:"policy,omitzero"`

	// The rule that takes over when the policy cannot be used: a baseline by name,
	// with settings if any, such as "hpa:target=60".
	// +optional
	// +kubebuilder:default="hpa"
	Fallback Baseline `json:"fallback,omitempty"`

	// The application model (twin.yaml of a training run): a key of a ConfigMap in
	// this namespace. With it, decisions are recorded with their predicted effect,
	// and baselines that depend on the CPU cost of a request can use it.
	// +optional
	Twin *ConfigMapKey `json:"twin,omitempty"`

	// How the application is compared with its twin, with which its deployment was
	// judged.
	// +optional
	Drift *Drift `json:"drift,omitempty"`

	// Settings of the guards, which correct the proposals of any policy. Each group
	// that is left out has its defaults, which suit most applications.
	// +optional
	Guard *GuardSettings `json:"guard,omitempty"`

	// The services that may be scaled, at most 200.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=200
	Services []Service `json:"services,omitempty"`

	// Workloads of this namespace that may be scaled too, by their labels. Those that
	// services name are as they say there. Workloads that get the labels later are
	// added, and those that lose them are left as they are.
	// +optional
	Selector *Selector `json:"selector,omitempty"`

	// How the services that the selector finds may be scaled.
	// +optional
	Template *Template `json:"template,omitempty"`

	// Announced changes of the load, such as a sale. Policies that forecast take them
	// into account, so that there is capacity before an event begins. The annotation
	// loadline.dev/events has the same effect.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Events []Event `json:"events,omitempty"`

	// How long a manual change of a service's replicas or sizes, by a person or
	// another tool, is respected, from 0s (corrected at the next decision) to 168h.
	// +optional
	// +kubebuilder:default="1h"
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('168h')",message="must be at most 168h; to leave the application alone for longer, pause it"
	RespectManualChangesFor *Duration `json:"respectManualChangesFor,omitempty"`

	// Nothing is changed while this is true, whatever the mode; decisions are still
	// made and shown. The annotation loadline.dev/paused has the same effect.
	// +optional
	Paused bool `json:"paused,omitempty"`
}
