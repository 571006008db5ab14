package rl

import "time"

// Task is an environment that can be made by name, with its description.
type Task struct {
	Name, About string
	New         func() (Env, error)
	Step        time.Duration // duration of a step in the environment
	Steps       int           // in which an agent should learn it
	Solved      float64       // mean return from which it counts as learned; NaN = unknown
}
