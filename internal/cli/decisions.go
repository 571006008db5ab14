package cli

import (
	"errors"
	"fmt"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/decisionlog"
	"github.com/loadline/loadline/internal/outlook"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/simulate"
)

// recordDecisions makes a run write its decisions to a new log. The returned function closes
// the log and reports write errors.
func recordDecisions(spec *simulate.Spec, dir string) (closeLog func() error, err error) {
	if reader, err := decisionlog.OpenReader(dir); err == nil && reader.Segments() > 0 {
		return nil, Usagef("--decisions %s already holds a decision log, and two runs must not share one: "+
			"give another folder, or remove this one", dir)
	}
	policy, err := policy.New(spec.Policy, spec.App)
	if err != nil {
		return nil, err
	}
	// A run that is lost in a power failure can be repeated, so nothing is synced before the
	// end.
	log, err := decisionlog.Open(dir, decisionlog.Options{TotalBytes: 1 << 30, Sync: -1})
	if err != nil {
		return nil, err
	}
	var fault error
	recorder := &decisionlog.Recorder{
		Log: log, App: spec.App, Needs: policy.Needs(),
		Fault: func(err error) {
			if fault == nil {
				fault = fmt.Errorf("--decisions: %w", err)
			}
		},
	}
	twin := &outlook.Twin{App: spec.App, Prices: spec.Cluster.Prices}
	spec.Hooks.Decided = func(d *loadline.Decision, s loadline.Situation) {
		twin.Foresee(d, s)
		recorder.Decided(d, s)
	}
	spec.Hooks.Decision = func(d *loadline.Decision) { recorder.Done(d) }
	return func() error { return errors.Join(fault, log.Close()) }, nil
}
