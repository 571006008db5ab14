package papers

import (
	"context"
)

// DRPC runs the experiments of its section VI: learners with equal steps and equal
// tuning trials, then everybody in the event engine, side by side on the same
// arrivals.
func DRPC(ctx context.Context, o Options) (*Report, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	steps, length := o.steps(drpcSteps), o.length(drpcLength)
	scene, err := newDRPCScene(o, length)
	if err != nil {
		return nil, err
	}
	r := &drpcResult{scene: scene}
	if r.pupils, err = scene.drpcTrain(ctx, o.part(0, 0.7), steps); err != nil {
		return nil, err
	}
	calibrated, clairvoyant, err := scene.search(ctx, o.part(0.7, 0.75))
	if err != nil {
		return nil, err
	}
	r.all = scene.contenders(r.pupils, calibrated, clairvoyant)
	if r.outcomes, err = scene.compete(ctx, o.part(0.75, 0.9), r.all); err != nil {
		return nil, err
	}
	if r.growth, err = scene.grow(ctx, o.part(0.9, 0.97), r.all); err != nil {
		return nil, err
	}
	if r.forecast, err = scene.forecastTable(ctx, o.part(0.97, 1)); err != nil {
		return nil, err
	}
	report := &Report{
		Name: "drpc", Title: "DRPC: requests, failures, response times, students and teacher (its section VI)", Seeds: o.Seeds,
		Setup: r.setup(steps, scene.test.Duration()), Tables: r.tables(),
	}
	r.findings(report)
	return report, nil
}
