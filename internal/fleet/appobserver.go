package fleet

import (
	"sync"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/policy/drpc"
)

// AppObserver publishes a snapshot of the whole application in each period of the teacher: the
// experience of students describes their own deployments only. A fleet has one. Observe must
// not be called concurrently.
type AppObserver struct {
	watcher   *drpc.SnapshotMaker
	publisher *Publisher
	queue     int

	lock   sync.Mutex
	status AppObserverStatus
}

// AppObserverStatus is the state of an AppObserver.
type AppObserverStatus struct {
	Snapshots  uint64 `json:"snapshots"`  // made
	Incomplete uint64 `json:"incomplete"` // periods without a snapshot
	Missing    string `json:"missing"`    // metric that prevented the last snapshot; empty = none
	Waiting    int    `json:"waiting"`    // snapshots that are not acknowledged
	Lost       int    `json:"lost"`       // snapshots that were dropped
}

// AddAppObserver makes this agent observe the whole application for its fleet. The application
// must have exactly the services of the model. It must be called before Start.
func (a *Agent) AddAppObserver(m *drpc.Model, app *loadline.App) error {
	watcher, err := drpc.NewSnapshotMaker(m, app, a.epoch)
	if err != nil {
		return err
	}
	a.AppObserver = &AppObserver{watcher: watcher, publisher: a.Publisher, queue: a.Publisher.addSnapshots()}
	return nil
}

// Observe publishes a snapshot if one is due. It never blocks.
func (w *AppObserver) Observe(now time.Time, s loadline.Situation) {
	snapshot, missing, made := w.watcher.Observe(now, s)
	w.lock.Lock()
	switch {
	case made:
		w.status.Snapshots++
		w.status.Missing = ""
	case missing != "":
		w.status.Incomplete++
		w.status.Missing = missing
	}
	w.lock.Unlock()
	if made {
		w.publisher.put(w.queue, &snapshot)
	}
}

// Status of the observer.
func (w *AppObserver) Status() AppObserverStatus {
	w.lock.Lock()
	s := w.status
	w.lock.Unlock()
	s.Waiting, s.Lost = w.publisher.count(true)
	return s
}
