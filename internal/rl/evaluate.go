package rl

import "math"

// Random streams of one seed. Episodes are numbered from their stream on.
const (
	agentStream      = 0
	trainingStream   = 1 << 32
	evaluationStream = 2 << 32
)

// AgentRNG is the generator of an agent.
func AgentRNG(seed uint64) *RNG { return NewRNG(seed, agentStream) }

// Evaluation is the result of a policy, by episode.
type Evaluation struct {
	Returns []float64 // sums of rewards
	Lengths []int     // steps
}

// Evaluate runs a policy without learning. Episodes are cut off after longest steps, if that is
// not 0. The same seed gives the same episodes, none of which occur in training with that seed.
func Evaluate(env Env, policy Policy, seed uint64, episodes, longest int) Evaluation {
	var e Evaluation
	spaces := env.Spaces()
	action, observation := spaces.NewAction(), make([]float32, spaces.Observation)
	rng := NewRNG(seed, evaluationStream)
	for i := range episodes {
		rng.Reseed(seed, evaluationStream+uint64(i))
		env.Reset(rng.Rand, observation)
		sum, length, over := 0.0, 0, false
		for !over {
			policy.Decide(observation, &action)
			result := env.Step(&action, observation)
			sum += result.Reward
			length++
			over = result.Ends() || length == longest
		}
		e.Returns, e.Lengths = append(e.Returns, sum), append(e.Lengths, length)
	}
	return e
}

// Mean return.
func (e Evaluation) Mean() float64 {
	sum := 0.0
	for _, r := range e.Returns {
		sum += r
	}
	return sum / float64(len(e.Returns))
}

// Deviation of the returns, as of a sample.
func (e Evaluation) Deviation() float64 {
	mean, sum := e.Mean(), 0.0
	for _, r := range e.Returns {
		sum += (r - mean) * (r - mean)
	}
	return math.Sqrt(sum / float64(len(e.Returns)-1))
}
