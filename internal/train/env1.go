package train

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/rl"
)

// Delays is Scaling-Ops' linear model of one service (eq. 3) with the means of its
// history. The paper's environments use nothing else of the service.
type Delays struct {
	CPUSlope     float64 // seconds per unit of utilisation, b0
	RequestSlope float64 // seconds per request per second, b1
	Intercept    float64 // seconds; 0 = dropped, as Algorithm 1 does
	Smoothing    float64 // alpha, 0.4 in the paper
	SLA          float64 // seconds

	MeanCPU      float64 // utilisation of a pod's request
	MeanRequests float64 // per second
	MeanReplicas float64
}

// Of is the delay by the model (eq. 5), in seconds.
func (d *Delays) Of(cpu, requests float64) float64 {
	return d.Smoothing * (d.Intercept + d.CPUSlope*cpu + d.RequestSlope*requests)
}

// HistoryRow is one row of a history.
type HistoryRow struct {
	CPU      float64 // utilisation of a pod's request
	Requests float64 // per second
	Replicas float64
}

// ENV1Config configures ENV1.
type ENV1Config struct {
	Rows        []HistoryRow
	Delays      Delays
	MinReplicas int
	MaxReplicas int
	Steps       int // K: of an episode

	Weight, Penalty float64 // of the reward: 0.3 and -2 in the paper
}

// ENV1 is Scaling-Ops' environment for training (eq. 4 and 5): an episode begins
// with a random row of the history and keeps its rate of requests.
type ENV1 struct {
	config ENV1Config
	row    HistoryRow
	steps  int
}

// NewENV1 checks the configuration.
func NewENV1(config ENV1Config) (*ENV1, error) {
	var faults []error
	if len(config.Rows) == 0 {
		faults = append(faults, errors.New("the history has no row with CPU, requests and replicas"))
	}
	if config.Steps < 1 {
		faults = append(faults, fmt.Errorf("episodes of %d steps, must be at least 1", config.Steps))
	}
	if config.MinReplicas < 1 || config.MaxReplicas < config.MinReplicas {
		faults = append(faults, fmt.Errorf("replicas from %d to %d, must be at least 1 and not falling", config.MinReplicas,
			config.MaxReplicas))
	}
	if !(config.Delays.SLA > 0) {
		faults = append(faults, fmt.Errorf("an SLA of %v s, must be above 0", config.Delays.SLA))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, fmt.Errorf("ENV1: %w", err)
	}
	return &ENV1{config: config}, nil
}

// Spaces implements rl.Env: CPU, requests, replicas; one less, none, one more.
func (e *ENV1) Spaces() rl.Spaces { return rl.Spaces{Observation: 3, Choices: 3} }

// Reset implements rl.Env.
func (e *ENV1) Reset(rng *rand.Rand, observation []float32) {
	e.row = e.config.Rows[rng.IntN(len(e.config.Rows))]
	e.row.Replicas = min(max(math.Round(e.row.Replicas), float64(e.config.MinReplicas)), float64(e.config.MaxReplicas))
	e.steps = 0
	e.see(observation)
}

// Step implements rl.Env. Where a bound limits the replicas, the action becomes what was
// applied.
func (e *ENV1) Step(action *rl.Action, observation []float32) rl.Result {
	c := &e.config
	replicas := min(max(e.row.Replicas+float64(action.Choice-1), float64(c.MinReplicas)), float64(c.MaxReplicas))
	action.Choice = 1 + int(replicas-e.row.Replicas)
	e.row.CPU *= e.row.Replicas / replicas // eq. 4
	e.row.Replicas = replicas
	e.steps++
	e.see(observation)
	delay := c.Delays.Of(e.row.CPU, e.row.Requests) // eq. 5
	return rl.Result{
		Reward:    formulation.ScalingOpsReward(e.row.CPU, delay, c.Delays.SLA, replicas, c.Weight, c.Penalty),
		Truncated: e.steps >= c.Steps,
	}
}

func (e *ENV1) see(observation []float32) {
	observation[0], observation[1], observation[2] = float32(e.row.CPU), float32(e.row.Requests), float32(e.row.Replicas)
}
