package decisionlog

import (
	"time"

	"github.com/loadline/loadline"
)

// Version of the records. Another version is detected and refused. Fields may be added
// under the same version; a change of the meaning of a field needs a new one.
const Version = 1

// Record is one pass of the loop. What was not measured, proposed or applied is absent.
type Record struct {
	At      time.Time `json:"at"`               // when the observation was taken
	Applied time.Time `json:"applied,omitzero"` // when the plan was handed to the cluster
	Policy  string    `json:"policy"`
	Mode    string    `json:"mode,omitempty"` // Observe, Recommend or Act; empty = it acts
	Rung    string    `json:"rung,omitempty"` // of the guard's ladder, if there is one
	Needs   Needs     `json:"needs"`          // how the policy observed the cluster
	// Error is why nothing was decided, or why what was planned was not applied.
	Error string `json:"error,omitempty"`

	// Absent are the metrics that are absent or stale, as the reading of the metrics
	// reports them.
	Absent []loadline.Diagnosis `json:"absent,omitempty"`

	Services []Service `json:"services,omitempty"`
	Kinds    []Kind    `json:"kinds,omitempty"`
	Nodes    []Node    `json:"nodes,omitempty"`
	// Events are the announced changes of the load that were running or to come.
	Events []Event `json:"events,omitempty"`
	// Reserve is what the policy wanted kept free on nodes; absent: it did not say.
	Reserve *Reserve `json:"reserve,omitempty"`
	// Constraints are those of the cluster and the namespace; absent: none were known.
	Constraints *loadline.Constraints `json:"constraints,omitempty"`
	// Limited is what kept the proposal below what the load needs.
	Limited string `json:"limited,omitempty"`
	// Expected is the twin's prediction for the plan.
	Expected *Outlook `json:"expected,omitempty"`
	// Remark on the application: what of it differs from its twin, and which other deployment is
	// estimated to be better.
	Remark string `json:"remark,omitempty"`
}

// Event is loadline.Event.
type Event struct {
	Name   string    `json:"name"`
	Start  time.Time `json:"start"`
	End    time.Time `json:"end"`
	Factor Number    `json:"factor"`
}

// Reserve is loadline.Room.
type Reserve struct {
	Cores  Number `json:"cores"`
	Memory int64  `json:"memory"`
}

// Needs are loadline.Needs.
type Needs struct {
	Period Seconds `json:"period_s"`
	Delay  Seconds `json:"delay_s"`
	Scrape Seconds `json:"scrape_s"`
	Window Seconds `json:"window_s"`
	Lag    Seconds `json:"lag_s"`
	Keep   int     `json:"keep,omitempty"`
}

// Service is one service's part of a record.
type Service struct {
	Name    string     `json:"name"`
	Seen    Seen       `json:"seen"`
	Desired Allocation `json:"told"` // the former name, so that logs of all releases are readable
	// Expecting is the desired state after plans in flight, if that differs from Desired.
	Expecting  *Allocation `json:"expecting,omitempty"`
	Forecast   *Forecast   `json:"forecast,omitempty"`
	PartialSLO *SLO        `json:"partial_slo,omitempty"`
	Proposal   *Proposal   `json:"proposal,omitempty"` // absent: the policy proposed nothing for it
	Guards     []Guard     `json:"guards,omitempty"`   // in the order in which they were called
	Plan       *Setting    `json:"plan,omitempty"`     // what was left to change; absent: nothing
	// Outlook is the twin's estimate of the change; absent without a twin or a change.
	Outlook *ServiceOutlook `json:"outlook,omitempty"`
	// Why is the change in one sentence, as the status of a LoadLine has it.
	Why string `json:"why,omitempty"`
}

// ServiceOutlook is loadline.ServiceOutlook.
type ServiceOutlook struct {
	Load  Number  `json:"load"`              // visits per second that it is for
	Ahead Seconds `json:"ahead_s,omitempty"` // within which they are forecast; absent: they are observed
	Part  SLO     `json:"part"`              // of the SLO, for a visit without its calls to others
	// Users is the kind of request through the service that is worst relative to its SLO, with the
	// plan and at the observed load.
	Users    *Outlook `json:"users,omitempty"`
	Currency string   `json:"currency"` // of per_hour
	Before   Estimate `json:"before"`
	Planned  Estimate `json:"planned"`
	RunnerUp Estimate `json:"runner_up"`
}

// Estimate is loadline.Estimate.
type Estimate struct {
	Allocation Allocation `json:"allocation"`
	Capacity   Number     `json:"capacity"`            // visits per second within the part of the SLO; 0 = none
	Saturation Number     `json:"saturation"`          // visits per second at which all CPU or all workers are in use
	Latency    Seconds    `json:"latency_s,omitempty"` // of a visit, at the part's percentile; absent: no steady state
	Cores      Number     `json:"cores"`
	PerHour    Number     `json:"per_hour"`
}

