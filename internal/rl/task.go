package rl

import "time"

// Task is an environment that can be made by name, with its description.
type Task struct {
	Name, About string
	New         func() (Env, error)
	Step        time.Duration // the time that passes in the environment with each step
	Steps       int           // in which a sound agent learns it
	Solved      float64       // mean return from which on it counts as learned; NaN = not known
}
