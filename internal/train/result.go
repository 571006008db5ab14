package train

import (
	"math"

	"github.com/loadline/loadline/internal/rl"
)

// Point of a learning curve, with the fields that all trainers have.
type Point struct {
	Steps      int     `json:"steps"`
	Episodes   int     `json:"episodes"`
	Explored   float64 `json:"explored"`   // mean reward of a step while exploring, since the last point
	Loss       float64 `json:"loss"`       // mean of the updates since then
	Evaluation float64 `json:"evaluation"` // mean reward of a step, without exploring
	QoS        float64 `json:"qos"`        // mean R_qos of that
	CPU        float64 `json:"cpu"`        // mean utilisation of what was requested
	Memory     float64 `json:"memory"`
}

// NoChange is the baseline that changes nothing.
const NoChange = "no change"

// Result is the evaluation of a policy on held-out episodes.
type Result struct {
	Policy string  `json:"who"`
	Reward float64 `json:"reward"` // mean of a step
	QoS    float64 `json:"qos"`
	CPU    float64 `json:"cpu"`
	Memory float64 `json:"memory"`
}

// Add adds one step.
func (r *Result) Add(reward, qos, cpu, memory float64) {
	r.Reward += reward
	r.QoS += qos
	r.CPU += cpu
	r.Memory += memory
}

// Mean divides the sums by the number of steps.
func (r Result) Mean(steps float64) Result {
	r.Reward /= steps
	r.QoS /= steps
	r.CPU /= steps
	r.Memory /= steps
	return r
}

// Point is the point of the learning curve with this evaluation. Without updates the loss is 0.
func (r Result) Point(p rl.Point) Point {
	loss := p.Loss
	if math.IsNaN(loss) {
		loss = 0
	}
	return Point{
		Steps: p.Steps, Episodes: p.Episodes, Explored: p.Explored, Loss: loss,
		Evaluation: r.Reward, QoS: r.QoS, CPU: r.CPU, Memory: r.Memory,
	}
}
