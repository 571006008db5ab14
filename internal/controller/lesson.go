package controller

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"time"

	"github.com/loadline/loadline/internal/train"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/atomicfile"
	"github.com/loadline/loadline/internal/fleet"
	"github.com/loadline/loadline/internal/fleet/teacher"
	"github.com/loadline/loadline/internal/policy/drpc"
)

// lesson is the teacher of one fleet in this process. It has a goroutine and a link
// of its own: whoever decides never waits for it.
type lesson struct {
	name   string
	fleet  *Fleet
	log    *slog.Logger
	cancel context.CancelFunc
	ended  chan struct{}
	idle   *time.Timer
	pupils int // members in this process; guarded by the fleet's lock

	mu     sync.Mutex
	given  *drpc.Model     // the latest that was promoted
	world  *loadline.App   // in which it thinks; nil = none is known
	taken  chan struct{}   // closed when another is given
	class  *teacher.Teacher // that is at work; nil = none
	report lessonReport
	events uint64
	fault  error // of the end
}

// lessonReport is how a teacher is doing.
type lessonReport struct {
	counted uint64 // decisions, ever
	learned uint64 // stretches of time that it has learned from
	version uint64 // of the weights that were published last
	doing   string
	last    string // what happened last
	idle    string // why it does not learn; empty = it does
	trouble string // empty = none
	events  uint64 // since this process began
}

func reportOf(s teacher.Status) lessonReport {
	r := lessonReport{counted: s.Counted, learned: s.Learned, version: s.Version, doing: s.Doing, trouble: s.Problem}
	if !s.Last.At.IsZero() {
		r.last = s.Last.String()
	}
	return r
}

const (
	// idleFor is how long a teacher without students in this process stays: a spec
	// that is edited ends a LoadLine's life for a moment.
	idleFor = 5 * time.Minute
	// lessonPause is how often a teacher looks when there is nothing to read.
	lessonPause = 2 * time.Second
	// offerEvery is how often it looks whether its weights still lie there, sound.
	offerEvery = time.Minute
	// troubleRest is how long it waits before it tries again.
	troubleRest = 5 * time.Second
)

// enter has the teacher of a fleet teach the students of a model from now on; nil
// if teachers are elsewhere.
func (f *Fleet) enter(name string, m *drpc.Model, world *loadline.App) *lesson {
	if !f.Teach {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	l := f.lessons[name]
	if l == nil {
		ctx, cancel := context.WithCancel(f.life)
		l = &lesson{name: name, fleet: f, log: f.log().With("fleet", name), cancel: cancel, ended: make(chan struct{}), taken: make(chan struct{})}
		f.lessons[name] = l
		l.give(m, world)
		go func() {
			defer close(l.ended)
			l.run(ctx)
		}()
	} else {
		l.give(m, world)
	}
	l.pupils++
	if l.idle != nil {
		l.idle.Stop()
		l.idle = nil
	}
	return l
}

// leaveLesson ends a lesson some time after its last pupil has left.
func (f *Fleet) leaveLesson(l *lesson) {
	if l == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if l.pupils--; l.pupils > 0 || f.closed {
		return
	}
	l.idle = time.AfterFunc(idleFor, func() {
		f.mu.Lock()
		over := l.pupils == 0 && f.lessons[l.name] == l
		if over {
			delete(f.lessons, l.name)
		}
		f.mu.Unlock()
		if over {
			_ = l.stop() // it was told when it happened
		}
	})
}

func (f *Fleet) log() *slog.Logger {
	if f.Config.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return f.Config.Log
}

// give it another model.
func (l *lesson) give(m *drpc.Model, world *loadline.App) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.given != nil && studentsDigest(l.given) == studentsDigest(m) && reflect.DeepEqual(l.world, world) {
		return // a LoadLine that was edited elsewhere, or another of the same application
	}
	l.given, l.world = m, world
	close(l.taken)
	l.taken = make(chan struct{})
}

func (l *lesson) current() (*drpc.Model, *loadline.App, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.given, l.world, l.taken
}

// tell others how it goes.
func (l *lesson) tell(counted, version uint64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.report.counted, l.report.version = counted, version
	l.note(err)
}

// note trouble; the lock is held.
func (l *lesson) note(err error) {
	if text := text(err); text != l.report.trouble {
		l.report.trouble = text
		if text != "" {
			l.log.Warn("the teacher in this process cannot go on: students do", "error", err)
		}
	}
}

// state of it, for whoever tells.
func (l *lesson) state() lessonReport {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.report
	if l.class != nil {
		r = reportOf(l.class.Status())
	}
	r.events = l.events
	return r
}

