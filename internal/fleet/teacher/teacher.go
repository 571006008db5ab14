package teacher

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/loadline/loadline/internal/fleet"
	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/policy/drpc/trainer"
	"github.com/loadline/loadline/internal/train"
)

// Teacher counts the experience of a fleet, publishes the weights of its students and,
// with a scenario, learns. It is for one goroutine, except Status and Events.
type Teacher struct {
	config    Config
	folder    string
	collector *fleet.Collector
	model     *drpc.Model // as given; its forecasters and periods are kept
	published int
	checked   time.Time // when the published weights were last found in place; zero = check again
	saved     time.Time

	// Of a teacher that learns; the trainer is nil otherwise.
	trainer         *trainer.Trainer
	join            *drpc.Join
	digest          string   // of the model
	mix             drpc.Mix // of recent requests
	learned         uint64   // periods
	rejected        uint64   // snapshots of another application
	evaluated       float64
	sinceEvaluation int // periods
	retrained       int
	sinceRetraining int   // periods
	retrainings     int   // in a row
	saveErr         error // while training
	actions         []float32

	lock     sync.Mutex
	status   Status
	events   []Event
	problems map[string]string // by what does not work
}

// Open resumes from the state in a folder. Without one, or with that of another model, a
// teacher that learns begins with the model's weights; Run trains its critics in the
// simulated application before it reads the stream. Without a scenario the teacher only
// counts experience and publishes the model's students.
func Open(l *fleet.Link, folder string, m *drpc.Model, scenario *train.Scenario, config Config) (*Teacher, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	t := &Teacher{config: config, folder: folder, model: m, saved: time.Now(), problems: map[string]string{}}
	if scenario != nil {
		if err := t.prepare(scenario); err != nil {
			return nil, err
		}
	}
	var err error
	if t.collector, err = fleet.NewCollector(l, folder); err != nil {
		return nil, err
	}
	t.collector.Received, t.collector.Services = t.received, m.Services
	err = t.readEvents()
	if err == nil && t.learns() {
		t.collector.Persist = t.write
		err = t.resume(scenario)
	}
	if err != nil {
		return nil, errors.Join(err, t.collector.Close())
	}
	t.updateStatus(collecting)
	return t, nil
}

// prepare makes the trainer.
func (t *Teacher) prepare(scenario *train.Scenario) (err error) {
	if t.model.Version == 0 {
		return errors.New("teacher: the students of the model were never published by its training: train it to its end")
	}
	t.digest, t.join = digestOf(t.model), drpc.NewJoin(scenario.App, t.model.Period)
	t.actions = make([]float32, drpc.Axes*len(scenario.App.Services))
	hooks := trainer.Hooks{Progress: t.progress, Event: t.trained, Unit: t.unitDone}
	t.trainer, err = trainer.Reopen(*scenario, t.config.Training, t.model, t.config.WarmUp, hooks)
	return err
}

// learns reports whether the teacher learns.
func (t *Teacher) learns() bool { return t.trainer != nil }

// busy reports whether the teacher has to train before it reads on.
func (t *Teacher) busy() bool { return t.learns() && t.trainer.Busy() }

// Close unlocks the folder.
func (t *Teacher) Close() error { return t.collector.Close() }

// Run collects, learns, commits and publishes until the context is done, and then
// commits what it has. It retries while servers are unreachable, and returns an error
// if the disk fails.
func (t *Teacher) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := t.pass(ctx); err != nil {
			return err
		}
	}
	err := t.commit(true)
	t.updateStatus(stopped)
	return err
}

// pass is one turn of the loop.
func (t *Teacher) pass(ctx context.Context) error {
	t.publish()
	if t.busy() {
		return t.train(ctx)
	}
	counted, err := t.collector.Collect()
	t.setProblem("experience cannot be read", err)
	if err := t.learn(ctx); err != nil {
		return err
	}
	if err := t.commit(false); err != nil {
		return err
	}
	t.updateStatus(collecting)
	if counted == 0 {
		sleep(ctx, t.config.PollEvery, nil)
	}
	return nil
}

// commit writes the state and acknowledges what is in it, if that is due. Unreachable
// servers are not an error: what is written is recognised when it is delivered again.
func (t *Teacher) commit(now bool) error {
	uncommitted := t.collector.Uncommitted()
	due := now || !t.learns() || time.Since(t.saved) >= t.config.SaveEvery || uncommitted >= t.config.MaxUncommitted
	if uncommitted == 0 || !due {
		return nil
	}
	err := t.collector.Commit()
	var failed *fleet.WriteError
	if errors.As(err, &failed) {
		return fmt.Errorf("teacher: the state cannot be written, and nothing is acknowledged: %w", err)
	}
	t.setProblem("experience cannot be acknowledged", err)
	t.saved = time.Now()
	return nil
}

// sleep until the time is over, the channel is closed or the context is done.
func sleep(ctx context.Context, d time.Duration, until <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-until:
	case <-timer.C:
	}
}
