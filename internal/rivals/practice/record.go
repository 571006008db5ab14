package practice

import "github.com/loadline/loadline/internal/arena"

// Point of a learning curve. The columns are those of DRPC's, without imitation,
// and with what DRPC's reward would say: rivals' own rewards cannot be compared.
type Point struct {
	Steps      int     `json:"steps"`
	Episodes   int     `json:"episodes"`
	Explored   float64 `json:"explored"`   // mean reward of a step while exploring, since the last point
	Loss       float64 `json:"loss"`       // mean of the updates since then
	Evaluation float64 `json:"evaluation"` // mean reward of a step, without exploring
	QoS        float64 `json:"qos"`        // mean R_qos of DRPC's reward
	CPU        float64 `json:"cpu"`        // mean utilisation of what was asked for
	Memory     float64 `json:"memory"`
	Yardstick  float64 `json:"yardstick"` // mean of DRPC's reward
}

// Result is what was achieved on episodes that nobody has practised on.
type Result struct {
	Who       string  `json:"who"`
	Reward    float64 `json:"reward"` // mean of a step, by the rival's own
	QoS       float64 `json:"qos"`
	CPU       float64 `json:"cpu"`
	Memory    float64 `json:"memory"`
	Yardstick float64 `json:"yardstick"` // by DRPC's
}

// Report is what is told of a practice.
type Report struct {
	Rival      string                `json:"rival"`
	Curve      []Point               `json:"curve"`
	Episodes   []float64             `json:"episodes"` // mean reward of a step, episode by episode, while exploring
	Events     []string              `json:"events"`
	Results    []Result              `json:"results"`
	Forecasts  []arena.ForecastError `json:"forecasts,omitempty"`
	Parameters int                   `json:"parameters"` // that decide
}
