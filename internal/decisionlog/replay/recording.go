package replay

import (
	"context"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/decisionlog"
)

// recording is the recorded cluster at the instant of one record, and its clock. It does not
// change.
type recording struct {
	app       *loadline.App
	record    *decisionlog.Record
	situation loadline.Situation
}

func (r *recording) set(record *decisionlog.Record) {
	r.record, r.situation = record, record.Situation(r.app, nil)
}

// Observe implements loop.Cluster.
func (r *recording) Observe(_ context.Context, into *loadline.Observation) error {
	*into = r.record.Observation(r.app)
	return nil
}

// Allocation implements loop.Cluster.
func (r *recording) Allocation(into []loadline.Allocation) []loadline.Allocation {
	return append(into, r.situation.Allocation...)
}

// InFlight is the allocation with the plans that were in flight.
func (r *recording) InFlight(into []loadline.Allocation) []loadline.Allocation {
	return append(into, r.situation.InFlight...)
}

// Apply implements loop.Cluster: a recorded cluster does not change.
func (r *recording) Apply(context.Context, loadline.Plan) error { return nil }

// Now implements loop.Clock.
func (r *recording) Now() time.Time { return r.record.At }

// WaitUntil implements loop.Clock: the next record sets the time.
func (r *recording) WaitUntil(ctx context.Context, _ time.Time) error { return ctx.Err() }