// run until the context ends. What fails is tried again: a folder may still be held
// by the lesson before.
func (l *lesson) run(ctx context.Context) {
	stepBack()
	for ctx.Err() == nil {
		err := l.teach(ctx)
		l.mu.Lock()
		l.note(err)
		if ctx.Err() != nil {
			l.fault = err
		}
		l.mu.Unlock()
		if err != nil {
			rest(ctx, troubleRest)
		}
	}
}

// stop it, and wait until what it knows is kept.
func (l *lesson) stop() error {
	l.cancel()
	<-l.ended
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fault
}

// teach the students of the model that was given last, until there is another.
func (l *lesson) teach(ctx context.Context) (err error) {
	link, err := l.fleet.open(l.name, "loadline run, teacher")
	if err != nil {
		return err
	}
	defer link.Close()
	m, world, replaced := l.current()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-replaced:
			cancel()
		case <-ctx.Done():
		}
	}()
	if err := l.announce(ctx, link, m); err != nil || ctx.Err() != nil {
		return err
	}
	subject, err := subjectOf(world, m)
	if err != nil {
		return l.publish(ctx, link, m, fmt.Sprintf("it publishes weights and does not learn: %v", err))
	}
	return l.learn(ctx, link, m, subject)
}

// learn from what students do, in the midst of a simulated world.
func (l *lesson) learn(ctx context.Context, link *fleet.Link, m *drpc.Model, subject train.Scenario) error {
	config := teacher.Default(m)
	config.Log, config.Event = l.log, l.happened
	config.Training.Teacher.Replay = affordable(config.Training.Teacher.Replay, m, subject.App)
	if l.fleet.Class != nil {
		l.fleet.Class(&config)
	}
	c, err := teacher.Open(link, l.fleet.folder(l.name), m, subject, config)
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.class = c
	l.mu.Unlock()
	err = c.Run(ctx)
	l.mu.Lock()
	l.class, l.report = nil, reportOf(c.Status())
	l.mu.Unlock()
	return errors.Join(err, c.Close())
}

// happened tells of what a teacher notices and does.
func (l *lesson) happened(e teacher.Event) {
	l.log.Info("the teacher", "event", e.String())
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events++
}

// announcedName is the file that says which model's students were published as they
// are: what a teacher has made of them since is not taken back by a restart.
const announcedName = "announced"

// announce publishes a model that was just promoted at once: a teacher has much to
// do before it has something of its own.
func (l *lesson) announce(ctx context.Context, link *fleet.Link, m *drpc.Model) (err error) {
	path := filepath.Join(l.fleet.folder(l.name), announcedName)
	digest := studentsDigest(m)
	if was, err := os.ReadFile(path); err == nil && string(was) == digest {
		return nil
	}
	if err := link.Wait(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // it is over
		}
		return err
	}
	teacher, err := fleet.NewCollector(link, l.fleet.folder(l.name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, teacher.Close()) }()
	published, err := teacher.Publish(m)
	if err != nil {
		return err
	}
	version := teacher.Ledger().Version
	l.tell(teacher.Ledger().Counted, version, nil)
	if published {
		l.log.Info("weights of the model are published", "version", version, "services", len(m.Services))
	}
	return atomicfile.Write(path, func(w io.Writer) error { _, err := io.WriteString(w, digest); return err })
}

func studentsDigest(m *drpc.Model) string {
	h := sha256.New()
	for i, service := range m.Services {
		fmt.Fprintf(h, "%s\n%x\n", service, m.Students[i].Params())
	}
	return hex.EncodeToString(h.Sum(nil))
}

// publish is for a teacher that has no world to think in: it counts, and sees to it
// that weights lie there.
func (l *lesson) publish(ctx context.Context, link *fleet.Link, m *drpc.Model, why string) (err error) {
	l.mu.Lock()
	l.report.idle = why
	l.mu.Unlock()
	l.log.Info("the teacher in this process only listens", "why", why)
	teacher, err := fleet.NewCollector(link, l.fleet.folder(l.name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, teacher.Close()) }()
	var offered time.Time
	for ctx.Err() == nil {
		var trouble error
		if now := l.fleet.Now(); now.Sub(offered) >= offerEvery {
			if _, trouble = teacher.Publish(m); trouble == nil {
				offered = now
			}
		}
		counted, err := teacher.Pass()
		ledger := teacher.Ledger()
		l.tell(ledger.Counted, ledger.Version, errors.Join(trouble, err))
		if counted == 0 || err != nil {
			rest(ctx, lessonPause)
		}
	}
	return nil
}

// rest for a while.
func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
