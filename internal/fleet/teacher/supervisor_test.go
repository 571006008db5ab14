package teacher

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/fleet"
	"github.com/loadline/loadline/internal/train"
)

// supervised is a supervisor that runs in the background.
type supervised struct {
	*Supervisor
	t      *testing.T
	cancel context.CancelFunc
	ended  chan error
}

// supervise runs a supervisor with the changes of a test to its options.
func supervise(t *testing.T, s *fleet.Server, folder string, first Task, change func(*Options)) *supervised {
	t.Helper()
	o := Options{
		Folder:     folder,
		MinRestart: time.Millisecond, MaxRestart: 2 * time.Millisecond,
		Open: func() (*fleet.Link, error) {
			c := fleet.Default()
			c.Server, c.Name, c.Timeout = s, "supervised", 20*time.Second
			return fleet.Open(c)
		},
		Configure: func(c *Config, _ *train.Scenario) {
			quick := small(first.Model)
			quick.Log, quick.Event = c.Log, c.Event
			*c = quick
		},
	}
	if change != nil {
		change(&o)
	}
	ctx, cancel := context.WithCancel(t.Context())
	v := &supervised{NewSupervisor(o, first), t, cancel, make(chan error, 1)}
	go func() { v.ended <- v.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if v.ended != nil {
			<-v.ended
		}
	})
	return v
}

// stop ends the supervisor and returns its error.
func (v *supervised) stop() error {
	v.cancel()
	err := <-v.ended
	v.ended = nil
	return err
}

// until waits for a status; the deadline is only there to report a test that hangs.
func (v *supervised) until(what string, so func(Status) bool) {
	v.t.Helper()
	for end := time.Now().Add(soon); !so(v.Status()); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			v.t.Fatalf("%s: not reached; %+v", what, v.Status())
		}
	}
}

// TestASupervisorPublishesEachModelOnce: at the start, after a replacement, and not again
// after a restart.
func TestASupervisorPublishesEachModelOnce(t *testing.T) {
	t.Parallel()
	s, app, dir := serve(t), shop(t), t.TempDir()
	m := ignorant(t, app)
	counting := Task{Model: m, Reason: "no twin"}
	v := supervise(t, s, dir, counting, nil)
	v.until("the first model is published", func(st Status) bool { return st.Version == 2 })
	v.Assign(counting)
	other := ignorant(t, app)
	other.Students[0].Params()[0]++
	v.Assign(Task{Model: other, Reason: "no twin"})
	v.until("the second model is published", func(st Status) bool { return st.Version == 3 })
	if st := v.Status(); st.NotLearning != "no twin" || st.Problem != "" || st.Restarts != 0 || st.Events != 2 {
		t.Errorf("%+v", st)
	}
	if err := v.stop(); err != nil {
		t.Fatal(err)
	}
	v = supervise(t, s, dir, Task{Model: other, Reason: "no twin"}, nil)
	v.until("it collects again", func(st Status) bool { return st.Doing == collecting })
	if st := v.Status(); st.Version != 3 || st.Events != 0 {
		t.Errorf("%+v: the same model is published again", st)
	}
}

// TestASupervisorResumesWhatWasLearned, and a model that is given again after a restart
// does not replace what was learned from it.
func TestASupervisorResumesWhatWasLearned(t *testing.T) {
	t.Parallel()
	s, app, dir := serve(t), shop(t), t.TempDir()
	m := ignorant(t, app)
	task := Task{Model: m, Scenario: scenario(app)}
	c := fleet.Default()
	c.Server, c.Name, c.Timeout = s, "supervised", 20*time.Second
	l, err := fleet.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	act(t, l, app, m, 1, 0, steady, 12*time.Minute)
	v := supervise(t, s, dir, task, nil)
	v.until("it has learned", func(st Status) bool { return st.Learned >= 15 && st.Doing == collecting })
	before := v.Status()
	if err := v.stop(); err != nil {
		t.Fatal(err)
	}
	v = supervise(t, s, dir, task, nil)
	v.until("it collects again", func(st Status) bool { return st.Doing == collecting })
	if st := v.Status(); st.Learned != before.Learned || st.Counted != before.Counted || st.Version != before.Version {
		t.Errorf("%+v\nafter %+v", st, before)
	}
}

