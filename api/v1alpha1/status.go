package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MaxText is the maximum number of characters of a sentence in the status; longer
// ones are truncated by the writer.
const MaxText = 512

// LoadLineStatus is what Loadline observes, proposes and applies.
type LoadLineStatus struct {
	// The generation of the resource that this status describes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Ready, Active, Fallback, Paused, Conflict and Stale.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// The mode in force. It differs from spec.mode until a change takes effect.
	// +optional
	Mode Mode `json:"mode,omitempty"`

	// The policy in control, such as "shop version 2" or "hpa:target=60".
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Policy string `json:"policy,omitempty"`

	// The state of the guard's ladder. A restarted controller continues from here.
	// +optional
	Ladder *LadderStatus `json:"ladder,omitempty"`

	// What the guards must not forget when the controller ends. A restarted one
	// continues from here.
	// +optional
	Memory *GuardMemory `json:"memory,omitempty"`

	// Whether all objectives were met at the last decision: True, False or Unknown.
	// +optional
	// +kubebuilder:validation:Enum=True;False;Unknown
	SLOMet string `json:"sloMet,omitempty"`

	// The objectives at the last decision.
	// +optional
	// +listType=map
	// +listMapKey=kind
	// +kubebuilder:validation:MaxItems=64
	Objectives []ObjectiveStatus `json:"objectives,omitempty"`

	// Services that can be scaled now, of all: "4/5".
	// +optional
	// +kubebuilder:validation:MaxLength=16
	ServicesMoved string `json:"servicesMoved,omitempty"`

	// When the last decision was made.
	// +optional
	LastDecisionTime *metav1.Time `json:"lastDecisionTime,omitempty"`

	// The services: what was observed, proposed and applied, and why.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=200
	Services []ServiceStatus `json:"services,omitempty"`

	// The workloads that a brownout scales to zero. An entry is written before its
	// workload is scaled, and removed once the workload has replicas again. It outlives
	// the brownout: a workload whose brownout cannot end in the usual way (the LoadLine
	// is deleted, its mode or agent changes, the service is removed or no longer
	// optional) is restored from it.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=400
	BrownedOut []BrownedOut `json:"brownedOut,omitempty"`

	// What the policy wants kept free on nodes for pods to come. The reserve of the class
	// is for all LoadLines together.
	// +optional
	Reserve *Amount `json:"reserve,omitempty"`

	// The announced event that is running, or else the next one.
	// +optional
	Event *EventStatus `json:"event,omitempty"`

	// How the application compares with its twin. Left out without one.
	// +optional
	Drift *DriftStatus `json:"drift,omitempty"`

	// What the deployment and the runner-up would cost under the load of the last hours,
	// estimated on the twin.
	// +optional
	Portfolio *PortfolioStatus `json:"portfolio,omitempty"`

	// The agent that wrote this status: its value of the label loadline.dev/agent.
	// Left out, it is the controller.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Agent string `json:"agent,omitempty"`
}

// EventStatus is an announced event.
type EventStatus struct {
	// Its name.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// When it begins.
	// +required
	Start metav1.Time `json:"start"`

	// When it ends.
	// +required
	End metav1.Time `json:"end"`

	// How many times as many requests are expected.
	// +required
	Factor Measured `json:"factor"`

	// Whether it has begun.
	// +optional
	Running bool `json:"running,omitempty"`
}

// BrownedOut is a workload at zero replicas because of a brownout.
type BrownedOut struct {
	// The service's name.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Service string `json:"service"`

	// Its workload.
	// +required
	TargetRef TargetRef `json:"targetRef"`

	// What scaled the workload to zero.
	// +optional
	MovedBy MovedBy `json:"movedBy,omitempty"`

	// The replicas before the brownout.
	// +required
	// +kubebuilder:validation:Minimum=1
	Replicas int32 `json:"replicas"`
}

// Rung is the policy that is followed.
//
// +kubebuilder:validation:Enum=Primary;Rule;Hold;Floor;Learned
type Rung string

const (
	RungPrimary Rung = "Primary" // spec.policy
	RungRule    Rung = "Rule"    // the fallback
	RungHold    Rung = "Hold"    // none: everything stays as it is
	RungFloor   Rung = "Floor"   // none, for so long that services were raised to a safe size
)

