package trainer

import "github.com/loadline/loadline/internal/train"

// Point of the learning curve.
type Point struct {
	train.Point
	Users        float64 `json:"users"`     // mean R_qos of the users, by their own SLOs
	CommonReward float64 `json:"yardstick"` // mean of DRPC's reward
}

// Result is the evaluation of a policy on held-out episodes.
type Result struct {
	train.Result
	Users        float64 `json:"users"`     // mean R_qos of the users, by their own SLOs
	CommonReward float64 `json:"yardstick"` // by DRPC's
}

// Report is the record of a training.
type Report struct {
	Way        string                `json:"way"`
	Profiles   int                   `json:"profiles"`          // that were measured in this training
	Factors    map[string]float64    `json:"factors,omitempty"` // sum of the parts over the SLO, by kind
	Unadjusted string                `json:"unadjusted,omitempty"`
	Curve      []Point               `json:"curve"`
	Plateau    int                   `json:"plateau"` // steps after which the agent had converged; 0 = it had not
	Results    []Result              `json:"results"`
	Divisions  int                   `json:"divisions"` // splits of the SLO while exploring
	Chains     int                   `json:"chains"`    // chains computed in them
	Forecasts  []train.ForecastError `json:"forecasts"`
	Parameters int                   `json:"parameters"`
}
