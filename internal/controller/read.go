package controller

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/modelfile"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/policy/drpc"
)

// read a policy out of its file, of whichever method that is. The calls are looked at
// first: without them there may be nothing that the model could fit.
func (d *decider) read(file *modelfile.File, app *loadline.App) error {
	model, err := policy.ReadModel(file)
	if err != nil {
		return err
	}
	if unknown := withoutCalls(app, model.About().OnPaths); len(unknown) > 0 {
		return fmt.Errorf("%s judges services by their part of the objective, which needs the application's calls, and none are "+
			"known to %s: "+
			"name the twin that the model was trained on in spec.twin", model.Method(), strings.Join(unknown, ", "))
	}
	if d.policy, err = model.Policy(app); err != nil {
		return err
	}
	// Students may join a fleet.
	if of, ok := model.(interface{ Students() *drpc.Model }); ok {
		d.students = of.Students()
	}
	return nil
}

// withoutCalls are those of some services that no request is known to pass.
func withoutCalls(app *loadline.App, services []string) []string {
	var names []string
	ground := formulation.NewTopology(app)
	for i := range app.Services {
		if name := app.Services[i].Name; slices.Contains(services, name) && ground.Services[i].Budget.Latency <= 0 {
			names = append(names, name)
		}
	}
	return names
}
