package train

import (
	"math"

	"github.com/loadline/loadline/internal/rl"
)

// Point of a learning curve: what the curves of all trainers share.
type Point struct {
	Steps      int     `json:"steps"`
	Episodes   int     `json:"episodes"`
	Explored   float64 `json:"explored"`   // mean reward of a step while exploring, since the last point
	Loss       float64 `json:"loss"`       // mean of the updates since then
	Evaluation float64 `json:"evaluation"` // mean reward of a step, without exploring
	QoS        float64 `json:"qos"`        // mean R_qos of that
	CPU        float64 `json:"cpu"`        // mean utilisation of what was asked for
	Memory     float64 `json:"memory"`
}

// NoChange is the baseline that changes nothing.
const NoChange = "no change"

// Result is what a policy achieved on held-out episodes.
type Result struct {
	Policy string  `json:"who"`    // the policy
	Reward float64 `json:"reward"` // mean of a step
	QoS    float64 `json:"qos"`
	CPU    float64 `json:"cpu"`
	Memory float64 `json:"memory"`
}

// Add one step.
func (r *Result) Add(reward, qos, cpu, memory float64) {
	r.Reward += reward
	r.QoS += qos
	r.CPU += cpu
	r.Memory += memory
}

// Mean over the number of steps that were added.
func (r Result) Mean(steps float64) Result {
	r.Reward /= steps
	r.QoS /= steps
	r.CPU /= steps
	r.Memory /= steps
	return r
}

// Point of the curve that this was evaluated at. Without updates the loss is 0.
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