// Seen is loadline.ServiceObservation.
type Seen struct {
	Samples  Samples[loadline.ServiceMetric] `json:"-"`
	Brownout bool                            `json:"brownout,omitempty"`
	Pods     []Pod                           `json:"pods,omitempty"`
}

// Pod is loadline.PodObservation. Instants are seconds before the observation.
type Pod struct {
	ID      int64                       `json:"id"`
	Node    int                         `json:"node"` // index into the record's nodes; -1 = not bound
	Phase   string                      `json:"phase"`
	Created *Seconds                    `json:"created_s_ago,omitempty"`
	Ready   *Seconds                    `json:"ready_s_ago,omitempty"` // absent: not yet
	Size    *Size                       `json:"size,omitempty"`        // absent: the desired size of the service
	Samples Samples[loadline.PodMetric] `json:"-"`
}

// Kind is loadline.KindObservation.
type Kind struct {
	Name    string                       `json:"name"`
	Samples Samples[loadline.KindMetric] `json:"-"`
}

// Node is loadline.NodeObservation.
type Node struct {
	Samples Samples[loadline.NodeMetric] `json:"-"`
	Lost    bool                         `json:"lost,omitempty"`
}

// Allocation is loadline.Allocation.
type Allocation struct {
	Replicas int  `json:"replicas"`
	Size     Size `json:"size"`
	Brownout bool `json:"brownout,omitempty"`
}

// Size is loadline.Size.
type Size struct {
	CPURequest    Number `json:"cpu_request"`
	CPULimit      Number `json:"cpu_limit"` // 0 = none
	MemoryRequest int64  `json:"memory_request"`
	MemoryLimit   int64  `json:"memory_limit"` // 0 = none
}

// Setting is loadline.Setting. An axis that is absent is left as it is.
type Setting struct {
	Replicas      *int    `json:"replicas,omitempty"`
	CPURequest    *Number `json:"cpu_request,omitempty"`
	CPULimit      *Number `json:"cpu_limit,omitempty"`
	MemoryRequest *int64  `json:"memory_request,omitempty"`
	MemoryLimit   *int64  `json:"memory_limit,omitempty"`
	Brownout      *bool   `json:"brownout,omitempty"`
}

// Forecast is loadline.Forecast.
type Forecast struct {
	Step   Seconds  `json:"step_s"`
	Median []Number `json:"median"`         // at +step, +2 steps, ...; NaN = none
	High   []Number `json:"high,omitempty"` // upper quantile, same instants
}

// SLO is loadline.SLO.
type SLO struct {
	Percentile Number  `json:"percentile"`
	Latency    Seconds `json:"latency_s"`
}

// Proposal is the policy's proposal for one service.
type Proposal struct {
	Setting  Setting      `json:"setting"`
	Reason   string       `json:"reason,omitempty"`
	RunnerUp *Alternative `json:"runner_up,omitempty"`
	Expects  *LoadAhead   `json:"expects,omitempty"` // of a policy that forecasts by itself
}

// LoadAhead is a load that is expected within a time.
type LoadAhead struct {
	Rate   Number  `json:"rate"` // visits per second
	Within Seconds `json:"within_s"`
}

// Alternative is the policy's alternative.
type Alternative struct {
	Setting  Setting  `json:"setting"`
	Reason   string   `json:"reason,omitempty"`
	Expected *Outlook `json:"expected,omitempty"` // of the users, with this; in logs of earlier releases
}

// Guard is one guard's correction.
type Guard struct {
	Name   string  `json:"name"`
	From   Setting `json:"from"`
	To     Setting `json:"to"`
	Reason string  `json:"reason,omitempty"`
}

// Outlook is the twin's prediction for the observed load.
type Outlook struct {
	Kind       string  `json:"kind"`       // of request that is closest to its SLO, or violates it most
	Percentile Number  `json:"percentile"` // of its SLO
	Latency    Seconds `json:"latency_s"`  // at that percentile
	OverSLO    Number  `json:"over_slo"`   // that latency over the SLO's: above 1 it is violated
	Failed     Number  `json:"failed"`     // share of all requests
	Cores      Number  `json:"cores"`      // of all services, core-hours per hour: max(request, usage) over all pods
}

// Changes reports whether the record changes something, applied or not.
func (r *Record) Changes() bool {
	for i := range r.Services {
		if r.Services[i].Plan != nil {
			return true
		}
	}
	return false
}

// Service of that name, or nil.
func (r *Record) Service(name string) *Service {
	for i := range r.Services {
		if r.Services[i].Name == name {
			return &r.Services[i]
		}
	}
	return nil
}
