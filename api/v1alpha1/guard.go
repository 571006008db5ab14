package v1alpha1

// GuardSettings are the settings of the ladder and of every guard, with the names
// of docs/guard.md. A group that is left out has its defaults.
type GuardSettings struct {
	// Guards to disable, called off in docs/guard.md (a name that YAML reads as
	// false). The guards that enforce bounds, drop invalid values and hold while data
	// is absent cannot be disabled.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=9
	Without []GuardName `json:"without,omitempty"`

	// When data is late, and what happens then.
	// +optional
	Data *DataSettings `json:"data,omitempty"`

	// The user's bounds.
	// +optional
	Bounds *BoundsSettings `json:"bounds,omitempty"`

	// When a model counts as broken.
	// +optional
	Faults *FaultSettings `json:"faults,omitempty"`

	// When an objective counts as violated.
	// +optional
	Burn *BurnSettings `json:"burn,omitempty"`

	// The maximum change per decision.
	// +optional
	Step *StepSettings `json:"step,omitempty"`

	// The minimum time between changes of a service.
	// +optional
	CoolDown *CoolDownSettings `json:"coolDown,omitempty"`

	// The load that a reduction must leave room for.
	// +optional
	Observed *ObservedSettings `json:"observed,omitempty"`

	// Pods that are starting.
	// +optional
	Starting *StartingSettings `json:"starting,omitempty"`

	// How far a policy may deviate from the rule.
	// +optional
	Disagreement *DisagreementSettings `json:"disagreement,omitempty"`

	// Gradual scale-in.
	// +optional
	Gray *GraySettings `json:"gray,omitempty"`

	// Brownout of optional services while an objective is violated.
	// +optional
	Brownout *BrownoutSettings `json:"brownout,omitempty"`
}

// GuardName is a guard that may be disabled.
//
// +kubebuilder:validation:Enum=disagreement;observed;starting;burning;gray;cool-down;step;startup-cpu;brownout
type GuardName string

// DataSettings define when data is late, and what happens then.
//
// +kubebuilder:validation:XValidation:rule="duration(self.floorAfter) > duration(self.holdFor)",messageExpression="'floorAfter (' + self.floorAfter + ') must be longer than holdFor (' + self.holdFor + ')'"
type DataSettings struct {
	// Older samples count as absent. Absent is never zero.
	// +optional
	// +kubebuilder:default="2m"
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('24h')",message="must be longer than 0s and at most 24h"
	MaxAge *Duration `json:"maxAge,omitempty"`

	// How long nothing changes when the model has no data, before the rule takes
	// over.
	// +optional
	// +kubebuilder:default="1m"
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('24h')",message="must be at most 24h"
	HoldFor *Duration `json:"holdFor,omitempty"`

	// How long the model must have had data again before it takes over from the rule.
	// +optional
	// +kubebuilder:default="2m"
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('24h')",message="must be at most 24h"
	Recovery *Duration `json:"recovery,omitempty"`

	// How long there may be no data to decide on before services are raised to their
	// floors.
	// +optional
	// +kubebuilder:default="15m"
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('24h')",message="must be longer than 0s and at most 24h"
	FloorAfter *Duration `json:"floorAfter,omitempty"`
}

// BoundsSettings are about the user's bounds.
type BoundsSettings struct {
	// Bring a service that is above a maximum, because that was lowered, to it in one
	// step, whatever its load is. Otherwise it is reached in guarded steps, and only as
	// far as the load permits.
	// +optional
	AtOnce bool `json:"atOnce,omitempty"`
}

// FaultSettings define when a model counts as broken.
type FaultSettings struct {
	// Consecutive failures after which the rule takes over.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Most *int32 `json:"most,omitempty"`

	// How long a model that failed must return valid proposals, not in control,
	// before it takes over again.
	// +optional
	// +kubebuilder:default="10m"
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('168h')",message="must be at most 168h"
	Recovery *Duration `json:"recovery,omitempty"`
}

