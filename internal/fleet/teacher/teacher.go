package teacher

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/loadline/loadline/internal/train"

	"github.com/loadline/loadline/internal/fleet"
	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/policy/drpc/trainer"
)

// Teacher is a living teacher of a fleet. It is for one goroutine, but for Status.
type Teacher struct {
	config Config
	folder string
	link   *fleet.Link
	collector    *fleet.Collector // of the fleet
	trainer *trainer.School
	join   *drpc.Join
	model  *drpc.Model // as it was opened with: its forecasters and pace stay
	digest string      // of that model

	mix      drpc.Mix // of requests, of late
	learned   uint64   // stretches
	rejected     uint64   // scenes that do not fit
	sinceEvaluation     int      // stretches since the last examination
	evaluated  float64
	retrained int
	published int
	sinceRetraining      int       // stretches since the last refresh
	retrainings int       // refreshes one after the other
	checked   time.Time // when it was seen that the weights lie there; zero = look again
	saveErr    error     // of keeping in the midst of work
	saved     time.Time // when
	actions   []float32

	lock     sync.Mutex
	status   Status
	events   []Event
	problems map[string]string // by what stands still
}

// Open takes up where the state in a folder ends. Without one, or with one of
// another model, the teacher begins with the model's weights, and its critics are
// warmed up in the simulated world, which takes a while, before Run reads anything.
func Open(l *fleet.Link, folder string, m *drpc.Model, subject train.Scenario, config Config) (*Teacher, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	if m.Version == 0 {
		return nil, errors.New("class: the model's students were never published: train it to its end")
	}
	c := &Teacher{config: config, folder: folder, link: l, model: m, digest: digestOf(m), problems: map[string]string{}}
	c.join = drpc.NewJoin(subject.App, m.Period)
	c.actions = make([]float32, drpc.Axes*len(subject.App.Services))
	var err error
	if c.trainer, err = trainer.Reopen(subject, config.Training, m, config.WarmUp, trainer.Hooks{Progress: c.progress, Event: c.trained, Unit: c.unitDone}); err != nil {
		return nil, err
	}
	if c.collector, err = fleet.NewCollector(l, folder); err != nil {
		return nil, err
	}
	c.collector.Received, c.collector.Persist = c.received, c.write
	if err := errors.Join(c.readEvents(), c.resume(subject)); err != nil {
		return nil, errors.Join(err, c.collector.Close())
	}
	c.saved = time.Now()
	c.updateStatus("listening")
	return c, nil
}

// Ledger is what has been counted and published.
func (c *Teacher) Ledger() fleet.Ledger { return c.collector.Ledger() }

// Close lets go of the folder.
func (c *Teacher) Close() error { return c.collector.Close() }

// Run reads, learns, keeps and publishes until the context is done, and keeps what it
// has then. Servers that are away are asked again.
func (c *Teacher) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := c.pass(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
	c.updateStatus(c.Status().Doing)
	return c.commit(true)
}

// pass is one turn of the loop.
func (c *Teacher) pass(ctx context.Context) error {
	c.publish()
	if c.trainer.Busy() {
		return c.train(ctx)
	}
	counted, err := c.collector.Collect()
	c.setProblem("experience cannot be read now", err)
	if err := c.learn(ctx); err != nil {
		return err
	}
	if err := c.commit(false); err != nil {
		return err
	}
	c.updateStatus("listening")
	if counted == 0 {
		sleep(ctx, c.config.PollEvery)
	}
	return nil
}

// commit writes the state down and acknowledges what is in it, if it is time to.
// Servers that are away are no fault of it: what is written down is known when it
// comes again.
func (c *Teacher) commit(now bool) error {
	if c.collector.Uncommitted() == 0 || !now && time.Since(c.saved) < c.config.SaveEvery && c.collector.Uncommitted() < c.config.MaxUncommitted {
		return nil
	}
	err := c.collector.Commit()
	var failed *writeError
	if errors.As(err, &failed) {
		return fmt.Errorf("class: what was learned cannot be kept, and nothing is acknowledged: %w", err)
	}
	c.setProblem("what was kept cannot be acknowledged now", err)
	c.saved = time.Now()
	return nil
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
