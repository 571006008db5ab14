package msars

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/loadline/loadline"
)

// fits checks whether a model can be used for an application: it must have the services that
// the model was trained for, in any order, and objectives that the model's profiles were
// measured for.
func (m *Model) fits(app *loadline.App) error {
	if err := m.knows(app); err != nil {
		return err
	}
	if len(Needed(app)) == 0 {
		return fmt.Errorf("no kind of request of %s has an SLO, so there is nothing to steer by: give one to those that matter", app.Name)
	}
	if m.Division.Way == None || m.Division.Profiles == nil {
		return nil
	}
	var faults []error
	library := newLibrary(app, m.Division.Profiles)
	for _, n := range Needed(app) {
		if err := library.missing(n, app.Services[n.Service].Size); err != nil {
			faults = append(faults, fmt.Errorf("%w: the model was trained with other objectives, calls or sizes; give it those, or "+
				"train one for these", err))
		}
	}
	return errors.Join(faults...)
}

// knows checks that an application has exactly the model's services.
func (m *Model) knows(app *loadline.App) error {
	var missing, besides []string
	for _, name := range m.Services {
		if app.ServiceIndex(name) < 0 {
			missing = append(missing, name)
		}
	}
	for i := range app.Services {
		if name := app.Services[i].Name; !slices.Contains(m.Services, name) {
			besides = append(besides, name)
		}
	}
	var has []string
	if len(missing) > 0 {
		has = append(has, "no "+strings.Join(missing, ", "))
	}
	if len(besides) > 0 {
		has = append(has, "besides "+strings.Join(besides, ", "))
	}
	if len(has) == 0 {
		return nil
	}
	return fmt.Errorf("the model was trained for the services of %s, %s has %s; train one for it, or give the application that it "+
		"was trained on (a LoadLine's spec.twin)", m.App, app.Name, strings.Join(has, " and "))
}

// Passed reports whether requests with an SLO visit a service in the model's training
// application: if so the file has a profile of it. Without splitting there are no profiles, and
// every service counts.
func (m *Model) Passed(service string) bool {
	if m.Division.Way == None || m.Division.Profiles == nil {
		return true
	}
	for i := range m.Division.Profiles.Profiles {
		if m.Division.Profiles.Profiles[i].Service == service {
			return true
		}
	}
	return false
}
