package bench

import (
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/result"
)

// FormatVersion of the files below. Another version is detected and rejected, never mixed in.
const FormatVersion = 1

// Case is one cell of the comparison: everything but the seed. Two runs of one
// case with one seed are the same run.
type Case struct {
	Scene        string `json:"scene,omitempty"` // name of a listed scene
	App          string `json:"app"`
	Workload     string `json:"workload"`
	Policy       string `json:"policy"`       // name:key=value,...
	Label        string `json:"label"`        // name of the policy in tables: "hpa", "hpa (calibrated)"
	Perturbation string `json:"perturbation"` // "none", or its name
	Engine       string `json:"engine"`
	Cluster      string `json:"cluster,omitempty"` // pools, neighbours and prices as their flags are written; none = the app's own nodes
	Guard        string `json:"guard,omitempty"`   // fallback rule of the guard around it; none = no guard
	Axes         string `json:"axes,omitempty"`    // that it may change, comma-separated; none = all
}

// Record is one finished run, DIR/runs/KEY.json.
type Record struct {
	Format     int                 `json:"format"`
	Program    string              `json:"program"` // version and commit that made it
	Key        string              `json:"key"`     // hash of everything that determines the run
	Case       Case                `json:"case"`
	Seed       uint64              `json:"seed"`
	Result     result.Result       `json:"result"`
	DecisionUs result.Number       `json:"decision_us"` // CPU time of a decision, mean; not repeatable
	Timeline   Timeline            `json:"story"`
	Latency    map[string][]Bucket `json:"latency"` // by kind of request
	Decisions  []Decision          `json:"decisions"`

	// Axes are what the policy changed in this run: replicas, cpu, memory, brownout.
	Axes []string `json:"axes"`
	// NotAllowed are those that it would have changed, had its axes allowed it.
	NotAllowed []string `json:"not_allowed,omitempty"`
	// Changes of a service's replicas and of the size of its pods.
	ReplicaChanges int `json:"replica_changes"`
	Resizes        int `json:"resizes"`
	// Bound is the lower bound of the bill, in expectation; BoundDeviation is its standard
	// deviation. BelowBound: the bill is below it by more than chance and tolerance explain,
	// which is a fault of the simulator or of the bound.
	Bound          result.Number `json:"bound"`
	BoundDeviation result.Number `json:"bound_deviation"`
	BelowBound     bool          `json:"below_bound,omitempty"`
	// BoundCoreHours is the lower bound of the core-hours over these axes.
	BoundCoreHours result.Number `json:"bound_core_hours"`
	// Applied is what was set over the run, precise enough to play it again.
	Applied *policy.Schedule `json:"applied,omitempty"`
	// Origin of an oracle's schedule: the run or plan that the search started from, and the changes.
	Origin string `json:"origin,omitempty"`
	// DecisionsLeftOut changed CPU or memory by little, or came after the maximum that is
	// stored.
	DecisionsLeftOut int `json:"decisions_left_out,omitempty"`
}

// Bucket of a latency distribution: the number of requests up to a latency.
type Bucket struct {
	UpToMs result.Number `json:"up_to_ms"`
	Count  result.Number `json:"count"`
}

// Timeline is a run over time. Every slice has the length of T.
type Timeline struct {
	T        []result.Number            `json:"t_s"`
	Load     []result.Number            `json:"load_rps"`
	Failed   []result.Number            `json:"failed_rps"`
	Used     []result.Number            `json:"used_cores"`
	Asked    []result.Number            `json:"asked_cores"`
	Replicas map[string][]result.Number `json:"replicas"`  // by service
	AtSLO    map[string][]result.Number `json:"at_slo_ms"` // by kind: latency at the SLO's percentile; null = nothing ended
	SLOMs    map[string]result.Number   `json:"slo_ms"`    // by kind
}

// Decision that changed something.
type Decision struct {
	T       result.Number `json:"t_s"`
	Service string        `json:"service"`
	Change  string        `json:"change"` // "replicas 3 -> 5"
	Reason  string        `json:"reason"`
}

// Results is the result of all runs, DIR/results.json.
type Results struct {
	Format   int    `json:"format"`
	Program  string `json:"program"`
	Suite    string `json:"suite,omitempty"`
	Baseline string `json:"baseline"` // label of the policy that others are compared with
	Seeds    int    `json:"seeds"`
	Rows     []Row  `json:"rows"`
	// Learned are the learning curves of policies that were trained for it.
	Learned []Learned `json:"learned,omitempty"`

	// Calibrations are what was found for each calibrated policy, by its label; of one that was
	// calibrated several times, the last.
	Calibrations map[string]*Calibration `json:"-"`
}

// Learned describes the training of one model.
type Learned struct {
	App       string        `json:"app"`
	Workload  string        `json:"workload"`
	Label     string        `json:"label"`   // of the policy that uses it
	Setting   string        `json:"setting"` // that was chosen
	Steps     int           `json:"steps"`
	Seed      uint64        `json:"seed"`
	Yardstick result.Number `json:"yardstick"` // DRPC's reward on held-out episodes
	Curve     []CurvePoint  `json:"curve"`
}

// Row is one case over its seeds.
type Row struct {
	Case     Case                `json:"case"`
	Seeds    int                 `json:"seeds"`
	Measures map[string]Interval `json:"measures"` // by the name that result.Result gives it: core_hours, over_slo_ratio, p99_ms, ...
	Against  map[string]Interval `json:"against"`  // paired difference to the baseline, seed by seed
	// OverOracle is the bill relative to the oracle's, and AboveOracle the difference, if there is an
	// oracle in the cell and it meets the SLO.
	OverOracle  *Interval `json:"over_oracle,omitempty"`
	AboveOracle *Interval `json:"above_oracle,omitempty"`
	// Bound on the bill, and the difference between the bill and it.
	Bound      *Interval `json:"bound,omitempty"`
	AboveBound *Interval `json:"above_bound,omitempty"`
	// BelowBound: the bill of some run that met the SLO is below the bound.
	BelowBound bool `json:"below_bound,omitempty"`
	// BoundCoreHours is the bound on the core-hours, over the axes that the policy changes.
	BoundCoreHours *Interval `json:"bound_core_hours,omitempty"`
	Met            bool      `json:"met"` // at most 1 % of requests over the SLO, in every run; the cost counts only then
	Runs           []string  `json:"runs"`
	// Applications are those of a cluster with several; the measures are of all together, and the
	// share over the SLO that of the worst.
	Applications []ApplicationRow `json:"applications,omitempty"`
}

// ApplicationRow is one of several applications over the seeds of a case.
type ApplicationRow struct {
	Name string   `json:"name"`
	Over Interval `json:"over_slo_ratio"`
	Bill Interval `json:"bill"` // its share
}

// Interval is a mean over seeds with its 95 % confidence interval.
type Interval struct {
	Mean result.Number `json:"mean"`
	Low  result.Number `json:"low"`
	High result.Number `json:"high"`
}
