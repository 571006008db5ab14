package cli

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/decisionlog"
	"github.com/loadline/loadline/internal/outlook"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/sim/pool"
	"github.com/loadline/loadline/internal/simulate"
)

// recordDecisions makes a run write its decisions to a new log, or to one in a folder of its own for
// each of several applications. The returned function closes the logs and reports write errors.
func recordDecisions(spec *simulate.Spec, dir string) (closeLog func() error, err error) {
	specs, err := policy.EachApplication(spec.Policy, spec.App)
	if err != nil {
		return nil, err
	}
	var hooks []simulate.Hooks
	var closers []func() error
	closeAll := func() error {
		var faults []error
		for _, c := range closers {
			faults = append(faults, c())
		}
		return errors.Join(faults...)
	}
	for i, app := range apps.Split(spec.App) {
		folder := dir
		if len(spec.App.Tenants) > 0 {
			folder = filepath.Join(dir, app.Name)
		}
		one, closeOne, err := recordApplication(app, specs[i], spec.Cluster.Prices, folder)
		if err != nil {
			return nil, errors.Join(err, closeAll())
		}
		hooks, closers = append(hooks, one), append(closers, closeOne)
	}
	spec.Hooks.Of = func(application int) simulate.Hooks { return hooks[application] }
	return closeAll, nil
}

// recordApplication makes hooks that write the decisions for an application to a new log.
func recordApplication(app *loadline.App, spec string, prices pool.Prices, dir string) (hooks simulate.Hooks, closeLog func() error,
	err error) {
	if reader, err := decisionlog.OpenReader(dir); err == nil && reader.Segments() > 0 {
		return hooks, nil, Usagef("--decisions %s already holds a decision log, and two runs must not share one: "+
			"give another folder, or remove this one", dir)
	}
	policy, err := policy.New(spec, app)
	if err != nil {
		return hooks, nil, err
	}
	// A run that is lost in a power failure can be repeated, so nothing is synced before the
	// end.
	log, err := decisionlog.Open(dir, decisionlog.Options{TotalBytes: 1 << 30, Sync: -1})
	if err != nil {
		return hooks, nil, err
	}
	var fault error
	recorder := &decisionlog.Recorder{
		Log: log, App: app, Needs: policy.Needs(),
		Fault: func(err error) {
			if fault == nil {
				fault = fmt.Errorf("--decisions: %w", err)
			}
		},
	}
	twin := &outlook.Twin{App: app, Prices: prices}
	hooks.Decided = func(d *loadline.Decision, s loadline.Situation) {
		twin.Foresee(d, s)
		recorder.Decided(d, s)
	}
	hooks.Decision = func(d *loadline.Decision) { recorder.Done(d) }
	return hooks, func() error { return errors.Join(fault, log.Close()) }, nil
}
