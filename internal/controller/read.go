package controller

import (
	"fmt"
	"strings"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/modelfile"
	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/policy/msars"
)

// read a policy out of its file, of whichever kind that is.
func (d *decider) read(file *modelfile.File, app *loadline.App) (err error) {
	switch file.Card.Kind {
	case drpc.FileKind:
		return d.readStudents(file, app)
	case msars.FileKind:
		d.policy, err = readSteered(file, app)
		return err
	}
	model, err := formulation.FromFile(file)
	if err != nil {
		return err
	}
	d.policy, err = formulation.NewPolicy(model, app)
	return err
}

func (d *decider) readStudents(file *modelfile.File, app *loadline.App) error {
	students, err := drpc.FromFile(file)
	if err != nil {
		return err
	}
	alone, err := drpc.NewPolicy(students, app, drpc.Work{})
	if err != nil {
		return err
	}
	if unseen := sightless(app, lone{alone}.Decides); len(unseen) > 0 {
		return fmt.Errorf("students judge latencies by their part of the objective, which needs the application's calls, and none are known to %s: name the twin that they were taught on in spec.twin", strings.Join(unseen, ", "))
	}
	d.students, d.policy = students, &lone{alone}
	return nil
}

// readSteered is an agent that steers by parts of the objectives. The calls are looked
// at first: without them there is nothing that it could fit.
func readSteered(file *modelfile.File, app *loadline.App) (loadline.Policy, error) {
	model, err := msars.FromFile(file)
	if err != nil {
		return nil, err
	}
	passed := func(service int) bool { return model.Passed(app.Services[service].Name) }
	if unseen := sightless(app, passed); len(unseen) > 0 {
		return nil, fmt.Errorf("objectives are split along the application's calls, and none are known to %s: name the twin that the model was trained on in spec.twin", strings.Join(unseen, ", "))
	}
	return msars.NewPolicy(model, app, 0)
}

// sightless are services that are decided for and that no request is known to pass.
func sightless(app *loadline.App, decides func(service int) bool) []string {
	var names []string
	ground := formulation.NewGround(app)
	for i := range app.Services {
		if decides(i) && ground.Services[i].Budget.Latency <= 0 {
			names = append(names, app.Services[i].Name)
		}
	}
	return names
}

// lone students decide without a fleet.
type lone struct{ *drpc.Policy }

// Decides says whether a service has a student; the rule decides for the others.
func (l lone) Decides(service int) bool { return l.Student(service) != nil }
