package decisionlog

import (
	"time"

	"github.com/loadline/loadline"
)

// Recorder writes the decisions of one loop: Decided and Done go into the loop's fields
// Decided and Record. It must not be used concurrently. Log, App
// and Needs are needed, the others may be empty.
type Recorder struct {
	Log interface {
		Append(*loadline.App, *Record) error
	} // Log, StoredLog, or what is around one
	App   *loadline.App
	Needs loadline.Needs // of the policy

	Mode   string
	Rung   func() string               // of the ladder, at this decision
	Absent func() []loadline.Diagnosis // metrics that are absent or stale in this observation
	// Remark on the application at this decision, such as that it differs from its twin; "" = none.
	Remark func() string
	// Fault is called for every record that could not be written. A full disk must not stop
	// scaling.
	Fault func(error)

	open []*Record // decided, and not yet completed
}

// Decided makes the record of a decision before its plan is applied.
func (r *Recorder) Decided(d *loadline.Decision, s loadline.Situation) {
	record := r.begin(d, s)
	r.App = s.App
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
	if r.Remark != nil {
		record.Remark = r.Remark()
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
