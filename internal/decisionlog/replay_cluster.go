package decisionlog

import (
	"context"
	"time"

	"github.com/loadline/loadline"
)

// recordedCluster is a recorded cluster at the instant of one record, and its clock. It
// is observed as it was, and does not change.
type recordedCluster struct {
	app       *loadline.App
	record    *Record
	situation loadline.Situation
}

func (r *recordedCluster) set(record *Record) {
	r.record, r.situation = record, record.Situation(r.app, nil)
}

// Observe implements loop.Cluster.
func (r *recordedCluster) Observe(_ context.Context, into *loadline.Observation) error {
	*into = r.record.Observation(r.app)
	return nil
}

// Allocation implements loop.Cluster.
func (r *recordedCluster) Allocation(into []loadline.Allocation) []loadline.Allocation {
	return append(into, r.situation.Allocation...)
}

// InFlight is the allocation with the plans that were in flight.
func (r *recordedCluster) InFlight(into []loadline.Allocation) []loadline.Allocation {
	return append(into, r.situation.InFlight...)
}

// Apply implements loop.Cluster: a recorded cluster does not change.
func (r *recordedCluster) Apply(context.Context, loadline.Plan) error { return nil }

// Now implements loop.Clock.
func (r *recordedCluster) Now() time.Time { return r.record.At }

// WaitUntil implements loop.Clock: the next record sets the time.
func (r *recordedCluster) WaitUntil(ctx context.Context, _ time.Time) error { return ctx.Err() }
