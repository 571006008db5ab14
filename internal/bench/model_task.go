package bench

import (
	"context"
	"fmt"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/profile"
	"github.com/loadline/loadline/internal/train"
	"github.com/loadline/loadline/internal/workload"
)

// TrainingSetting is a tuning trial of every method: a factor on its learning rates. Methods have
// little else in common, and all of them are most sensitive to it.
type TrainingSetting struct {
	Name string  `json:"name"`
	Rate float64 `json:"rate"`
}

// TrainingSettings are the tuning trials that every method gets, the default first.
func TrainingSettings() []TrainingSetting {
	return []TrainingSetting{{"rate as it comes", 1}, {"rate / 3", 1.0 / 3}, {"rate x 3", 3}}
}

// TrainingTask is one training.
type TrainingTask struct {
	Method  policy.Method
	App     *loadline.App
	Load    *workload.Workload
	Setting TrainingSetting
	Steps   int // in the environment, in all
	Seed    uint64
}

// Validate reports a fault of a task.
func (t TrainingTask) Validate() error {
	if err := (policy.Task{Steps: t.Steps, Rate: t.Setting.Rate}).Validate(); err != nil {
		return fmt.Errorf("train %s: %w", t.Method.Name, err)
	}
	return nil
}

// training of the task; profiles of the services are measured on request, and stored.
func (t TrainingTask) training(profiles func(context.Context, func(float64)) (*profile.Set, error),
	progress func(float64)) (policy.Task, error) {
	load, err := t.Load.For(t.App)
	if err != nil {
		return policy.Task{}, err
	}
	return policy.Task{
		Scenario: train.Scenario{
			App: t.App, Load: load, Duration: t.Load.Duration(), Source: fmt.Sprintf("%s under %s, %v", t.App.Name, t.Load.Name,
				t.Load.Duration()),
		},
		Steps: t.Steps, Seed: t.Seed, Rate: t.Setting.Rate, Profiles: profiles, Progress: progress,
	}, nil
}
