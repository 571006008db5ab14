package fluid

import (
	"errors"
	"fmt"

	"github.com/loadline/loadline"
)

// Check reports every option of an application's clients that this engine does not simulate:
// connections that stay with replicas, time-outs and retries of calls, retries of users' requests
// and users who wait for their replies. It simulates the time-outs of users' requests.
func Check(app *loadline.App) error {
	var faults []error
	add := func(where, option string) {
		faults = append(faults, fmt.Errorf("%s: %s is not simulated by the fluid engine: use the event engine, or remove it", where, option))
	}
	if app.Routing == loadline.RouteKeepAlive {
		add("application "+app.Name, "routing keep-alive")
	}
	for k := range app.Kinds {
		kind := &app.Kinds[k]
		if kind.Retries.Attempts > 0 {
			add("kind "+kind.Name, "retries")
		}
		if kind.Users.Requests > 0 {
			add("kind "+kind.Name, "users (a closed loop)")
		}
		for _, stage := range kind.Root.Stages {
			for i := range stage {
				checkCall(app, kind.Name, &stage[i], add)
			}
		}
	}
	return errors.Join(faults...)
}

func checkCall(app *loadline.App, kind string, c *loadline.Call, add func(where, option string)) {
	where := "kind " + kind + ", call to " + app.Services[c.Service].Name
	if c.Timeout > 0 {
		add(where, "timeout")
	}
	if c.Retries.Attempts > 0 {
		add(where, "retries")
	}
	for _, stage := range c.Stages {
		for i := range stage {
			checkCall(app, kind, &stage[i], add)
		}
	}
}