// BurnSettings define when an objective counts as violated. A burn rate of 1 uses
// exactly the error budget.
//
// +kubebuilder:validation:XValidation:rule="duration(self.longestRecovery) >= duration(self.recovery)",messageExpression="'longestRecovery (' + self.longestRecovery + ') must not be shorter than recovery (' + self.recovery + ')'"
// +kubebuilder:validation:XValidation:rule="self.windows.all(w, double(w.rate) >= double(self.recovered))",message="the rate of a window must not be below recovered: control would alternate between model and rule"
type BurnSettings struct {
	// Each is a condition under which the rule takes over. Left out: 1m and 10m at a
	// rate of 10, and 10m and 1h at a rate of 3.
	// +optional
	// +listType=atomic
	// +kubebuilder:default={{short: "1m", long: "10m", rate: 10}, {short: "10m", long: "1h", rate: 3}}
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Windows []BurnWindows `json:"windows,omitempty"`

	// The burn rate over every short window that counts as recovered.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:XValidation:rule="double(self) <= 10000.0",message="must be from 0 to 10000"
	Recovered *Number `json:"recovered,omitempty"`

	// The minimum number of requests over the objective, so that a few slow requests
	// at low traffic do not count as a burn.
	// +optional
	// +kubebuilder:default=10
	// +kubebuilder:validation:XValidation:rule="double(self) <= 1000000000.0",message="must be from 0 to 1000000000"
	MinOver *Number `json:"minOver,omitempty"`

	// How long objectives must be met before the model is in control again. It
	// doubles if they are violated again.
	// +optional
	// +kubebuilder:default="10m"
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('168h')",message="must be longer than 0s and at most 168h"
	Recovery *Duration `json:"recovery,omitempty"`

	// The upper limit of the doubled recovery.
	// +optional
	// +kubebuilder:default="4h"
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('720h')",message="must be at most 720h"
	LongestRecovery *Duration `json:"longestRecovery,omitempty"`

	// The window over which the burn rate must be low for any reduction.
	// +optional
	// +kubebuilder:default="2m"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10s') && duration(self) <= duration('24h')",message="must be from 10s to 24h"
	ScaleInWindow *Duration `json:"scaleInWindow,omitempty"`

	// The burn rate from which nothing is reduced, and a scale-in step is reverted.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:XValidation:rule="double(self) <= 10000.0",message="must be from 0 to 10000"
	ScaleInRate *Number `json:"scaleInRate,omitempty"`

	// Allow reductions although no objective is measured. Only if there is no metric
	// for it.
	// +optional
	// +kubebuilder:default=false
	Unmeasured bool `json:"unmeasured,omitempty"`
}

// BurnWindows is one condition under which an objective counts as violated: its
// burn rate is reached over both windows.
//
// +kubebuilder:validation:XValidation:rule="duration(self.short) >= duration('10s') && duration(self.short) <= duration(self.long) && duration(self.long) <= duration('24h')",messageExpression="'short (' + self.short + ') and long (' + self.long + ') must be in this order, from 10s to 24h'"
type BurnWindows struct {
	// The short window excludes burns that are already over.
	// +required
	Short Duration `json:"short"`

	// The long window excludes short spikes.
	// +required
	Long Duration `json:"long"`

	// The burn rate: how many times faster than allowed.
	// +required
	// +kubebuilder:validation:XValidation:rule="double(self) >= 1.0 && double(self) <= 10000.0",message="must be from 1 to 10000"
	Rate Number `json:"rate"`
}

// StepSettings are the maximum change per decision. The larger of pods and
// percent applies.
type StepSettings struct {
	// Pods added.
	// +optional
	// +kubebuilder:default=4
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	UpPods *int32 `json:"upPods,omitempty"`

	// Percent added.
	// +optional
	// +kubebuilder:default=100
	// +kubebuilder:validation:XValidation:rule="double(self) <= 1000000.0",message="must be from 0 to 1000000"
	UpPercent *Number `json:"upPercent,omitempty"`

	// Pods removed.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	DownPods *int32 `json:"downPods,omitempty"`

	// Percent removed.
	// +optional
	// +kubebuilder:default=25
	// +kubebuilder:validation:XValidation:rule="double(self) <= 100.0",message="must be from 0 to 100"
	DownPercent *Number `json:"downPercent,omitempty"`

	// The maximum factor on CPU or memory of a replica.
	// +optional
	// +kubebuilder:default=2
	// +kubebuilder:validation:XValidation:rule="double(self) >= 1.01 && double(self) <= 1000.0",message="must be from 1.01 to 1000"
	SizeUp *Number `json:"sizeUp,omitempty"`

	// The minimum factor on CPU or memory of a replica.
	// +optional
	// +kubebuilder:default="0.7"
	// +kubebuilder:validation:XValidation:rule="double(self) >= 0.001 && double(self) <= 0.99",message="must be from 0.001 to 0.99"
	SizeDown *Number `json:"sizeDown,omitempty"`
}

// CoolDownSettings are the minimum times between changes of a service.
type CoolDownSettings struct {
	// From one increase to the next.
	// +optional
	// +kubebuilder:default="0s"
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('24h')",message="must be at most 24h"
	Up *Duration `json:"up,omitempty"`

	// From any change to a reduction.
	// +optional
	// +kubebuilder:default="2m"
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('24h')",message="must be at most 24h"
	Down *Duration `json:"down,omitempty"`
}

