package v1alpha1

// GuardSettings are those of the ladder and of every guard, by the names that
// docs/guard.md has for them. A group that is left out has its defaults.
type GuardSettings struct {
	// Guards that are left out, off in docs/guard.md (a name that YAML takes for false).
	// What keeps within bounds, drops nonsense and holds while data is absent cannot be.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=9
	Without []GuardName `json:"without,omitempty"`

	// When data is late, and what then.
	// +optional
	Data *DataSettings `json:"data,omitempty"`

	// When a model is broken.
	// +optional
	Faults *FaultSettings `json:"faults,omitempty"`

	// When an objective suffers.
	// +optional
	Burn *BurnSettings `json:"burn,omitempty"`

	// The most that one decision may change.
	// +optional
	Step *StepSettings `json:"step,omitempty"`

	// Time between changes of a service.
	// +optional
	CoolDown *CoolDownSettings `json:"coolDown,omitempty"`

	// What load a reduction must leave room for.
	// +optional
	Observed *ObservedSettings `json:"observed,omitempty"`

	// Pods that are on their way.
	// +optional
	Starting *StartingSettings `json:"starting,omitempty"`

	// How far a policy may be from the rule.
	// +optional
	Disagreement *DisagreementSettings `json:"disagreement,omitempty"`

	// Going down in two steps.
	// +optional
	Gray *GraySettings `json:"gray,omitempty"`

	// Doing without optional services while an objective suffers.
	// +optional
	Brownout *BrownoutSettings `json:"brownout,omitempty"`
}

// GuardName is a guard that may be left out.
//
// +kubebuilder:validation:Enum=disagreement;observed;starting;burning;gray;cool-down;step;startup-cpu;brownout
type GuardName string

// DataSettings say when data is late, and what then.
//
// +kubebuilder:validation:XValidation:rule="duration(self.floorAfter) > duration(self.holdFor)",messageExpression="'floorAfter (' + self.floorAfter + ') must be longer than holdFor (' + self.holdFor + ')'"
type DataSettings struct {
	// Older samples are absent. Absent is never zero.
	// +optional
	// +kubebuilder:default="2m"
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('24h')",message="must be longer than 0s and at most 24h"
	MaxAge *Duration `json:"maxAge,omitempty"`

	// How long everything stays as it is when the model has no data, before the rule
	// takes over.
	// +optional
	// +kubebuilder:default="1m"
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('24h')",message="must be at most 24h"
	HoldFor *Duration `json:"holdFor,omitempty"`

	// How long the model must have had data again before it takes over from the rule.
	// +optional
	// +kubebuilder:default="2m"
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('24h')",message="must be at most 24h"
	Recovery *Duration `json:"recovery,omitempty"`

	// How long nobody may know what to do before services are raised to their floors.
	// +optional
	// +kubebuilder:default="15m"
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('24h')",message="must be longer than 0s and at most 24h"
	FloorAfter *Duration `json:"floorAfter,omitempty"`
}

// FaultSettings say when a model is broken.
type FaultSettings struct {
	// Failures in a row that hand the application to the rule.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Most *int32 `json:"most,omitempty"`

	// How long a model that failed must answer soundly, unfollowed, before it takes
	// over again.
	// +optional
	// +kubebuilder:default="10m"
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('168h')",message="must be at most 168h"
	Recovery *Duration `json:"recovery,omitempty"`
}

