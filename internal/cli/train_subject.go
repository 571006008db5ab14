package cli

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"github.com/loadline/loadline/internal/train"
	"github.com/loadline/loadline/internal/workload"
	"github.com/loadline/loadline/lab/rivals"
)

// formulations that --formulation takes: those that learn a whole application.
func formulations() []string {
	names := []string{drpcFormulation}
	for _, r := range rivals.Names() {
		names = append(names, string(r))
	}
	return append(names, msarsFormulation)
}

// subjectFlags are those that every training of a whole application takes.
var subjectFlags = []string{"formulation", "app", "workload", "duration", "scale", "peak", "objective", "name", "output", "steps", "seed", "evaluate-every", "episodes", "out", "log"}

// refuseOthers says which of the flags that were given a formulation does not take:
// those of every training, and some more.
func refuseOthers(flags *pflag.FlagSet, formulation string, more ...string) error {
	var faults []error
	flags.Visit(func(flag *pflag.Flag) {
		if !slices.Contains(subjectFlags, flag.Name) && !slices.Contains(more, flag.Name) {
			faults = append(faults, usagef("--%s is not for --formulation %s", flag.Name, formulation))
		}
	})
	return errors.Join(faults...)
}

// refuseOwn says which of the flags that were given only another formulation takes.
func refuseOwn(flags *pflag.FlagSet, formulation string, own []string) error {
	var faults []error
	for _, name := range own {
		if flags.Changed(name) {
			faults = append(faults, usagef("--%s is for --formulation %s", name, formulation))
		}
	}
	return errors.Join(faults...)
}

// subject that the flags name.
func (f *trainFlags) subject() (train.Scenario, error) {
	model, err := loadApp(f.run.app)
	if err != nil {
		return train.Scenario{}, err
	}
	if f.run.name != "" {
		model.App.Name = f.run.name
	}
	if err := f.run.promise(model.App); err != nil {
		return train.Scenario{}, err
	}
	shaped := workloadFlags{options: workload.Options{Duration: f.run.duration, Scale: f.run.scale, Peak: f.run.peak, Seed: f.seed}}
	w, _, err := shaped.open(f.run.workload)
	if err != nil {
		return train.Scenario{}, err
	}
	load, err := w.For(model.App)
	if err != nil {
		return train.Scenario{}, err
	}
	return train.Scenario{App: model.App, Load: load, Duration: w.Duration(), Source: fmt.Sprintf("%s under %s, %v", model.App.Name, w.Name, w.Duration())}, nil
}

// lacks is what every training of a whole application needs and was not given.
func (f *trainFlags) lacks() []error {
	var faults []error
	if f.run.app == "" || f.run.workload == "" {
		faults = append(faults, usagef("what to learn on is missing: give --app NAME and --workload NAME"))
	}
	if f.out == "" {
		faults = append(faults, usagef("--out is missing: the model file to write"))
	}
	if f.run.output != "text" && f.run.output != "json" {
		faults = append(faults, usagef("--output is %q, must be text or json", f.run.output))
	}
	return faults
}

// lengths sets those of a training that the flags give.
func (f *trainFlags) lengths(flags *pflag.FlagSet, steps, every, episodes *int) []error {
	var faults []error
	for _, o := range []struct {
		name string
		from int
		to   *int
	}{
		{"steps", f.training.Steps, steps}, {"evaluate-every", f.training.EvaluateEvery, every}, {"episodes", f.training.Episodes, episodes},
	} {
		if flags.Changed(o.name) {
			*o.to = o.from
			if o.from < 1 {
				faults = append(faults, usagef("--%s is %d, must be at least 1", o.name, o.from))
			}
		}
	}
	return faults
}

// checkWritten are the files that every training of a whole application writes.
func (f *trainFlags) checkWritten() error {
	return errors.Join(checkWritable("out", f.out), checkWritable("log", f.log))
}
