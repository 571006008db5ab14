package main

import (
	"fmt"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/rivals"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/workload"
)

// formulations that --formulation takes: those that learn a whole application.
func formulations() []string {
	names := []string{drpcFormulation}
	for _, r := range rivals.Names() {
		names = append(names, string(r))
	}
	return append(names, msarsFormulation)
}

// learnedOn is an application and its users' requests.
type learnedOn struct {
	App      *loadline.App
	Load     sim.Arrivals
	Duration time.Duration
	Source   string // what the load is, for the model's card
}

// subject that the flags name.
func (f *trainFlags) subject() (learnedOn, error) {
	model, err := loadApp(f.run.app)
	if err != nil {
		return learnedOn{}, err
	}
	if f.run.name != "" {
		model.App.Name = f.run.name
	}
	if err := f.run.promise(model.App); err != nil {
		return learnedOn{}, err
	}
	shaped := workloadFlags{options: workload.Options{Duration: f.run.duration, Scale: f.run.scale, Peak: f.run.peak, Seed: f.seed}}
	w, _, err := shaped.open(f.run.workload)
	if err != nil {
		return learnedOn{}, err
	}
	load, err := w.For(model.App)
	if err != nil {
		return learnedOn{}, err
	}
	return learnedOn{App: model.App, Load: load, Duration: w.Duration(), Source: fmt.Sprintf("%s under %s, %v", model.App.Name, w.Name, w.Duration())}, nil
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
