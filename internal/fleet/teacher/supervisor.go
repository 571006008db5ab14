package teacher

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"sync"
	"time"

	"github.com/loadline/loadline/internal/atomicfile"
	"github.com/loadline/loadline/internal/fleet"
	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/train"
)

// Task is what a teacher works on.
type Task struct {
	Model    *drpc.Model
	Scenario *train.Scenario // in which it trains; nil = it only counts and publishes
	Reason   string          // why there is no scenario
}

// same reports whether a teacher would do the same for both.
func (t *Task) same(o *Task) bool {
	if (t.Scenario == nil) != (o.Scenario == nil) || t.Reason != o.Reason || digestOf(t.Model) != digestOf(o.Model) {
		return false
	}
	return t.Scenario == nil || t.Scenario.Source == o.Scenario.Source && t.Scenario.Duration == o.Scenario.Duration &&
		reflect.DeepEqual(t.Scenario.App, o.Scenario.App)
}

// Options of a supervisor.
type Options struct {
	Folder    string                         // of the teacher's state
	Open      func() (*fleet.Link, error)    // called for each start; the supervisor closes the link
	Configure func(*Config, *train.Scenario) // changes the default configuration; nil = none
	Log       *slog.Logger                   // nil = none

	// StartWithin, if set, has Run return the error of a first start that fails or that
	// finds no server within that time: for a command whose user can correct it.
	StartWithin time.Duration
	// LowPriority runs the teacher's thread behind all others of the machine.
	LowPriority bool
	// MinRestart and MaxRestart bound the delay before a restart; it doubles with each
	// failed start. 0 = 5 seconds and 5 minutes.
	MinRestart, MaxRestart time.Duration
}

// Supervisor keeps the teacher of one fleet working on the latest task. A failure is
// reported by Status and the log, and the teacher restarts from its saved state after a
// delay.
type Supervisor struct {
	options Options

	lock    sync.Mutex
	task    Task
	changed chan struct{} // closed when there is another task
	link    *fleet.Link   // while a teacher starts or works
	teacher *Teacher      // that works; nil = none
	status  Status        // of the last teacher
	events  []Event       // likewise
	seen    uint64        // events since the process began
	failed  string        // why the last teacher ended; empty = it did not fail
	fails   int
}

// NewSupervisor has a task from the beginning. Run works.
func NewSupervisor(o Options, first Task) *Supervisor {
	if o.MinRestart == 0 {
		o.MinRestart = 5 * time.Second
	}
	if o.MaxRestart == 0 {
		o.MaxRestart = 5 * time.Minute
	}
	return &Supervisor{options: o, task: first, changed: make(chan struct{}), status: Status{Doing: starting, NotLearning: first.Reason}}
}

// Assign replaces the task, unless it is the same. A teacher at work saves its state and
// begins again with the new task.
func (s *Supervisor) Assign(t Task) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.task.same(&t) {
		return
	}
	s.task = t
	close(s.changed)
	s.changed = make(chan struct{})
}

// Run works until the context is done, and returns the error of the last save. Errors
// before that are retried; see Options.StartWithin for the exception.
func (s *Supervisor) Run(ctx context.Context) error {
	if s.options.LowPriority {
		lowerPriority()
	}
	delay := s.options.MinRestart
	for begun := false; ; {
		task, changed := s.current()
		started, err := s.work(ctx, &task, changed, begun)
		begun = begun || started
		switch {
		case ctx.Err() != nil && !started:
			return nil // there is nothing to save
		case ctx.Err() != nil:
			return err
		case err == nil: // another task
			delay = s.options.MinRestart
			continue
		case s.options.StartWithin > 0 && !begun:
			return err
		case started:
			delay = s.options.MinRestart
		}
		s.fail(err, delay)
		sleep(ctx, delay, changed)
		delay = min(2*delay, s.options.MaxRestart)
	}
}

func (s *Supervisor) current() (Task, <-chan struct{}) {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.task, s.changed
}

