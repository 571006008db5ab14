package train

import (
	"strings"

	"github.com/loadline/loadline/internal/rl"
)

// AgentOf is the agent of a formulation: that of its paper, as far as the paper says.
// Deviations that all share: exploration falls linearly from 1 to 0.02 within 8,000
// steps, since the papers explore for longer than a training here lasts; what a paper
// leaves open is as in rl.DefaultDQN. Experiments with another budget override it where
// they are described.
func AgentOf(formulation string) rl.DQNConfig {
	a := rl.DefaultDQN()
	a.Explore = rl.Schedule{Shape: rl.Linear, From: 1, To: 0.02, Steps: 8_000}
	switch {
	case formulation == "scaling-ops":
		// Scaling-Ops specifies a target network only; widths, discount and the interval
		// between copies are ours.
		a.Hidden, a.Double, a.Discount = []int{32, 32}, false, 0.95
		a.Copy, a.Soft = 200, 0
	case formulation == "elastic-dqn":
		// Elastic-DQN: plain DQN, discount 0.94, soft targets.
		a.Hidden, a.Double, a.Discount, a.Soft = []int{64, 64}, false, 0.94, 0.01
	case strings.HasPrefix(formulation, "serverless-"):
		// As in the serverless papers' published code, except for the discount and the
		// exploration, which lasts a thousand episodes there.
		a.Hidden, a.Double, a.Discount, a.Soft = []int{128, 128}, false, 0.95, 0.005
	case strings.HasPrefix(formulation, "loadline"):
		a.Hidden, a.Dueling, a.Discount, a.Steps = []int{64, 64}, true, 0.9, 3
	}
	return a
}