// TestASupervisorRestartsAfterAFailure: it reports the failure, keeps trying, publishes a
// promoted model even though the state cannot be used, and recovers by itself.
func TestASupervisorRestartsAfterAFailure(t *testing.T) {
	t.Parallel()
	s, app, dir := serve(t), shop(t), t.TempDir()
	torn := filepath.Join(dir, stateName)
	if err := os.WriteFile(torn, []byte("torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	v := supervise(t, s, dir, Task{Model: ignorant(t, app), Scenario: scenario(app)}, nil)
	v.until("it has failed several times", func(st Status) bool {
		return st.Restarts >= 3 && strings.Contains(st.Problem, "cannot be used") && st.Version == 2
	})
	if err := os.Remove(torn); err != nil {
		t.Fatal(err)
	}
	v.until("it recovers", func(st Status) bool { return st.Doing == collecting && st.Problem == "" })
}

// TestASupervisorSurvivesAPanic of its teacher.
func TestASupervisorSurvivesAPanic(t *testing.T) {
	t.Parallel()
	s, app := serve(t), shop(t)
	m, panics := ignorant(t, app), 1
	v := supervise(t, s, t.TempDir(), Task{Model: m, Reason: "a test"}, func(o *Options) {
		configure := o.Configure
		o.Configure = func(c *Config, s *train.Scenario) {
			configure(c, s)
			c.Event = func(Event) {
				if panics > 0 {
					panics--
					panic("a test")
				}
			}
		}
	})
	v.until("it works after a restart", func(st Status) bool { return st.Restarts == 1 && st.Doing == collecting && st.Problem == "" })
}

// TestAFirstStartThatFailsIsReturned: the command line reports it instead of retrying.
func TestAFirstStartThatFailsIsReturned(t *testing.T) {
	t.Parallel()
	s, app, dir := serve(t), shop(t), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, stateName), []byte("torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	v := supervise(t, s, dir, Task{Model: ignorant(t, app), Scenario: scenario(app)}, func(o *Options) { o.StartWithin = soon })
	err := <-v.ended
	v.ended = nil
	if err == nil || !strings.Contains(err.Error(), "remove it") {
		t.Errorf("%v", err)
	}
}

// TestASupervisorReportsThatItWaits for servers that reject it or are unreachable.
func TestASupervisorReportsThatItWaits(t *testing.T) {
	t.Parallel()
	app := shop(t)
	v := supervise(t, nil, t.TempDir(), Task{Model: ignorant(t, app), Reason: "a test"}, func(o *Options) {
		o.Open = func() (*fleet.Link, error) {
			c := fleet.Default()
			c.URL = "nats://127.0.0.1:1" // reserved: nothing listens there
			return fleet.Open(c)
		}
	})
	v.until("it reports why it waits", func(st Status) bool { return st.Doing == starting && st.Problem != "" })
	if err := v.stop(); err != nil {
		t.Error(err)
	}
}

// TestAStateThatCannotBeWrittenIsAnError also when the teacher is stopped while it trains.
func TestAStateThatCannotBeWrittenIsAnError(t *testing.T) {
	t.Parallel()
	s, app, dir := serve(t), shop(t), t.TempDir()
	m := ignorant(t, app)
	ctx, cancel := context.WithCancel(t.Context())
	config := small(m)
	config.Progress = func(float64, string) { // training has begun
		if err := os.Mkdir(filepath.Join(dir, stateName), 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			t.Error(err)
		}
		cancel()
	}
	c := open(t, link(t, s, "unwritable"), dir, m, config)
	defer c.Close()
	if err := c.Run(ctx); err == nil || !strings.Contains(err.Error(), stateName) {
		t.Errorf("%v, want an error about %s", err, stateName)
	}
}

// TestASupervisorLeavesNothingBehind: no goroutine and no lock stays after Run.
func TestASupervisorLeavesNothingBehind(t *testing.T) {
	s, app, dir := serve(t), shop(t), t.TempDir()
	m := ignorant(t, app)
	before := 0
	for i := range 3 {
		if i == 1 { // the server has goroutines for the stream and the bucket by then
			before = runtime.NumGoroutine()
		}
		v := supervise(t, s, dir, Task{Model: m, Reason: "a test"}, nil)
		v.until("it collects", func(st Status) bool { return st.Doing == collecting })
		other := *m
		other.Version++
		v.Assign(Task{Model: &other, Reason: "another"})
		v.until("it has another task", func(st Status) bool { return st.Doing == collecting && st.NotLearning == "another" })
		if err := v.stop(); err != nil {
			t.Fatal(err)
		}
	}
	for end := time.Now().Add(soon); runtime.NumGoroutine() > before; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			text := make([]byte, 1<<16)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, text[:runtime.Stack(text, true)])
		}
	}
}
