package teaching

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

// Class is a living teacher of a fleet. It is for one goroutine, but for Status.
type Class struct {
	config Config
	folder string
	link   *fleet.Link
	end    *fleet.Teacher // of the fleet
	school *trainer.Trainer
	join   *drpc.Join
	model  *drpc.Model // as it was opened with: its forecasters and pace stay
	digest string      // of that model

	live      drpc.Mix // of requests, of late
	learned   uint64   // stretches
	unfit     uint64   // scenes that do not fit
	since     int      // stretches since the last examination
	examined  float64
	refreshes int
	published int
	calm      int       // stretches since the last refresh
	fruitless int       // refreshes one after the other
	offered   time.Time // when it was seen that the weights lie there; zero = look again
	failed    error     // of keeping in the midst of work
	saved     time.Time // when
	actions   []float32

	lock     sync.Mutex
	status   Status
	events   []Event
	troubles map[string]string // by what stands still
}

// Open takes up where the state in a folder ends. Without one, or with one of
// another model, the teacher begins with the model's weights, and its critics are
// warmed up in the simulated world, which takes a while, before Run reads anything.
func Open(l *fleet.Link, folder string, m *drpc.Model, subject train.Scenario, config Config) (*Class, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	if m.Version == 0 {
		return nil, errors.New("class: the model's students were never published: train it to its end")
	}
	c := &Class{config: config, folder: folder, link: l, model: m, digest: digestOf(m), troubles: map[string]string{}}
	c.join = drpc.NewJoin(subject.App, m.Period)
	c.actions = make([]float32, drpc.Axes*len(subject.App.Services))
	var err error
	if c.school, err = trainer.Reopen(subject, config.School, m, config.Warm, trainer.Hooks{Progress: c.progress, Event: c.schooled, Unit: c.between}); err != nil {
		return nil, err
	}
	if c.end, err = fleet.NewTeacher(l, folder); err != nil {
		return nil, err
	}
	c.end.Heard, c.end.Keeper = c.heard, c.write
	if err := errors.Join(c.readEvents(), c.resume(subject)); err != nil {
		return nil, errors.Join(err, c.end.Close())
	}
	c.saved = time.Now()
	c.tell("listening")
	return c, nil
}

// Ledger is what has been counted and published.
func (c *Class) Ledger() fleet.Ledger { return c.end.Ledger() }

// Close lets go of the folder.
func (c *Class) Close() error { return c.end.Close() }

// Run reads, learns, keeps and publishes until the context is done, and keeps what it
// has then. Servers that are away are asked again.
func (c *Class) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := c.pass(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
	c.tell(c.Status().Doing)
	return c.keep(true)
}

// pass is one turn of the loop.
func (c *Class) pass(ctx context.Context) error {
	c.publish()
	if c.school.Busy() {
		return c.work(ctx)
	}
	counted, err := c.end.Listen()
	c.trouble("experience cannot be read now", err)
	if err := c.learn(ctx); err != nil {
		return err
	}
	if err := c.keep(false); err != nil {
		return err
	}
	c.tell("listening")
	if counted == 0 {
		sleep(ctx, c.config.Pause)
	}
	return nil
}

// keep writes the state down and acknowledges what is in it, if it is time to.
// Servers that are away are no fault of it: what is written down is known when it
// comes again.
func (c *Class) keep(now bool) error {
	if c.end.Unkept() == 0 || !now && time.Since(c.saved) < c.config.Save && c.end.Unkept() < c.config.Unsaved {
		return nil
	}
	err := c.end.Keep()
	var failed *writeError
	if errors.As(err, &failed) {
		return fmt.Errorf("class: what was learned cannot be kept, and nothing is acknowledged: %w", err)
	}
	c.trouble("what was kept cannot be acknowledged now", err)
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
