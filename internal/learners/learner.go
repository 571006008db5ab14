package learners

import (
	"context"
	"fmt"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/profile"
	"github.com/loadline/loadline/internal/suggest"
	"github.com/loadline/loadline/internal/workload"
)

// Learner is a method that can be trained.
type Learner struct {
	Name   string // in tables and on command lines
	Policy string // that its model file is for: POLICY:file=PATH

	// train one model into a file. The same task gives the same file to the byte.
	train func(ctx context.Context, on subject, t Task, path string, progress func(float64)) (*Trained, error)
}

// Setting is one of those that every learner may choose from: a factor on its
// learning rates. Methods have little else in common, and it is what all of them are
// most sensitive to.
type Setting struct {
	Name string  `json:"name"`
	Rate float64 `json:"rate"`
}

// Settings are the tuning trials that everybody gets, the default first.
func Settings() []Setting {
	return []Setting{{"rate as it comes", 1}, {"rate / 3", 1.0 / 3}, {"rate x 3", 3}}
}

// Task is one training.
type Task struct {
	Learner Learner
	App     *loadline.App
	Load    *workload.Workload
	Setting Setting
	Steps   int // in the environment, in all
	Seed    uint64
}

// subject is what is practised on.
type subject struct {
	app      *loadline.App
	load     *workload.Load
	duration time.Duration
	source   string

	// profiles of its services, for those who divide the SLO by them: measured when
	// they are asked for, and kept.
	profiles func(ctx context.Context, progress func(share float64)) (*profile.Set, error)
}

func (t Task) subject() (subject, error) {
	load, err := t.Load.For(t.App)
	if err != nil {
		return subject{}, err
	}
	return subject{app: t.App, load: load, duration: t.Load.Duration(), source: fmt.Sprintf("%s under %s, %v", t.App.Name, t.Load.Name, t.Load.Duration())}, nil
}

// Validate says what is wrong with a task.
func (t Task) Validate() error {
	if t.Steps < LeastSteps {
		return fmt.Errorf("train %s: steps is %d, must be at least %d", t.Learner.Name, t.Steps, LeastSteps)
	}
	if !(t.Setting.Rate > 0) {
		return fmt.Errorf("train %s: rate is %v, must be more than 0", t.Learner.Name, t.Setting.Rate)
	}
	return nil
}

// All learners there are.
func All() []Learner { return append(OfDRPC(), msarsLearner) }

// OfDRPC are those that DRPC's own experiment compares: DRPC and its rivals.
func OfDRPC() []Learner {
	return append([]Learner{drpcLearner, branchingLearner}, rivalLearners()...)
}

// Names of all learners.
func Names() []string {
	var names []string
	for _, l := range All() {
		names = append(names, l.Name)
	}
	return names
}

// Named is the learner of that name.
func Named(name string) (Learner, error) {
	for _, l := range All() {
		if l.Name == name {
			return l, nil
		}
	}
	return Learner{}, fmt.Errorf("nothing that can be trained is called %q%s", name, suggest.Hint(name, Names()))
}
