package report

import "github.com/loadline/loadline/internal/result"

// Summary is loaded with the page. web/src/report/data.ts has the same types.
type Summary struct {
	Suite     string     `json:"suite"`
	Programs  []string   `json:"programs"` // versions that made the runs
	Baseline  string     `json:"baseline"`
	Seeds     int        `json:"seeds"`
	Engines   []string   `json:"engines"`
	CountsIf  float64    `json:"counts_if"` // share over the SLO up to which a cost counts
	Cost      string     `json:"cost"`      // key of the measure that policies are ranked by
	Measures  []Measure  `json:"measures"`
	Policies  []Policy   `json:"policies"`
	Scenarios []Scenario `json:"scenarios"`
	// Perturbations by name, with descriptions.
	Perturbations map[string]string `json:"perturbations"`
	Rows          []Row             `json:"rows"`
	Verdicts      []Verdict         `json:"verdicts"` // by scenario
	// Lead is the answer that the runs were made for; nil = none.
	Lead *Lead `json:"lead,omitempty"`
	// Curves of trained policies; nil = none.
	Curves []Curve `json:"curves,omitempty"`
}

// Curve is the learning curve of a policy for an application and a workload: the mean over its
// models.
type Curve struct {
	App      string          `json:"app"`
	Workload string          `json:"workload"`
	Policy   int             `json:"policy"`
	Models   int             `json:"models"`
	Setting  string          `json:"setting"` // that was chosen
	Steps    []int           `json:"steps"`
	Rewards  []result.Number `json:"rewards"` // at those steps, by DRPC's reward
	Final    triple          `json:"final"`   // on held-out episodes
}

// Measure that the table can show.
type Measure struct {
	Key   string `json:"key"`
	Name  string `json:"name"`
	Unit  string `json:"unit"`  // "%" measures are shares of 1
	Main  bool   `json:"main"`  // shown by default
	About string `json:"about"` // one sentence
}

// Policy as the tables call it.
type Policy struct {
	Label     string `json:"label"`
	Family    string `json:"family"`    // name without settings: hpa, kpa
	Reference bool   `json:"reference"` // given the load in advance: not a contender
}

// Scenario is where policies are compared with each other: all but the policy and
// the seed.
type Scenario struct {
	App          string `json:"app"`
	Workload     string `json:"workload"`
	Perturbation string `json:"perturbation"`
	Engine       string `json:"engine"`
	Kinds        []Kind `json:"kinds"`
}

// Kind of request and its SLO.
type Kind struct {
	Name       string        `json:"name"`
	Percentile result.Number `json:"percentile"`
	SLOMs      result.Number `json:"slo_ms"`
}

// Row is one policy in one scenario.
type Row struct {
	Scenario int               `json:"scenario"`
	Policy   int               `json:"policy"`
	Settings string            `json:"settings"` // name:key=value,...
	Met      bool              `json:"met"`
	Front    bool              `json:"front"` // no contender is both cheaper and safer
	Values   map[string]triple `json:"values"`
	Against  map[string]triple `json:"against"`
	OverBest *triple           `json:"over_clairvoyant"`
	Bound    *triple           `json:"bound"` // lower bound of the cost, in core-hours
	Runs     []Run             `json:"runs"`
}

// Run of a row. Two rows may share a run, if a calibrated policy equals the default: they have
// separate runs here, and one chunk.
type Run struct {
	ID      int           `json:"id"`
	Chunk   int           `json:"chunk"`
	Seed    uint64        `json:"seed,string"` // JavaScript numbers are exact up to 2^53
	Cost    result.Number `json:"cost"`
	OverSLO result.Number `json:"over_slo_ratio"`
}

// triple is mean, low and high.
type triple [3]result.Number
