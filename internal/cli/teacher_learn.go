package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/loadline/loadline/internal/train"

	"github.com/spf13/pflag"

	"github.com/loadline/loadline/internal/fleet/teacher"
	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/policy/drpc/trainer"
)

// learningFlags are those of a teacher that learns.
type learningFlags struct {
	app, workload          string
	shaped                 workloadFlags
	warm, refresh, examine int
	save                   time.Duration
}

func (f *learningFlags) add(flags *pflag.FlagSet) {
	c := teacher.Usual()
	flags.StringVar(&f.app, "app", "", "learn: name or file of the application that the model was trained on (see apps)")
	flags.StringVar(&f.workload, "workload", "day",
		"with --app: load of the simulated application in which the teacher trains and is evaluated")
	f.shaped.addReading(flags)
	LengthVar(flags, &f.shaped.options.Duration, "duration", "with --app: length of that load; default: its own, a day for generators")
	flags.IntVar(&f.warm, "warm-up", c.WarmUp, "with --app: simulated steps in which a teacher without a saved state trains its critics")
	flags.IntVar(&f.refresh, "refresh", trainer.Default(drpc.Continuous).Stage1.Refresh,
		"with --app: simulated steps of stage 1 at most when the notifier requests training")
	flags.IntVar(&f.examine, "examine", c.EvaluateEvery, "with --app: learned periods between two evaluations")
	flags.DurationVar(&f.save, "save", c.SaveEvery, "with --app: how often to save the state; decisions are acknowledged with it")
}

// learningOnly are the flags that need --app.
var learningOnly = []string{"workload", "duration", "warm-up", "refresh", "examine", "save", "seed", "scale", "peak", "format",
	"select", "metric", "combine", "gaps", "skip-bad", "rps-at-full", "profile"}

func (f *learningFlags) check(flags *pflag.FlagSet) error {
	var faults []error
	if f.app == "" {
		for _, name := range learningOnly {
			if flags.Changed(name) {
				faults = append(faults, Usagef("--%s is for a teacher that learns: give --app too", name))
			}
		}
	}
	for _, n := range []struct {
		name  string
		value int
	}{{"warm-up", f.warm}, {"refresh", f.refresh}, {"examine", f.examine}} {
		if n.value < 1 {
			faults = append(faults, Usagef("--%s is %d, must be at least 1", n.name, n.value))
		}
	}
	if f.save < 0 {
		faults = append(faults, Usagef("--save is %v, must be at least 0", f.save))
	}
	return errors.Join(faults...)
}

// scenario in which the teacher trains.
func (f *learningFlags) scenario() (*train.Scenario, error) {
	model, err := loadApp(f.app)
	if err != nil {
		return nil, err
	}
	w, _, err := f.shaped.open(f.workload)
	if err != nil {
		return nil, err
	}
	load, err := w.For(model.App)
	if err != nil {
		return nil, err
	}
	return &train.Scenario{App: model.App, Load: load, Duration: w.Duration(),
		Source: fmt.Sprintf("%s under %s, %v", model.App.Name, w.Name, w.Duration())}, nil
}

func (f *learningFlags) configure(c *teacher.Config) {
	c.WarmUp, c.EvaluateEvery, c.SaveEvery, c.Training.Stage1.Refresh = f.warm, f.examine, f.save, f.refresh
}