// ObservedSettings define the load that a reduction must leave room for.
type ObservedSettings struct {
	// The highest load within this window counts.
	// +optional
	// +kubebuilder:default="3m"
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('24h')",message="must be longer than 0s and at most 24h"
	Window *Duration `json:"window,omitempty"`

	// Maximum utilisation of the CPU limit after a reduction.
	// +optional
	// +kubebuilder:default="0.85"
	// +kubebuilder:validation:XValidation:rule="double(self) >= 0.01 && double(self) <= 1.0",message="must be from 0.01 to 1"
	OfLimit *Number `json:"ofLimit,omitempty"`

	// Maximum utilisation of the CPU request, if there is no limit.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:XValidation:rule="double(self) >= 0.01 && double(self) <= 100.0",message="must be from 0.01 to 100"
	OfRequest *Number `json:"ofRequest,omitempty"`

	// Maximum utilisation of the workers, if their number is known.
	// +optional
	// +kubebuilder:default="0.9"
	// +kubebuilder:validation:XValidation:rule="double(self) >= 0.01 && double(self) <= 1.0",message="must be from 0.01 to 1"
	OfWorkers *Number `json:"ofWorkers,omitempty"`

	// Maximum utilisation of a replica's memory.
	// +optional
	// +kubebuilder:default="0.85"
	// +kubebuilder:validation:XValidation:rule="double(self) >= 0.01 && double(self) <= 1.0",message="must be from 0.01 to 1"
	OfMemory *Number `json:"ofMemory,omitempty"`
}

// StartingSettings are about pods that are starting.
type StartingSettings struct {
	// After this time a pod that is not ready counts as stuck and is ignored.
	// +optional
	// +kubebuilder:default="10m"
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('24h')",message="must be at most 24h"
	Patience *Duration `json:"patience,omitempty"`

	// For this time after a pod became ready, its CPU counts as start-up and not as
	// load.
	// +optional
	// +kubebuilder:default="15s"
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('24h')",message="must be at most 24h"
	Settle *Duration `json:"settle,omitempty"`
}

// DisagreementSettings bound the deviation from the rule, in capacity (replicas
// times CPU).
type DisagreementSettings struct {
	// The minimum, as a factor of the rule's capacity.
	// +optional
	// +kubebuilder:default="0.5"
	// +kubebuilder:validation:XValidation:rule="double(self) <= 1.0",message="must be from 0 to 1"
	Low *Number `json:"low,omitempty"`

	// The maximum, as a factor of the rule's capacity.
	// +optional
	// +kubebuilder:default=2
	// +kubebuilder:validation:XValidation:rule="double(self) >= 1.0 && double(self) <= 1000000.0",message="must be from 1 to 1000000"
	High *Number `json:"high,omitempty"`

	// Deviation in replicas that is always allowed.
	// +optional
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	Slack *int32 `json:"slack,omitempty"`
}

// GraySettings are about gradual scale-in, in two steps.
type GraySettings struct {
	// The share of the reduction that the first step makes.
	// +optional
	// +kubebuilder:default="0.5"
	// +kubebuilder:validation:XValidation:rule="double(self) >= 0.01 && double(self) <= 1.0",message="must be from 0.01 to 1"
	Part *Number `json:"part,omitempty"`

	// How long each step is observed.
	// +optional
	// +kubebuilder:default="2m"
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('24h')",message="must be longer than 0s and at most 24h"
	Span *Duration `json:"span,omitempty"`

	// How long there is no scale-in after one was reverted.
	// +optional
	// +kubebuilder:default="15m"
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('168h')",message="must be at most 168h"
	Retreat *Duration `json:"retreat,omitempty"`
}

// BrownoutSettings are about switching off optional services.
type BrownoutSettings struct {
	// The window of the burn rate; also the minimum time between switching off two
	// services.
	// +optional
	// +kubebuilder:default="1m"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10s') && duration(self) <= duration('24h')",message="must be from 10s to 24h"
	Window *Duration `json:"window,omitempty"`

	// The burn rate from which a service is switched off.
	// +optional
	// +kubebuilder:default="10"
	// +kubebuilder:validation:XValidation:rule="double(self) >= 1.0 && double(self) <= 10000.0",message="must be from 1 to 10000"
	Rate *Number `json:"rate,omitempty"`

	// How long the objectives must be met before a service is switched on again.
	// +optional
	// +kubebuilder:default="10m"
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('168h')",message="must be longer than 0s and at most 168h"
	Recovery *Duration `json:"recovery,omitempty"`
}
