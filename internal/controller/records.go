package controller

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/decisionlog"
)

// Defaults of decision logs, which share a volume with the fleet's store.
const (
	DefaultDecisionsMax  = 2 << 30        // bytes of all applications
	DefaultDecisionsKeep = 24 * time.Hour // after a LoadLine was deleted
)

const (
	// mostDecisions is the size of one application's log, where the others leave so much.
	mostDecisions = 256 << 20
	// reopenAfter is how long it takes until a log that cannot be opened is tried again.
	reopenAfter = time.Minute
	// sweepEvery is how often logs of LoadLines that are gone are looked for. The first time is that long
	// after the start: by then those that are there are known.
	sweepEvery = 10 * time.Minute
)

// records is the decision log of an application. Without one, or while it cannot be written,
// scaling goes on and the condition DecisionLog says why.
type records struct {
	open   func() (*decisionlog.StoredLog, error)
	log    *decisionlog.StoredLog // nil = it is not open
	err    error                  // why the last decision is not recorded
	reopen time.Time              // when opening it is tried again
	seen   func(app *loadline.App, r *decisionlog.Record)
}

// Append writes a record to the log, and shows it to who wants to see each.
func (r *records) Append(app *loadline.App, record *decisionlog.Record) error {
	if r.seen != nil {
		r.seen(app, record)
	}
	return r.log.Append(app, record)
}

// newStore of the decision logs of all applications; nil if none are kept. An error is that of every
// log.
func (c *Controller) newStore() {
	if c.Decisions == "" {
		return
	}
	if c.DecisionsMax == 0 {
		c.DecisionsMax = DefaultDecisionsMax
	}
	if c.DecisionsKeep == 0 {
		c.DecisionsKeep = DefaultDecisionsKeep
	}
	c.logs, c.logless = decisionlog.NewStore(c.Decisions, c.DecisionsMax, decisionlog.Options{
		SegmentBytes: min(8<<20, c.DecisionsMax/8), TotalBytes: min(mostDecisions, c.DecisionsMax), Sync: time.Minute,
	})
}

// recordsOf a LoadLine; nil if none are kept.
func (c *Controller) recordsOf(l *v1alpha1.LoadLine) *records {
	if c.Decisions == "" {
		return nil
	}
	r := &records{open: func() (*decisionlog.StoredLog, error) {
		if c.logless != nil {
			return nil, c.logless
		}
		return c.logs.Open(l.Namespace, l.Name)
	}}
	if c.Recorded != nil {
		r.seen = func(app *loadline.App, record *decisionlog.Record) { c.Recorded(l.Namespace, l.Name, app, record) }
	}
	return r
}

// ready reports whether the log is open, and opens it if it is time to.
func (r *records) ready(now time.Time) (opened, ok bool) {
	if r.log != nil || now.Before(r.reopen) {
		return false, r.log != nil
	}
	r.log, r.err = r.open()
	if r.err != nil {
		r.log, r.err, r.reopen = nil, fmt.Errorf("open the decision log: %w", r.err), now.Add(reopenAfter)
	}
	return r.log != nil, r.log != nil
}

// verdict is the condition DecisionLog; nil if no decisions are recorded.
func (r *records) verdict() *verdict {
	if r == nil {
		return nil
	}
	v := yes(v1alpha1.ReasonRecording, "")
	if r.err != nil {
		v = no(v1alpha1.ReasonNotRecorded, "scaling goes on, decisions are not recorded: "+r.err.Error())
	}
	return &v
}

// close the log, if it is open.
func (r *records) close() error {
	if r == nil || r.log == nil {
		return nil
	}
	return r.log.Close()
}

// sweepLogs removes the logs of LoadLines that were deleted some time ago, until the context ends.
func (c *Controller) sweepLogs(ctx context.Context) {
	clock := &realClock{now: c.Now}
	for c.logs != nil && clock.WaitUntil(ctx, c.Now().Add(sweepEvery)) == nil {
		_ = contained(c.Log, "sweep decision logs", func() error {
			removed, err := c.logs.Sweep(c.Now(), c.DecisionsKeep, func(namespace, name string) bool {
				return c.runnerOf(types.NamespacedName{Namespace: namespace, Name: name}) != nil
			})
			if len(removed) > 0 || err != nil {
				c.Log.Info("decision logs of deleted LoadLines removed", "loadlines", removed, "error", err)
			}
			return nil
		})
	}
}
