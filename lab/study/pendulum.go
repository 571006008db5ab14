package study

import (
	"math"
	"math/rand/v2"

	"github.com/loadline/loadline/internal/rl"
)

// Pendulum is Gymnasium's Pendulum-v1: it hangs anywhere and must be swung up and held; 200
// steps, each with a cost of angle, speed and torque. An action of 1 is the largest torque.
type Pendulum struct {
	angle, speed float64 // 0 is upright
	steps        int
}

// NewPendulum makes one.
func NewPendulum() *Pendulum { return &Pendulum{} }

const (
	pendulumTick    = 0.05
	pendulumGravity = 10.0
	pendulumTorque  = 2.0
	pendulumSpeed   = 8.0
	pendulumSteps   = 200
)

// Spaces implements rl.Env.
func (p *Pendulum) Spaces() rl.Spaces { return rl.Spaces{Observation: 3, Dimensions: 1} }

// Reset implements rl.Env.
func (p *Pendulum) Reset(rng *rand.Rand, observation []float32) {
	p.angle, p.speed, p.steps = (2*rng.Float64()-1)*math.Pi, 2*rng.Float64()-1, 0
	p.observe(observation)
}

func (p *Pendulum) observe(observation []float32) {
	sin, cos := math.Sincos(p.angle)
	observation[0], observation[1], observation[2] = float32(cos), float32(sin), float32(p.speed)
}

// Step implements rl.Env.
func (p *Pendulum) Step(action *rl.Action, observation []float32) rl.Result {
	torque := pendulumTorque * float64(min(max(action.Values[0], -1), 1))
	lean := math.Remainder(p.angle, 2*math.Pi)
	cost := lean*lean + 0.1*p.speed*p.speed + 0.001*torque*torque

	p.speed += (1.5*pendulumGravity*math.Sin(p.angle) + 3*torque) * pendulumTick
	p.speed = min(max(p.speed, -pendulumSpeed), pendulumSpeed)
	p.angle += p.speed * pendulumTick
	p.steps++
	p.observe(observation)
	return rl.Result{Reward: -cost, Truncated: p.steps == pendulumSteps}
}