// BurnSettings say when an objective suffers. A burn of 1 just uses up the share
// of requests that may be late.
//
// +kubebuilder:validation:XValidation:rule="duration(self.longestRecovery) >= duration(self.recovery)",messageExpression="'longestRecovery (' + self.longestRecovery + ') must not be shorter than recovery (' + self.recovery + ')'"
// +kubebuilder:validation:XValidation:rule="self.windows.all(w, double(w.rate) >= double(self.recovered))",message="the rate of a window must not be below recovered: the application would be handed over and back without end"
type BurnSettings struct {
	// Each is a condition that hands the application to the rule. Left out: 1m and 10m
	// at a rate of 10, and 10m and 1h at a rate of 3.
	// +optional
	// +listType=atomic
	// +kubebuilder:default={{short: "1m", long: "10m", rate: 10}, {short: "10m", long: "1h", rate: 3}}
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Windows []BurnWindows `json:"windows,omitempty"`

	// The burn over every short window that counts as recovered.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:XValidation:rule="double(self) <= 10000.0",message="must be from 0 to 10000"
	Recovered *Number `json:"recovered,omitempty"`

	// Requests over the objective below which nothing burns, so that a quiet night is
	// no percentage.
	// +optional
	// +kubebuilder:default=10
	// +kubebuilder:validation:XValidation:rule="double(self) <= 1000000000.0",message="must be from 0 to 1000000000"
	MinOver *Number `json:"minOver,omitempty"`

	// How long objectives must hold before the model is followed again. It doubles if
	// they suffer again.
	// +optional
	// +kubebuilder:default="10m"
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('168h')",message="must be longer than 0s and at most 168h"
	Recovery *Duration `json:"recovery,omitempty"`

	// The longest that recovery becomes by doubling.
	// +optional
	// +kubebuilder:default="4h"
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('720h')",message="must be at most 720h"
	LongestRecovery *Duration `json:"longestRecovery,omitempty"`

	// The window over which the burn must be low for anything to be reduced.
	// +optional
	// +kubebuilder:default="2m"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10s') && duration(self) <= duration('24h')",message="must be from 10s to 24h"
	ScaleInWindow *Duration `json:"scaleInWindow,omitempty"`

	// The burn from which nothing is reduced, and a step down is taken back.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:XValidation:rule="double(self) <= 10000.0",message="must be from 0 to 10000"
	ScaleInRate *Number `json:"scaleInRate,omitempty"`

	// Reduce although no objective is measured. Only where there is no metric for it.
	// +optional
	// +kubebuilder:default=false
	Unmeasured bool `json:"unmeasured,omitempty"`
}

// BurnWindows is one condition under which an objective suffers: it burns at the
// rate over both windows.
//
// +kubebuilder:validation:XValidation:rule="duration(self.short) >= duration('10s') && duration(self.short) <= duration(self.long) && duration(self.long) <= duration('24h')",messageExpression="'short (' + self.short + ') and long (' + self.long + ') must be in this order, from 10s to 24h'"
type BurnWindows struct {
	// The short window: it is not over already.
	// +required
	Short Duration `json:"short"`

	// The long window: it is no hiccup.
	// +required
	Long Duration `json:"long"`

	// How many times faster than allowed.
	// +required
	// +kubebuilder:validation:XValidation:rule="double(self) >= 1.0 && double(self) <= 10000.0",message="must be from 1 to 10000"
	Rate Number `json:"rate"`
}

// StepSettings are the most that one decision may change. Of pods and percent the
// larger counts.
type StepSettings struct {
	// Pods more.
	// +optional
	// +kubebuilder:default=4
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	UpPods *int32 `json:"upPods,omitempty"`

	// Percent more.
	// +optional
	// +kubebuilder:default=100
	// +kubebuilder:validation:XValidation:rule="double(self) <= 1000000.0",message="must be from 0 to 1000000"
	UpPercent *Number `json:"upPercent,omitempty"`

	// Pods less.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	DownPods *int32 `json:"downPods,omitempty"`

	// Percent less.
	// +optional
	// +kubebuilder:default=25
	// +kubebuilder:validation:XValidation:rule="double(self) <= 100.0",message="must be from 0 to 100"
	DownPercent *Number `json:"downPercent,omitempty"`

	// The most by which CPU or memory of a replica is multiplied.
	// +optional
	// +kubebuilder:default=2
	// +kubebuilder:validation:XValidation:rule="double(self) >= 1.01 && double(self) <= 1000.0",message="must be from 1.01 to 1000"
	SizeUp *Number `json:"sizeUp,omitempty"`

	// The least by which CPU or memory of a replica is multiplied.
	// +optional
	// +kubebuilder:default="0.7"
	// +kubebuilder:validation:XValidation:rule="double(self) >= 0.001 && double(self) <= 0.99",message="must be from 0.001 to 0.99"
	SizeDown *Number `json:"sizeDown,omitempty"`
}

