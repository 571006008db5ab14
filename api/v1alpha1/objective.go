package v1alpha1

// AnyKind is the kind of an objective that applies to all kinds of requests
// without an objective of their own.
const AnyKind = "*"

// Objective states the percentage of requests of a kind that must be answered
// within a latency.
//
// +kubebuilder:validation:XValidation:rule="!has(self.operation) || has(self.service)",message="operation without service: name the service at which these requests arrive"
// +kubebuilder:validation:XValidation:rule="self.kind != '*' || !has(self.service)",message="service belongs to one kind of request: give the objective a kind of its own, or leave service out"
type Objective struct {
	// The kind of request, by its name in the application model or in the metrics,
	// such as "checkout" or "GET /cart". Left out or "*", the objective applies to
	// all kinds without an objective of their own.
	// +optional
	// +kubebuilder:default="*"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Kind string `json:"kind,omitempty"`

	// The percentage of requests that must be within the latency, above 0 and below
	// 100, such as 99 or "99.9".
	// +optional
	// +kubebuilder:default=99
	// +kubebuilder:validation:XValidation:rule="double(self) > 0.0 && double(self) < 100.0",messageExpression="'percentile ' + string(self) + ' must be above 0 and below 100, such as 99 or \"99.9\"'"
	Percentile Number `json:"percentile,omitzero"`

	// The latency within which they must be answered, such as 250ms.
	// +required
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('1h')",message="must be longer than 0s and at most 1h"
	Latency Duration `json:"latency"`

	// The service at which requests of this kind arrive from users. It is needed if
	// no application model defines the kind; left out, it is the first of the
	// services.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Service string `json:"service,omitempty"`

	// The route, method or operation that distinguishes this kind from others at the
	// same service, as in the metrics. Left out, it is all of them.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Operation string `json:"operation,omitempty"`

	// The share of requests that are over this objective or failed, as a recording
	// rule has it, in PromQL that yields one series, such as
	// slo:sli_error:ratio_rate5m{sloth_id="shop-checkout"}. It is used instead of the
	// one from the latency histogram.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	RecordedOverRatio string `json:"recordedOverRatio,omitempty"`
}
