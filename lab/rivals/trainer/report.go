package trainer

import "github.com/loadline/loadline/internal/train"

// Point of a learning curve. The rivals' own rewards cannot be compared, so it contains
// DRPC's reward, too; QoS is that of DRPC's reward.
type Point struct {
	train.Point
	CommonReward float64 `json:"yardstick"` // mean of DRPC's reward
}

// Result is the evaluation of a policy on held-out episodes.
type Result struct {
	train.Result         // by the rival's own reward
	CommonReward float64 `json:"yardstick"` // by DRPC's
}

// Report is the record of a training.
type Report struct {
	Rival      string                `json:"rival"`
	Curve      []Point               `json:"curve"`
	Episodes   []float64             `json:"episodes"` // mean reward of a step, episode by episode, while exploring
	Events     []string              `json:"events"`
	Results    []Result              `json:"results"`
	Forecasts  []train.ForecastError `json:"forecasts,omitempty"`
	Parameters int                   `json:"parameters"` // without forecasters
}
