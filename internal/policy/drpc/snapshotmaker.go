package drpc

import (
	"fmt"
	"slices"
	"time"

	"github.com/loadline/loadline"
)

// SnapshotMaker makes snapshots from observations of a whole application. It is for one
// goroutine.
type SnapshotMaker struct {
	period  time.Duration
	reward  Reward
	encoder *Encoder

	epoch, last uint64
	next        time.Time // when a snapshot is due
	locals      []Local
	seen        []time.Time // last measurement of each service
	view        View
}

// NewSnapshotMaker makes snapshots for the teacher of a model, which must have been
// trained on exactly the application's services. The epoch identifies this process and
// must increase with each restart.
func NewSnapshotMaker(m *Model, app *loadline.App, epoch uint64) (*SnapshotMaker, error) {
	if err := m.IsOf(app); err != nil {
		return nil, err
	}
	encoder, err := NewEncoder(app)
	if err != nil {
		return nil, err
	}
	encoder.UseShares(m.Shares)
	n := len(app.Services)
	if size := snapshotBytes(n, len(app.Nodes), len(app.Kinds)); size > MaxSnapshot {
		return nil, fmt.Errorf("a snapshot of the %d services of %s has %d bytes, must be at most %d: divide the application", n, app.Name,
			size, MaxSnapshot)
	}
	w := &SnapshotMaker{
		period: m.Period, reward: m.Reward, encoder: encoder, epoch: epoch,
		locals: make([]Local, n), seen: make([]time.Time, n),
	}
	return w, nil
}

// IsOf returns an error unless the application has exactly the services of the model,
// in any order.
func (m *Model) IsOf(app *loadline.App) error {
	for i := range app.Services {
		if !slices.Contains(m.Services, app.Services[i].Name) {
			return fmt.Errorf("the teacher was not trained on service %q of %s: train one for it", app.Services[i].Name, app.Name)
		}
	}
	for _, service := range m.Services {
		if app.ServiceIndex(service) < 0 {
			return fmt.Errorf("the teacher was trained on service %q, which %s does not have: train one for it", service, app.Name)
		}
	}
	return nil
}

// outOfSight is the number of periods for which the last observation of a service is
// used while nothing is measured, as in training.
const outOfSight = 5

// Observe is called at every beat. Once a period it returns a snapshot; if one is due
// and cannot be made, it returns what is missing.
func (w *SnapshotMaker) Observe(now time.Time, s loadline.Situation) (snapshot Snapshot, missing string, made bool) {
	if now.Before(w.next) {
		return Snapshot{}, "", false
	}
	if w.next = w.next.Add(w.period); w.next.Before(now) { // the first, or after a pause
		w.next = now.Add(w.period)
	}
	for i := range w.locals {
		var local Local
		absent := w.encoder.Local(s, i, &local)
		if absent == "" {
			w.locals[i], w.seen[i] = local, now
		} else if now.Sub(w.seen[i]) > outOfSight*w.period {
			missing = fmt.Sprintf("%s of %s", absent, s.App.Services[i].Name)
		}
	}
	if missing != "" {
		return Snapshot{}, missing, false
	}
	w.encoder.Observe(s, w.locals, &w.view)
	snapshot = w.encoder.Snapshot(now, &w.view, MixOf(s.Now()))
	snapshot.Score, snapshot.Scored = w.reward.Of(s.App, s.Now())
	w.last++
	snapshot.Sequence, snapshot.Epoch = w.last, w.epoch
	return snapshot, "", true
}