// rungLearned is Primary as earlier versions wrote it.
const rungLearned Rung = "Learned"

// Current is the rung by its present name.
func (r Rung) Current() Rung {
	if r == rungLearned {
		return RungPrimary
	}
	return r
}

// LadderStatus is the state of the guard's ladder.
type LadderStatus struct {
	// The policy that is followed. Primary: spec.policy. Rule: the fallback. Hold:
	// none, everything stays as it is. Floor: none, for so long that services were
	// raised to their floors. Learned is Primary as earlier versions wrote it.
	// +required
	Rung Rung `json:"rung"`

	// Since when.
	// +optional
	Since metav1.Time `json:"since,omitzero"`

	// Why.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Why string `json:"why,omitempty"`

	// The policy is not in control because of its own behaviour. A restart keeps
	// this.
	// +optional
	Distrust bool `json:"distrust,omitempty"`

	// How long objectives must be met before the policy is in control again.
	// +optional
	Recovery Duration `json:"recovery,omitzero"`
}

// Measured is a measured number, as text. A number that was not measured is left
// out: absent is not zero.
//
// +kubebuilder:validation:MaxLength=32
type Measured string

// ObjectiveStatus is the state of one objective.
type ObjectiveStatus struct {
	// The kind of request.
	// +required
	// +kubebuilder:validation:MaxLength=128
	Kind string `json:"kind"`

	// Requests per second.
	// +optional
	Rate Measured `json:"rate,omitempty"`

	// The latency at the objective's percentile.
	// +optional
	Latency *Duration `json:"latency,omitempty"`

	// That latency divided by the objective: above 1 the objective is missed.
	// +optional
	OverSLO Measured `json:"overSLO,omitempty"`

	// Whether it is met; left out if it was not measured.
	// +optional
	Met *bool `json:"met,omitempty"`
}

// ServiceState says whether a service can be scaled now.
//
// +kubebuilder:validation:Enum=Moved;Recommended;Paused;Conflict;RollingOut;ManualChange;NotFound;Unseen
type ServiceState string

const (
	ServiceMoved        ServiceState = "Moved"        // decisions are applied
	ServiceRecommended  ServiceState = "Recommended"  // decisions are only shown, because of the mode
	ServicePaused       ServiceState = "Paused"       // by the resource or an annotation
	ServiceConflict     ServiceState = "Conflict"     // another autoscaler manages it
	ServiceRollingOut   ServiceState = "RollingOut"   // a rollout is in progress
	ServiceManualChange ServiceState = "ManualChange" // a manual change is respected
	ServiceNotFound     ServiceState = "NotFound"     // its targetRef does not exist
	ServiceUnseen       ServiceState = "Unseen"       // neither its rate nor its CPU is measured
)

// ServiceStatus is the state of one service.
type ServiceStatus struct {
	// The service's name.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// Whether it can be scaled now. Moved: decisions are applied. Recommended: they
	// are only shown. Paused, Conflict, RollingOut, ManualChange, NotFound and Unseen
	// say what blocks changes.
	// +optional
	State ServiceState `json:"state,omitempty"`

	// What was observed at the last decision.
	// +optional
	Seen *Seen `json:"seen,omitempty"`

	// What the policy in control proposed. What is left out stays as it is.
	// +optional
	Wanted *Amounts `json:"wanted,omitempty"`

	// The desired state of the service, after all guards.
	// +optional
	Applied *Amounts `json:"applied,omitempty"`

	// The size of pods created from now on, while Loadline scales the size of the
	// service's replicas. The admission policy "loadline-pod-size" reads it.
	// +optional
	Size *Amounts `json:"size,omitempty"`

	// The reason, in a sentence: of the policy, or of the guard that changed its
	// proposal.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Why string `json:"why,omitempty"`

	// When it was last changed.
	// +optional
	LastChangeTime *metav1.Time `json:"lastChangeTime,omitempty"`

	// Until when a manual change is respected.
	// +optional
	ManualUntil *metav1.Time `json:"manualUntil,omitempty"`

	// What the guards must not forget of the service.
	// +optional
	Memory *ServiceMemory `json:"memory,omitempty"`
}

