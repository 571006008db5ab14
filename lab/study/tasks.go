package study

import (
	"time"

	"github.com/loadline/loadline/internal/rl"
)

// Tasks lists all environments.
func Tasks() []rl.Task {
	return []rl.Task{
		{
			Name: "cartpole", About: "balance a pole on a cart by pushing left or right",
			New:  func() (rl.Env, error) { return NewCartPole(), nil },
			Step: 20 * time.Millisecond, Steps: 40_000, Solved: 475,
		},
		{
			Name: "pendulum", About: "swing a pendulum up and keep it there by a limited torque",
			New:  func() (rl.Env, error) { return NewPendulum(), nil },
			Step: 50 * time.Millisecond, Steps: 15_000, Solved: -200,
		},
		{
			Name: "identity", About: "choose the sign that is shown",
			New:  func() (rl.Env, error) { return NewIdentity(4), nil },
			Step: time.Second, Steps: 4_000, Solved: 99,
		},
		{
			Name: "identity-continuous", About: "repeat the numbers that are shown",
			New:  func() (rl.Env, error) { return NewIdentityContinuous(2), nil },
			Step: time.Second, Steps: 6_000, Solved: -1,
		},
	}
}
