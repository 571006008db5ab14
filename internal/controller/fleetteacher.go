package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/fleet"
	"github.com/loadline/loadline/internal/fleet/teacher"
	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/train"
)

// embeddedTeacher is the teacher of one fleet in this process. It has a goroutine and a
// link of its own, so that no decision waits for it.
type embeddedTeacher struct {
	*teacher.Supervisor
	name    string
	cancel  context.CancelFunc
	ended   chan struct{} // closed when Run has returned
	err     error         // of Run; valid after ended
	idle    *time.Timer   // ends a teacher without members
	members int           // in this process; guarded by the fleet's lock
}

const (
	// idleFor is how long a teacher without students in this process stays: an edit of
	// the spec stops a LoadLine for a moment.
	idleFor = 5 * time.Minute
	// pollEvery is how often a teacher looks for experience when there is none.
	pollEvery = 2 * time.Second
)

// assign has the teacher of a fleet work on a model, and starts it if needed; nil if
// teachers are elsewhere.
func (f *Fleet) assign(name string, m *drpc.Model, twin *loadline.App) *embeddedTeacher {
	if !f.Teach {
		return nil
	}
	task := teacher.Task{Model: m}
	if scenario, err := scenarioOf(twin, m); err == nil {
		task.Scenario = &scenario
	} else {
		task.Reason = fmt.Sprintf("it publishes weights and does not learn: %v", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	task = f.admit(name, task)
	t := f.teachers[name]
	if t == nil {
		t = f.startTeacher(name, task)
	} else {
		t.Assign(task)
	}
	t.members++
	if t.idle != nil {
		t.idle.Stop()
		t.idle = nil
	}
	return t
}

// admit a task: one that learns waits, and is counted and published for only, while as
// many as may learn at once do. The lock is held.
func (f *Fleet) admit(name string, task teacher.Task) teacher.Task {
	delete(f.waiting, name)
	switch {
	case task.Scenario == nil:
		delete(f.learning, name)
	case f.learning[name] || len(f.learning) < f.Teachers:
		f.learning[name] = true
	default:
		f.waiting[name] = task
		task.Scenario, task.Reason = nil, fmt.Sprintf("it publishes weights and does not learn yet: %d teachers of this process do, as "+
			"many as may at once (--teachers)", len(f.learning))
	}
	return task
}

// admitNext lets the next teacher learn when one has ended. The lock is held.
func (f *Fleet) admitNext(ended string) {
	delete(f.learning, ended)
	delete(f.waiting, ended)
	for _, name := range slices.Sorted(maps.Keys(f.waiting)) {
		if t := f.teachers[name]; t != nil && len(f.learning) < f.Teachers {
			t.Assign(f.admit(name, f.waiting[name]))
		}
	}
}

// startTeacher starts the teacher of a fleet; the lock is held. It waits for the teacher
// before it, which may still save its state.
func (f *Fleet) startTeacher(name string, task teacher.Task) *embeddedTeacher {
	ctx, cancel := context.WithCancel(f.life)
	log := f.log().With("fleet", name)
	t := &embeddedTeacher{name: name, cancel: cancel, ended: make(chan struct{}), Supervisor: teacher.NewSupervisor(teacher.Options{
		Folder: f.folder(name), Log: log, LowPriority: true, Configure: f.configure,
		Open: func() (*fleet.Link, error) { return f.open(name, "loadline run, teacher") },
	}, task)}
	before := f.ending[name]
	f.teachers[name] = t
	go func() {
		defer close(t.ended)
		if before != nil {
			<-before
		}
		t.err = contained(log, "teacher", func() error { return t.Run(ctx) })
	}()
	return t
}

// configure a teacher.
func (f *Fleet) configure(c *teacher.Config, s *train.Scenario) {
	c.PollEvery = pollEvery
	if s != nil {
		c.Training.Teacher.Replay = affordable(c.Training.Teacher.Replay, c.Training.Shape, s.App)
	}
	if f.Configure != nil {
		f.Configure(c)
	}
}

// release ends a teacher some time after its last member has left.
func (f *Fleet) release(t *embeddedTeacher) {
	if t == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if t.members--; t.members > 0 || f.closed {
		return
	}
	t.idle = time.AfterFunc(idleFor, func() {
		_ = contained(f.log(), "end an idle teacher", func() error {
			f.endIdle(t)
			return nil
		})
	})
}

func (f *Fleet) endIdle(t *embeddedTeacher) {
	f.mu.Lock()
	idle := t.members == 0 && f.teachers[t.name] == t
	if idle {
		delete(f.teachers, t.name)
		f.ending[t.name] = t.ended
		f.admitNext(t.name)
	}
	f.mu.Unlock()
	if !idle {
		return
	}
	if err := t.stop(); err != nil {
		f.log().Warn("the embedded teacher could not save its state", "fleet", t.name, "error", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ending[t.name] == t.ended {
		delete(f.ending, t.name)
	}
}

// stop the teacher and wait until its state is saved.
func (t *embeddedTeacher) stop() error {
	t.cancel()
	<-t.ended
	return t.err
}

// closeTeachers ends all teachers.
func (f *Fleet) closeTeachers() error {
	f.mu.Lock()
	f.closed = true
	teachers, ending := f.teachers, f.ending
	f.teachers, f.ending = map[string]*embeddedTeacher{}, map[string]<-chan struct{}{}
	for _, t := range teachers {
		if t.idle != nil {
			t.idle.Stop()
		}
	}
	f.mu.Unlock()
	f.end()
	var faults []error
	for name, t := range teachers {
		if err := t.stop(); err != nil {
			faults = append(faults, fmt.Errorf("the teacher of %s: %w", name, err))
		}
	}
	for _, ended := range ending {
		<-ended
	}
	return errors.Join(faults...)
}

func (f *Fleet) log() *slog.Logger {
	if f.Config.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return f.Config.Log
}
