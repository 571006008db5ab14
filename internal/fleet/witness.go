package fleet

import (
	"context"
	"sync"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/policy/drpc"
)

// Witness sees the whole application and tells the teacher, once in each of its
// periods: students' experience is of their own deployments only. There is one in a
// fleet. Saw is for one goroutine.
type Witness struct {
	watcher *drpc.Watcher
	publisher *Publisher

	lock   sync.Mutex
	status WitnessStatus
}

// WitnessStatus is how a witness is doing.
type WitnessStatus struct {
	Scenes  uint64 `json:"scenes"`  // that were made
	Incomplete  uint64 `json:"unseen"`  // periods of which none could be
	Missing string `json:"missing"` // what was not measured, the last time; empty = everything is
	Waiting int    `json:"waiting"` // scenes that were not acknowledged
	Lost    int    `json:"lost"`    // that were let go
}

// NewWitness watches for the teacher of a model. The application must have exactly
// the services of the model. The epoch tells this process from the one before it and
// must rise: the time will do.
func NewWitness(l *Link, m *drpc.Model, app *loadline.App, epoch uint64) (*Witness, error) {
	watcher, err := drpc.NewWatcher(m, app, epoch)
	if err != nil {
		return nil, err
	}
	courier := l.NewPublisher([]string{""}, epoch, MaxUnacknowledged)
	courier.queues[0].subject = l.sceneSubject()
	return &Witness{watcher: watcher, publisher: courier}, nil
}

// Observe takes a look, at every beat. It never waits.
func (w *Witness) Observe(now time.Time, s loadline.Situation) {
	scene, missing, made := w.watcher.See(now, s)
	w.lock.Lock()
	switch {
	case made:
		w.status.Scenes++
		w.status.Missing = ""
	case missing != "":
		w.status.Incomplete++
		w.status.Missing = missing
	}
	w.lock.Unlock()
	if made {
		w.publisher.put(0, func(*queue) message { return &scene })
	}
}

// Run carries scenes up until the context is done.
func (w *Witness) Run(ctx context.Context) { w.publisher.Run(ctx) }

// Flush waits until everything is acknowledged, or the context is done, while Run is
// at work.
func (w *Witness) Flush(ctx context.Context) error { return w.publisher.Flush(ctx) }

// Status of the witness.
func (w *Witness) Status() WitnessStatus {
	w.lock.Lock()
	s := w.status
	w.lock.Unlock()
	s.Waiting, s.Lost = w.publisher.Waiting()
	return s
}