// GuardMemory is what the guards of an application must not forget. That of a
// service is with the service.
type GuardMemory struct {
	// The pass that it is of.
	// +required
	Time metav1.MicroTime `json:"time"`

	// Kinds of requests whose share over the SLO has been measured. While one of them
	// is not, nothing is reduced.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=128
	Kinds []string `json:"kinds,omitempty"`

	// Optional services that are to be off, in the order in which they were switched
	// off.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=200
	// +kubebuilder:validation:items:MaxLength=63
	Off []string `json:"off,omitempty"`

	// When an optional service was last switched off or on.
	// +optional
	Switched *metav1.MicroTime `json:"switched,omitempty"`

	// Since when the objectives have been met during a brownout.
	// +optional
	MetSince *metav1.MicroTime `json:"metSince,omitempty"`
}

// ServiceMemory is what the guards must not forget of one service.
type ServiceMemory struct {
	// When it was last raised.
	// +optional
	Raised *metav1.MicroTime `json:"raised,omitempty"`

	// When it was last reduced.
	// +optional
	Reduced *metav1.MicroTime `json:"reduced,omitempty"`

	// The gradual scale-in that is under way, or was taken back.
	// +optional
	ScaleIn *ScaleIn `json:"scaleIn,omitempty"`
}

// ScaleIn is a reduction in two steps.
type ScaleIn struct {
	// The stage. first, second: the step is being watched. approved: the second step
	// may follow. reverted: a step was taken back. unwatched: a step is over that was
	// not measured all the time.
	// +required
	// +kubebuilder:validation:Enum=first;approved;second;reverted;unwatched
	Stage string `json:"stage"`

	// Since when.
	// +required
	Since metav1.MicroTime `json:"since"`

	// The step was not measured all the time.
	// +optional
	Interrupted bool `json:"interrupted,omitempty"`

	// The allocation before the first step, which a reversal returns to.
	// +required
	Before Amounts `json:"before"`

	// The allocation that both steps lead to.
	// +required
	Target Amounts `json:"target"`

	// The allocation before the last step.
	// +required
	Last Amounts `json:"last"`

	// Replicas after the last step.
	// +required
	// +kubebuilder:validation:Minimum=0
	Low int32 `json:"low"`
}

// Seen is an observation of a service. Values that were not measured are left
// out.
type Seen struct {
	// Time of the observation.
	// +required
	Time metav1.Time `json:"time"`

	// Visits per second.
	// +optional
	Rate Measured `json:"rate,omitempty"`

	// Cores in use, by all its pods.
	// +optional
	CPU *resource.Quantity `json:"cpu,omitempty"`

	// The p99 latency of the service relative to its share of the objective, or to the
	// whole objective if it is not split: above 1 the share is exceeded.
	// +optional
	P99OverSLO Measured `json:"p99OverSLO,omitempty"`

	// Pods that are ready.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ReadyReplicas *int32 `json:"readyReplicas,omitempty"`

	// How many of the ready pods are behind the figures: "7/14". Pods that are too new
	// to be measured do not count. If more than one in ten is missing, the service is
	// not reduced, and its figures are scaled to all pods. Left out if the figures are
	// not measured pod by pod.
	// +optional
	// +kubebuilder:validation:MaxLength=24
	MeasuredPods string `json:"measuredPods,omitempty"`
}

// Amounts are the replicas of a service, and the resources of each.
type Amounts struct {
	// Replicas.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Replicas *int32 `json:"replicas,omitempty"`

	// CPU request of a replica.
	// +optional
	CPURequest *resource.Quantity `json:"cpuRequest,omitempty"`

	// CPU limit of a replica; 0 is no limit.
	// +optional
	CPULimit *resource.Quantity `json:"cpuLimit,omitempty"`

	// Memory request of a replica.
	// +optional
	MemoryRequest *resource.Quantity `json:"memoryRequest,omitempty"`

	// Memory limit of a replica; 0 is no limit.
	// +optional
	MemoryLimit *resource.Quantity `json:"memoryLimit,omitempty"`

	// The service is in brownout: optional calls to it are dropped.
	// +optional
	Brownout *bool `json:"brownout,omitempty"`
}