// CoolDownSettings are times between changes of a service.
type CoolDownSettings struct {
	// From one raise to the next.
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

// ObservedSettings say what load a reduction must leave room for.
type ObservedSettings struct {
	// The highest load of so much time counts.
	// +optional
	// +kubebuilder:default="3m"
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('24h')",message="must be longer than 0s and at most 24h"
	Window *Duration `json:"window,omitempty"`

	// Share of the CPU limit that may be in use afterwards.
	// +optional
	// +kubebuilder:default="0.85"
	// +kubebuilder:validation:XValidation:rule="double(self) >= 0.01 && double(self) <= 1.0",message="must be from 0.01 to 1"
	OfLimit *Number `json:"ofLimit,omitempty"`

	// Share of the CPU request, where there is no limit.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:XValidation:rule="double(self) >= 0.01 && double(self) <= 100.0",message="must be from 0.01 to 100"
	OfRequest *Number `json:"ofRequest,omitempty"`

	// Share of the workers, where their number is known.
	// +optional
	// +kubebuilder:default="0.9"
	// +kubebuilder:validation:XValidation:rule="double(self) >= 0.01 && double(self) <= 1.0",message="must be from 0.01 to 1"
	OfWorkers *Number `json:"ofWorkers,omitempty"`

	// Share of a replica's memory.
	// +optional
	// +kubebuilder:default="0.85"
	// +kubebuilder:validation:XValidation:rule="double(self) >= 0.01 && double(self) <= 1.0",message="must be from 0.01 to 1"
	OfMemory *Number `json:"ofMemory,omitempty"`
}

// StartingSettings are about pods that are on their way.
type StartingSettings struct {
	// After this a pod that is not ready is stuck, and no longer waited for.
	// +optional
	// +kubebuilder:default="10m"
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('24h')",message="must be at most 24h"
	Patience *Duration `json:"patience,omitempty"`

	// So long after a pod became ready, its CPU is start-up and not load.
	// +optional
	// +kubebuilder:default="15s"
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('24h')",message="must be at most 24h"
	Settle *Duration `json:"settle,omitempty"`
}

// DisagreementSettings bound the distance from the rule, in capacity (replicas
// times CPU).
type DisagreementSettings struct {
	// The least, as a factor of the rule's capacity.
	// +optional
	// +kubebuilder:default="0.5"
	// +kubebuilder:validation:XValidation:rule="double(self) <= 1.0",message="must be from 0 to 1"
	Low *Number `json:"low,omitempty"`

	// The most, as a factor of the rule's capacity.
	// +optional
	// +kubebuilder:default=2
	// +kubebuilder:validation:XValidation:rule="double(self) >= 1.0 && double(self) <= 1000000.0",message="must be from 1 to 1000000"
	High *Number `json:"high,omitempty"`

	// Replicas more or less that are always allowed.
	// +optional
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	Slack *int32 `json:"slack,omitempty"`
}

// GraySettings are about going down in two steps.
type GraySettings struct {
	// The part of the way that the first step goes.
	// +optional
	// +kubebuilder:default="0.5"
	// +kubebuilder:validation:XValidation:rule="double(self) >= 0.01 && double(self) <= 1.0",message="must be from 0.01 to 1"
	Part *Number `json:"part,omitempty"`

	// How long each step is watched.
	// +optional
	// +kubebuilder:default="2m"
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('24h')",message="must be longer than 0s and at most 24h"
	Span *Duration `json:"span,omitempty"`

	// How long there is no step down after one was taken back.
	// +optional
	// +kubebuilder:default="15m"
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('168h')",message="must be at most 168h"
	Retreat *Duration `json:"retreat,omitempty"`
}

// BrownoutSettings are about doing without services that are optional.
type BrownoutSettings struct {
	// Over which span the burn of the error budget is measured; also the least time
	// between two services that are done without.
	// +optional
	// +kubebuilder:default="1m"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10s') && duration(self) <= duration('24h')",message="must be from 10s to 24h"
	Window *Duration `json:"window,omitempty"`

	// How many times faster than allowed the error budget must burn for a service to
	// be done without.
	// +optional
	// +kubebuilder:default="10"
	// +kubebuilder:validation:XValidation:rule="double(self) >= 1.0 && double(self) <= 10000.0",message="must be from 1 to 10000"
	Rate *Number `json:"rate,omitempty"`

	// How long the objectives must be kept before a service is taken back.
	// +optional
	// +kubebuilder:default="10m"
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('168h')",message="must be longer than 0s and at most 168h"
	Recovery *Duration `json:"recovery,omitempty"`
}