// work on a task until there is another one. It reports whether a teacher was opened. A
// panic is an error: the trouble of one teacher must not end the others of the process.
func (s *Supervisor) work(ctx context.Context, task *Task, changed <-chan struct{}, begun bool) (started bool, err error) {
	defer func() {
		if r := recover(); r != nil {
			s.log().Error("the teacher panicked", "panic", r, "stack", string(debug.Stack()))
			err = fmt.Errorf("teacher: panic: %v", r)
		}
	}()
	link, err := s.options.Open()
	if err != nil {
		return false, err
	}
	defer link.Close()
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-changed:
			cancel()
		case <-ctx.Done():
		}
	})
	defer watching.Wait()
	defer cancel()
	s.set(link, nil)
	defer s.set(nil, nil)
	if err := s.wait(ctx, link, begun); err != nil || ctx.Err() != nil {
		return false, err
	}
	t, err := Open(link, s.options.Folder, task.Model, task.Scenario, s.config(task))
	if err != nil {
		return false, errors.Join(err, s.announce(link, task.Model))
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	if err := s.announced(task.Model); err != nil {
		return false, err
	}
	s.set(link, t)
	status := t.Status()
	s.log().Info("teacher started", "counted", status.Counted, "learned", status.Learned, "version", status.Version, "not learning",
		task.Reason)
	return true, t.Run(ctx)
}

// wait for servers.
func (s *Supervisor) wait(ctx context.Context, link *fleet.Link, begun bool) error {
	waiting, cancel := ctx, context.CancelFunc(func() {})
	if s.options.StartWithin > 0 && !begun {
		waiting, cancel = context.WithTimeout(ctx, s.options.StartWithin)
	}
	defer cancel()
	if err := link.Wait(waiting); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

func (s *Supervisor) config(task *Task) Config {
	c := Default(task.Model)
	c.Log = s.options.Log
	if s.options.Configure != nil {
		s.options.Configure(&c, task.Scenario)
	}
	event := c.Event
	c.Event = func(e Event) {
		s.lock.Lock()
		s.seen++
		s.lock.Unlock()
		if event != nil {
			event(e)
			return
		}
		s.log().Info("teacher", "event", e.String())
	}
	return c
}

// set what is at work. What a teacher has reported last stays.
func (s *Supervisor) set(l *fleet.Link, t *Teacher) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.teacher != nil {
		s.status, s.events = s.teacher.Status(), s.teacher.Events()
	}
	if s.link, s.teacher = l, t; t != nil {
		s.failed = ""
	}
}

// fail reports a failure.
func (s *Supervisor) fail(err error, delay time.Duration) {
	s.lock.Lock()
	s.failed = err.Error()
	s.fails++
	s.lock.Unlock()
	s.log().Warn("the teacher failed: it restarts from its saved state, and students keep deciding", "error", err, "delay", delay)
}

// Status of the teacher at work, or of the last one with the reason why none is.
func (s *Supervisor) Status() Status {
	s.lock.Lock()
	defer s.lock.Unlock()
	status := s.status
	if s.teacher != nil {
		status = s.teacher.Status()
	} else if s.link != nil {
		status.Doing = starting
	}
	if s.failed != "" {
		status.Problem = s.failed
	} else if s.teacher == nil && s.link != nil {
		if err := s.link.Err(); err != nil {
			status.Problem = err.Error()
		}
	}
	status.NotLearning, status.Restarts, status.Events = s.task.Reason, s.fails, s.seen
	return status
}

// Events of the teacher, newest last.
func (s *Supervisor) Events() []Event {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.teacher != nil {
		return s.teacher.Events()
	}
	return s.events
}

func (s *Supervisor) log() *slog.Logger { return logger(s.options.Log) }

// announcedName is the file with the digest of the model whose students were published
// as they were given. A restart does not publish them again over what the teacher has
// learned since.
const announcedName = "announced"

// announce publishes a model that a teacher could not be opened for, once: students get
// a promoted model even if the state of its teacher cannot be used.
func (s *Supervisor) announce(link *fleet.Link, m *drpc.Model) (err error) {
	if was, err := os.ReadFile(filepath.Join(s.options.Folder, announcedName)); err == nil && string(was) == fleet.Digest(m) {
		return nil
	}
	c, err := fleet.NewCollector(link, s.options.Folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	published, err := c.Publish(m)
	if err != nil {
		return err
	}
	version := c.Ledger().Version
	s.lock.Lock()
	s.status.Version, s.status.Counted = version, c.Ledger().Counted
	s.lock.Unlock()
	if published {
		s.log().Info("published the weights of the model", "version", version, "services", len(m.Services))
	}
	return s.announced(m)
}

// announced records that the students of a model are published, or will be by the
// teacher that was just opened with them.
func (s *Supervisor) announced(m *drpc.Model) error {
	return atomicfile.Write(filepath.Join(s.options.Folder, announcedName), func(w io.Writer) error {
		_, err := io.WriteString(w, fleet.Digest(m))
		return err
	})
}
