package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Drift is how the application is compared with its twin.
type Drift struct {
	// How long the application must match its twin again before a deviation is over. A
	// third of it suffices to find one.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10s') && duration(self) <= duration('24h')",message="must be from 10s to 24h"
	Window *Duration `json:"window,omitempty"`
}

// DriftStatus is how the application compares with its twin. A restarted controller
// continues from here.
type DriftStatus struct {
	// Digest of the twin and of what the deployment was judged on. With another one the
	// comparison begins anew.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Judged string `json:"judged,omitempty"`

	// The services.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=200
	Services []ServiceDrift `json:"services,omitempty"`

	// The load over the highest that the deployment was judged under, if it is higher.
	// +optional
	Load *Deviation `json:"load,omitempty"`
}

// ServiceDrift is how one service compares with the twin.
type ServiceDrift struct {
	// Its name.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// Hash of the pod template that is compared.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Release string `json:"release,omitempty"`

	// When this release was first observed, until it is compared.
	// +optional
	Released *metav1.Time `json:"released,omitempty"`

	// Measures that deviate.
	// +optional
	// +listType=map
	// +listMapKey=measure
	// +kubebuilder:validation:MaxItems=8
	Deviations []Deviation `json:"deviations,omitempty"`
}

// Deviation is a measure that differs from the twin's.
type Deviation struct {
	// The CPU of a visit, the visits of a request, the latency of a visit, or the load.
	// +required
	// +kubebuilder:validation:Enum=cpu;visits;latency;load
	Measure string `json:"measure"`

	// How many times the twin's it is.
	// +required
	Ratio Measured `json:"ratio"`

	// Since when.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
}

// PortfolioStatus is what the deployment and those that were judged beside it would cost
// under the load of the last hours. All of it is estimated on the twin.
type PortfolioStatus struct {
	// How it was estimated.
	// +required
	// +kubebuilder:validation:MaxLength=256
	Basis string `json:"basis"`

	// When.
	// +required
	Time metav1.Time `json:"time"`

	// Beginning of the load that was replayed.
	// +required
	From metav1.Time `json:"from"`
	// End of that load.
	// +required
	To metav1.Time `json:"to"`
	// Its mean, in requests per second.
	// +optional
	MeanRate Measured `json:"meanRate,omitempty"`

	// Of all amounts of money.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	Currency string `json:"currency,omitempty"`

	// What runs.
	// +required
	Current DeploymentEstimate `json:"current"`

	// The runner-up of the evaluation, and the tuned rule.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	Others []DeploymentEstimate `json:"others,omitempty"`

	// The deployment that is estimated to be better than what runs, by more than the
	// error.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Ahead string `json:"ahead,omitempty"`

	// In how many estimates in a row.
	// +optional
	// +kubebuilder:validation:Minimum=0
	InARow int32 `json:"inARow,omitempty"`
}

// DeploymentEstimate is the twin's estimate of one deployment.
type DeploymentEstimate struct {
	// Its name in the evaluation.
	// +required
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name"`

	// Its policy, if it needs no model.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Policy string `json:"policy,omitempty"`

	// Money per month.
	// +required
	PerMonth Measured `json:"perMonth"`

	// Share of the requests over the SLO or failed.
	// +required
	OverSLO Measured `json:"overSLO"`

	// Relative error of its cost against that of what runs.
	// +optional
	Error Measured `json:"error,omitempty"`
}
