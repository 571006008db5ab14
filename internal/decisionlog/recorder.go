package decisionlog

import (
	"time"

	"github.com/loadline/loadline"
)

// Expect predicts latency, failures and cost for a desired state of the services and
// arrival rates by kind of request; false = no prediction.
type Expect func(perSecond []float64, desired []loadline.Allocation) (Outlook, bool)

// Recorder writes the decisions of one loop: Decided and Done go into the loop's fields
// Decided and Record. It must not be used concurrently. Log, App
// and Needs are needed, the others may be empty.
type Recorder struct {
	Log   *Log
	App   *loadline.App
	Needs loadline.Needs // of the policy

	Mode   string
	Rung   func() string               // of the ladder, at this decision
	Absent func() []loadline.Diagnosis // metrics that are absent or stale in this observation
	Expect Expect
	// Fault is called for every record that could not be written. A full disk must not stop
	// scaling.
	Fault func(error)

	open    []*Record // decided, and not yet completed
	desired []loadline.Allocation
	rate    []float64
}

// Decided makes the record of a decision before its plan is applied.
func (r *Recorder) Decided(d *loadline.Decision, s loadline.Situation) {
	record := r.begin(d, s)
	r.App = s.App
	if r.Expect != nil && len(d.Plan.Services) > 0 {
		r.foresee(record, d, s)
	}
	r.open = append(r.open, record)
}

// Done completes the record and writes it.
func (r *Recorder) Done(d *loadline.Decision) {
	record := r.take(d.At)
	if record == nil {
		record = r.begin(d, loadline.Situation{App: r.App}) // nothing could be observed
	}
	record.Finish(d)
	if err := r.Log.Append(r.App, record); err != nil && r.Fault != nil {
		r.Fault(err)
	}
}

func (r *Recorder) begin(d *loadline.Decision, s loadline.Situation) *Record {
	record := Of(d, s)
	record.Needs, record.Mode = needsOf(r.Needs), r.Mode
	if r.Rung != nil {
		record.Rung = r.Rung()
	}
	if r.Absent != nil {
		record.Absent = r.Absent()
	}
	return record
}

// take removes the open record of an instant.
func (r *Recorder) take(at time.Time) *Record {
	for i, record := range r.open {
		if record.At.Equal(at) {
			r.open = append(r.open[:i], r.open[i+1:]...)
			return record
		}
	}
	return nil
}

// foresee predicts the effect of the plan, and of the runner-up of each changed service.
func (r *Recorder) foresee(record *Record, d *loadline.Decision, s loadline.Situation) {
	r.rate = r.rate[:0]
	for i := range s.Now().Kinds {
		rate := s.Now().Kinds[i].Rate
		if !rate.Present() {
			return // an unmeasured load is not zero
		}
		r.rate = append(r.rate, rate.Value)
	}
	if len(r.rate) != len(s.App.Kinds) || len(r.rate) == 0 {
		return
	}
	r.desired = append(r.desired[:0], s.InFlight...)
	for _, p := range d.Plan.Services {
		r.desired[p.Service] = r.desired[p.Service].With(p.Setting)
	}
	chosen, ok := r.Expect(r.rate, r.desired)
	if !ok {
		return
	}
	record.Expected = &chosen
	for _, p := range d.Plan.Services {
		of := record.Services[p.Service].Proposal
		if of == nil || of.RunnerUp == nil {
			continue
		}
		planned := r.desired[p.Service]
		r.desired[p.Service] = s.InFlight[p.Service].With(of.RunnerUp.Setting.Setting())
		if outlook, ok := r.Expect(r.rate, r.desired); ok {
			of.RunnerUp.Expected = &outlook
		}
		r.desired[p.Service] = planned
	}
}
