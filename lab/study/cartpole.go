package study

import (
	"math"
	"math/rand/v2"

	"github.com/loadline/loadline/internal/rl"
)

// CartPole is the task of Barto, Sutton and Anderson (1983) with the constants of
// Gymnasium's CartPole-v1: a reward of 1 for each step until the pole leans too
// far, the cart leaves the track, or 500 steps have passed.
type CartPole struct {
	position, speed, angle, turning float64
	steps                           int
}

// NewCartPole makes one.
func NewCartPole() *CartPole { return &CartPole{} }

const (
	cartGravity   = 9.8
	cartMass      = 1.0
	poleMass      = 0.1
	poleHalf      = 0.5 // length from the hinge to the centre of mass
	cartForce     = 10.0
	cartTick      = 0.02
	cartFarthest  = 2.4
	poleFarthest  = 12 * 2 * math.Pi / 360
	cartPoleSteps = 500
)

// Spaces implements rl.Env.
func (c *CartPole) Spaces() rl.Spaces { return rl.Spaces{Observation: 4, Choices: 2} }

// Reset implements rl.Env.
func (c *CartPole) Reset(rng *rand.Rand, observation []float32) {
	for _, v := range []*float64{&c.position, &c.speed, &c.angle, &c.turning} {
		*v = rng.Float64()*0.1 - 0.05
	}
	c.steps = 0
	c.observe(observation)
}

func (c *CartPole) observe(observation []float32) {
	observation[0], observation[1] = float32(c.position), float32(c.speed)
	observation[2], observation[3] = float32(c.angle), float32(c.turning)
}

// Step implements rl.Env.
func (c *CartPole) Step(action *rl.Action, observation []float32) rl.Result {
	force := -cartForce
	if action.Choice == 1 {
		force = cartForce
	}
	sin, cos := math.Sincos(c.angle)
	const mass = cartMass + poleMass
	push := (force + poleMass*poleHalf*c.turning*c.turning*sin) / mass
	bend := (cartGravity*sin - cos*push) / (poleHalf * (4.0/3 - poleMass*cos*cos/mass))
	pull := push - poleMass*poleHalf*bend*cos/mass

	c.position += cartTick * c.speed
	c.speed += cartTick * pull
	c.angle += cartTick * c.turning
	c.turning += cartTick * bend
	c.steps++
	c.observe(observation)
	fallen := math.Abs(c.position) > cartFarthest || math.Abs(c.angle) > poleFarthest
	return rl.Result{Reward: 1, Terminated: fallen, Truncated: !fallen && c.steps == cartPoleSteps}
}
