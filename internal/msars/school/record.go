package school

import (
	"github.com/loadline/loadline/internal/arena"
	"github.com/loadline/loadline/internal/drpc"
)

// Point of the learning curve.
type Point struct {
	Steps      int     `json:"steps"`
	Episodes   int     `json:"episodes"`
	Explored   float64 `json:"explored"`   // mean reward of a step while exploring, since the last point
	Loss       float64 `json:"loss"`       // mean of the updates since then
	Evaluation float64 `json:"evaluation"` // mean reward of a step, without exploring
	QoS        float64 `json:"qos"`        // mean R_qos of that
	CPU        float64 `json:"cpu"`        // mean utilisation of what was asked for
	Memory     float64 `json:"memory"`
	Users      float64 `json:"users"` // mean R_qos of the users, by their own SLOs
}

// Result is what somebody achieved on episodes that nobody has practised on.
type Result struct {
	Who    string  `json:"who"`
	Reward float64 `json:"reward"` // mean of a step
	QoS    float64 `json:"qos"`
	CPU    float64 `json:"cpu"`
	Memory float64 `json:"memory"`
	Users  float64 `json:"users"`
}

func (r *Result) add(w drpc.Worth, users float64) {
	r.Reward += w.Reward
	r.QoS += w.QoS
	r.CPU += w.CPU
	r.Memory += w.Memory
	r.Users += users
}

func (r Result) over(n float64) Result {
	r.Reward /= n
	r.QoS /= n
	r.CPU /= n
	r.Memory /= n
	r.Users /= n
	return r
}

// Report is what is told of a schooling.
type Report struct {
	Way        string                `json:"way"`
	Profiles   int                   `json:"profiles"`          // that were measured here
	Factors    map[string]float64    `json:"factors,omitempty"` // time that parts may sum to over the SLO, by kind
	Unadjusted string                `json:"unadjusted,omitempty"`
	Curve      []Point               `json:"curve"`
	Plateau    int                   `json:"plateau"` // steps at which the agent had levelled off; 0 = it had not
	Results    []Result              `json:"results"`
	Divisions  int                   `json:"divisions"` // while exploring: how often the SLO was divided
	Chains     int                   `json:"chains"`    // and how many chains were computed in them
	Forecasts  []arena.ForecastError `json:"forecasts"`
	Parameters int                   `json:"parameters"`
}
