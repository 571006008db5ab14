package papers

import (
	"context"
)

// DRPC runs the experiments of its section VI: learners with equal steps and equal tuning
// trials, then all policies in the event engine on the same arrivals.
func DRPC(ctx context.Context, o Options) (*Report, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	steps, length := o.steps(drpcSteps), o.length(drpcLength)
	setup, err := newDRPCSetup(o, length)
	if err != nil {
		return nil, err
	}
	r := &drpcResult{setup: setup}
	if r.models, err = setup.drpcTrain(ctx, o.part(0, 0.7), steps); err != nil {
		return nil, err
	}
	calibrated, oracle, err := setup.search(ctx, o.part(0.7, 0.75))
	if err != nil {
		return nil, err
	}
	r.all = setup.contenders(r.models, calibrated, oracle)
	if r.outcomes, err = setup.compete(ctx, o.part(0.75, 0.9), r.all); err != nil {
		return nil, err
	}
	if r.growth, err = setup.grow(ctx, o.part(0.9, 0.97), r.all); err != nil {
		return nil, err
	}
	if r.forecast, err = setup.forecastTable(ctx, o.part(0.97, 1)); err != nil {
		return nil, err
	}
	report := &Report{
		Name: "drpc", Title: "DRPC: requests, failures, response times, students and teacher (its section VI)", Seeds: o.Seeds,
		Setup: r.describe(steps, setup.test.Duration()), Tables: r.tables(),
	}
	r.findings(report)
	return report, nil
}
