package cli

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/loadline/loadline/internal/train"
	"github.com/loadline/loadline/internal/workload"
)

// formulations that --formulation takes: those that learn a whole application.
func formulations() []string { return []string{drpcFormulation, msarsFormulation} }

// subjectFlags are shared by all trainings of a whole application.
var subjectFlags = []string{"formulation", "app", "workload", "duration", "scale", "peak", "objective", "name", "output", "steps",
	"seed", "evaluate-every", "episodes", "out", "log"}

// refuseOthers reports flags that a formulation does not have.
func refuseOthers(flags *pflag.FlagSet, formulation string, more ...string) error {
	var faults []error
	flags.Visit(func(flag *pflag.Flag) {
		if !slices.Contains(subjectFlags, flag.Name) && !slices.Contains(more, flag.Name) {
			faults = append(faults, Usagef("--%s is not for --formulation %s", flag.Name, formulation))
		}
	})
	return errors.Join(faults...)
}

// refuseOwn reports flags that only another formulation has.
func refuseOwn(flags *pflag.FlagSet, formulation string, own []string) error {
	var faults []error
	for _, name := range own {
		if flags.Changed(name) {
			faults = append(faults, Usagef("--%s is for --formulation %s", name, formulation))
		}
	}
	return errors.Join(faults...)
}

// subject that the flags name.
func (f *trainFlags) subject() (train.Scenario, error) {
	return ScenarioFlags{
		App: f.run.app, Workload: f.run.workload, Duration: f.run.duration, Scale: f.run.scale, Peak: f.run.peak,
		Name: f.run.name, Objectives: f.run.objectives,
	}.Scenario(f.seed)
}

// ScenarioFlags name an application and a load to train on.
type ScenarioFlags struct {
	App, Workload, Name string
	Duration            time.Duration
	Scale, Peak         float64
	Objectives          []string
}

// Add the flags to a command's.
func (f *ScenarioFlags) Add(flags *pflag.FlagSet) {
	flags.StringVar(&f.App, "app", "", "name or file of an application")
	flags.StringVar(&f.Workload, "workload", "", "name, generators or file of a workload")
	LengthVar(flags, &f.Duration, "duration", "how long, such as 36h or 7d")
	flags.Float64Var(&f.Scale, "scale", 0, "multiply every rate")
	flags.Float64Var(&f.Peak, "peak", 0, "scale so that the highest rate is this many requests per second")
	flags.StringArrayVar(&f.Objectives, "objective", nil, `"99% < 250ms", or "KIND: 99% < 250ms" for one kind of request; repeatable`)
	flags.StringVar(&f.Name, "name", "", "of the application, instead of its own")
}

// Scenario that the flags name.
func (f ScenarioFlags) Scenario(seed uint64) (train.Scenario, error) {
	model, err := loadApp(f.App)
	if err != nil {
		return train.Scenario{}, err
	}
	if f.Name != "" {
		model.App.Name = f.Name
	}
	if err := setObjectives(model.App, f.Objectives); err != nil {
		return train.Scenario{}, err
	}
	shaped := workloadFlags{options: workload.Options{Duration: f.Duration, Scale: f.Scale, Peak: f.Peak, Seed: seed}}
	w, _, err := shaped.open(f.Workload)
	if err != nil {
		return train.Scenario{}, err
	}
	load, err := w.For(model.App)
	if err != nil {
		return train.Scenario{}, err
	}
	return train.Scenario{App: model.App, Load: load, Duration: w.Duration(),
		Source: fmt.Sprintf("%s under %s, %v", model.App.Name, w.Name, w.Duration())}, nil
}

// lacks reports missing flags of a training of a whole application.
func (f *trainFlags) lacks() []error {
	var faults []error
	if f.run.app == "" || f.run.workload == "" {
		faults = append(faults, Usagef("training data is missing: give --app NAME and --workload NAME"))
	}
	if f.out == "" {
		faults = append(faults, Usagef("--out is missing: the model file to write"))
	}
	return faults
}

// lengths applies the flags for the lengths of a training.
func (f *trainFlags) lengths(flags *pflag.FlagSet, steps, every, episodes *int) []error {
	var faults []error
	for _, o := range []struct {
		name string
		from int
		to   *int
	}{
		{"steps", f.training.Steps, steps}, {"evaluate-every", f.training.EvaluateEvery, every}, {"episodes", f.training.Episodes,
			episodes},
	} {
		if flags.Changed(o.name) {
			*o.to = o.from
			if o.from < 1 {
				faults = append(faults, Usagef("--%s is %d, must be at least 1", o.name, o.from))
			}
		}
	}
	return faults
}

// checkWritten checks the output files of a training of a whole application.
func (f *trainFlags) checkWritten() error {
	return errors.Join(CheckWritable("out", f.out), CheckWritable("log", f.log))
}
