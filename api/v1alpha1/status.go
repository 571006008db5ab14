package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MaxText is the most characters of a sentence in the status; longer ones are cut
// by whoever writes them.
const MaxText = 512

// LoadLineStatus is what Loadline sees, wants and does.
type LoadLineStatus struct {
	// The generation of the resource that this speaks of.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Ready, Active, Fallback, Paused, Conflict and Stale.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// The mode in force. It differs from spec.mode while a change is being taken up.
	// +optional
	Mode Mode `json:"mode,omitempty"`

	// The policy that is followed, such as "shop version 2" or "hpa:target=60".
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Policy string `json:"policy,omitempty"`

	// Where the application stands on the guard's ladder. A restarted controller goes
	// on from here.
	// +optional
	Ladder *LadderStatus `json:"ladder,omitempty"`

	// Whether all objectives were met at the last decision: True, False or Unknown.
	// +optional
	// +kubebuilder:validation:Enum=True;False;Unknown
	SLOMet string `json:"sloMet,omitempty"`

	// The objectives as they were seen at the last decision.
	// +optional
	// +listType=map
	// +listMapKey=kind
	// +kubebuilder:validation:MaxItems=64
	Objectives []ObjectiveStatus `json:"objectives,omitempty"`

	// Services that may be moved now, of all: "4/5".
	// +optional
	// +kubebuilder:validation:MaxLength=16
	ServicesMoved string `json:"servicesMoved,omitempty"`

	// When the last decision was made.
	// +optional
	LastDecisionTime *metav1.Time `json:"lastDecisionTime,omitempty"`

	// The services: what was seen, wanted and applied, and why.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=200
	Services []ServiceStatus `json:"services,omitempty"`
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

// LadderStatus is where an application stands on the guard's ladder.
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

	// The policy is not followed because of what it did. A restart does not make that
	// forgotten.
	// +optional
	Distrust bool `json:"distrust,omitempty"`

	// How long objectives must hold before the policy is followed again.
	// +optional
	Recovery Duration `json:"recovery,omitzero"`
}

// Measured is a number that was measured, as text. One that was not is left out:
// absent is not zero.
//
// +kubebuilder:validation:MaxLength=32
type Measured string

// ObjectiveStatus is one objective as it was seen.
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

	// That latency over the one that was promised: above 1 the objective is missed.
	// +optional
	OverSLO Measured `json:"overSLO,omitempty"`

	// Whether it is met; left out if it was not measured.
	// +optional
	Met *bool `json:"met,omitempty"`
}

// ServiceState is what may be done with a service now.
//
// +kubebuilder:validation:Enum=Moved;Recommended;Paused;Conflict;RollingOut;ManualChange;NotFound;Unseen
type ServiceState string

const (
	ServiceMoved        ServiceState = "Moved"        // decisions are carried out
	ServiceRecommended  ServiceState = "Recommended"  // decisions are shown only, by the mode
	ServicePaused       ServiceState = "Paused"       // by the resource or an annotation
	ServiceConflict     ServiceState = "Conflict"     // somebody else moves it
	ServiceRollingOut   ServiceState = "RollingOut"   // a roll-out is in progress
	ServiceManualChange ServiceState = "ManualChange" // a person's change is respected
	ServiceNotFound     ServiceState = "NotFound"     // its targetRef names nothing
	ServiceUnseen       ServiceState = "Unseen"       // neither its rate nor its CPU is measured
)

// ServiceStatus is one service.
type ServiceStatus struct {
	// The service's name.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// What may be done with it now. Moved: decisions are carried out. Recommended:
	// they are shown only. Paused, Conflict, RollingOut, ManualChange, NotFound and
	// Unseen say what keeps it as it is.
	// +optional
	State ServiceState `json:"state,omitempty"`

	// What was seen at the last decision.
	// +optional
	Seen *Seen `json:"seen,omitempty"`

	// What the policy that is followed wanted. What is left out is to stay as it is.
	// +optional
	Wanted *Amounts `json:"wanted,omitempty"`

	// What the service has been told to be, after all guards.
	// +optional
	Applied *Amounts `json:"applied,omitempty"`

	// What pods that are created from now on are given, while Loadline moves the size
	// of the service's replicas. The admission policy "loadline-pod-size" reads it.
	// +optional
	Size *Amounts `json:"size,omitempty"`

	// Why, in a sentence: of the policy, or of the guard that changed it.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Why string `json:"why,omitempty"`

	// When it was last changed.
	// +optional
	LastChangeTime *metav1.Time `json:"lastChangeTime,omitempty"`

	// Until when a change that somebody else made is left as it is.
	// +optional
	ManualUntil *metav1.Time `json:"manualUntil,omitempty"`
}

// Seen is what was seen of a service. What was not measured is left out.
type Seen struct {
	// When.
	// +required
	Time metav1.Time `json:"time"`

	// Visits per second.
	// +optional
	Rate Measured `json:"rate,omitempty"`

	// Cores in use, by all its pods.
	// +optional
	CPU *resource.Quantity `json:"cpu,omitempty"`

	// The service's 99th percentile of latency over its part of the objective, or over
	// the whole of it where nobody divides it.
	// +optional
	P99OverSLO Measured `json:"p99OverSLO,omitempty"`

	// Pods that are ready.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ReadyReplicas *int32 `json:"readyReplicas,omitempty"`
}

// Amounts of a service: replicas, and what each of them has.
type Amounts struct {
	// Replicas.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Replicas *int32 `json:"replicas,omitempty"`

	// CPU that a replica requests.
	// +optional
	CPURequest *resource.Quantity `json:"cpuRequest,omitempty"`

	// CPU that a replica is limited to; 0 is no limit.
	// +optional
	CPULimit *resource.Quantity `json:"cpuLimit,omitempty"`

	// Memory that a replica requests.
	// +optional
	MemoryRequest *resource.Quantity `json:"memoryRequest,omitempty"`

	// Memory that a replica is limited to; 0 is no limit.
	// +optional
	MemoryLimit *resource.Quantity `json:"memoryLimit,omitempty"`

	// The service is switched off: optional calls to it are dropped.
	// +optional
	Brownout *bool `json:"brownout,omitempty"`
}
