package teacher

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/fleet"
	"github.com/loadline/loadline/internal/policy/drpc"
)

func open(t *testing.T, l *fleet.Link, folder string, m *drpc.Model, config Config) *Teacher {
	t.Helper()
	c, err := Open(l, folder, m, scenario(shop(t)), config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestStudentsThatActBadlyAreTaught: an untrained fleet has a low reward, the notifier triggers
// training, and with the published weights the reward is higher.
func TestStudentsThatActBadlyAreTaught(t *testing.T) {
	t.Parallel()
	s, app := serve(t), shop(t)
	l, up := link(t, s, "taught"), link(t, s, "taught")
	m := ignorant(t, app)
	for _, student := range m.Students { // they always scale in
		params := student.Params()
		clear(params)
		for axis := range drpc.Axes {
			params[len(params)-1-axis] = -100
		}
	}
	m.Notifier = drpc.NotifierConfig{Rewards: 20, Threshold: 0.7}
	config := small(m)
	config.Training.Stage1.Refresh, config.Training.Stage1.Every = 1_600, 400
	before := act(t, up, app, m, 1, 0, steady, 25*time.Minute)

	dir := t.TempDir()
	c := open(t, l, dir, m, config)
	defer c.Close()
	until(t, c, "the students are retrained", func(st Status) bool { return st.Retrained > 0 && st.Published > 1 })
	st := c.Status()
	if st.Learned < 20 || st.Incomplete > 2 || st.Rejected > 0 || st.Problem != "" {
		t.Errorf("%+v", st)
	}
	after := act(t, up, app, m, 2, st.Version, steady, 25*time.Minute)
	t.Logf("students earn %.3f before training, %.3f after", before, after)
	if after < before+0.05 || after < 0.8 {
		t.Errorf("students earn %.3f after training, %.3f before", after, before)
	}
	var called *Event
	for _, e := range readEvents(t, dir) {
		if len(e.Reasons) > 0 && e.After != 0 {
			called = &e
		}
	}
	if called == nil || called.Reasons[0].Name != "reward" || called.After <= called.Before {
		t.Errorf("what triggered and what came of it is not recorded: %+v", called)
	}
	if taught, err := drpc.Open(filepath.Join(dir, modelName)); err != nil || taught.Version != st.Version ||
		len(taught.Students) != len(m.Students) {
		t.Errorf("the model beside the state: %v", err)
	}
}

func readEvents(t *testing.T, dir string) (events []Event) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, eventsName))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &events); err != nil {
		t.Fatal(err)
	}
	return events
}

// TestAnotherMixOfRequestsIsNoticed: the request mix changes during the run; that is drift, and
// the next training uses the new mix.
func TestAnotherMixOfRequestsIsNoticed(t *testing.T) {
	t.Parallel()
	s, app := serve(t), shop(t)
	l, up := link(t, s, "drift"), link(t, s, "drift")
	m := ignorant(t, app)
	m.Notifier.Drift = 0.25
	dir := t.TempDir()
	c := open(t, l, dir, m, small(m))
	defer c.Close()

	act(t, up, app, m, 1, 0, steady, 12*time.Minute)
	until(t, c, "the first run is learned from", func(st Status) bool { return st.Learned >= 15 })
	if st := c.Status(); st.Retrained != 0 || st.Drift > 0.1 {
		t.Fatalf("called without a reason: %+v", st)
	}
	changing := load{rate: 60, before: 0.9, after: 0.2, change: 5 * time.Minute}
	act(t, up, app, m, 2, 0, changing, 15*time.Minute)
	until(t, c, "the change is noticed", func(st Status) bool { return st.Retrained == 1 && st.Doing == collecting && st.Learned >= 40 })
	if mix := c.trainer.Signals().Drift; mix > 0.25 {
		t.Errorf("after training the drift is still %.2f", mix)
	}
	var called *Event
	for _, e := range readEvents(t, dir) {
		if len(e.Reasons) > 0 && e.After != 0 {
			called = &e
		}
	}
	if called == nil || called.Reasons[0].Name != "drift" || called.Reasons[0].Value <= 0.25 {
		t.Errorf("%+v, want drift", called)
	}
	if c.mix[0] > 0.4 {
		t.Errorf("the mix that is lived with is %v, want 0.2 of the first", c.mix)
	}
}

// errKilled simulates a kill by the kernel.
var errKilled = errors.New("killed")

// TestKilledNothingIsCountedTwice: killed between learning and writing, and between writing and
// acknowledging, a teacher ends in the same state as one that was not killed.
func TestKilledNothingIsCountedTwice(t *testing.T) {
	t.Parallel()
	s, app := serve(t), shop(t)
	m := ignorant(t, app)
	config := small(m)
	config.EvaluateEvery = 12
	end := func(name string, kills ...func(*Teacher) func(fleet.Ledger) error) (Status, []byte) {
		l, dir := link(t, s, name), t.TempDir()
		act(t, l, app, m, 7, 0, steady, 10*time.Minute)
		for _, kill := range kills {
			c := open(t, link(t, s, name), dir, m, config)
			if err := c.trainer.Work(t.Context()); err != nil { // so that the first state written is what was received
				t.Fatal(err)
			}
			c.collector.Persist = kill(c)
			if _, err := c.collector.Collect(); err != nil {
				t.Fatal(err)
			}
			if err := c.learn(t.Context()); err != nil {
				t.Fatal(err)
			}
			if c.learned == 0 && c.collector.Ledger().Counted == 0 {
				t.Fatalf("nothing was learned before the kill: %+v", c.join)
			}
			if err := c.collector.Commit(); !errors.Is(err, errKilled) {
				t.Fatalf("%v, want %v", err, errKilled)
			}
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
		}
		c := open(t, link(t, s, name), dir, m, config)
		defer c.Close()
		until(t, c, "everything is heard", func(st Status) bool { return st.Snapshots > 0 && (len(kills) == 0 || st.Repeated > 0) })
		return c.Status(), c.trainer.Save()
	}
	want, state := end("calm")
	got, killed := end("killed",
		func(*Teacher) func(fleet.Ledger) error { // while writing
			return func(fleet.Ledger) error { return errKilled }
		},
		func(c *Teacher) func(fleet.Ledger) error { // before the checkpoint and the acknowledgement
			return func(l fleet.Ledger) error { return errors.Join(c.write(l), errKilled) }
		},
	)
	if got.Counted != want.Counted || got.Snapshots != want.Snapshots || got.Learned != want.Learned || want.Learned < 12 ||
		want.Repeated != 0 {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	if got.Repeated != got.Counted+got.Snapshots {
		t.Errorf("%d came again, want all of %d", got.Repeated, got.Counted+got.Snapshots)
	}
	if !bytes.Equal(state, killed) {
		t.Error("what was learned is not the same")
	}
}

// TestAStateOfSomethingElse is rejected with advice, or replaced where that is intended.
func TestAStateOfSomethingElse(t *testing.T) {
	t.Parallel()
	s, app := serve(t), shop(t)
	l, dir := link(t, s, "other"), t.TempDir()
	m := ignorant(t, app)
	c := open(t, l, dir, m, small(m))
	if err := errors.Join(c.save(), c.Close()); err != nil {
		t.Fatal(err)
	}
	other := small(m)
	other.Training.Episode = 10
	if _, err := Open(l, dir, m, scenario(app), other); err == nil || !strings.Contains(err.Error(), "remove the file") {
		t.Errorf("other settings: %v", err)
	}
	m.Students[0].Params()[0]++
	c = open(t, l, dir, m, small(m))
	if e := c.Events(); !strings.Contains(e[len(e)-1].What, "started again with the weights of another model") {
		t.Errorf("%v", e)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, stateName))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, stateName), data[:len(data)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(l, dir, m, scenario(app), small(m)); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a torn state: %v", err)
	}
}

// TestTheNotifierIsListenedToLessAndLess while training does not remove the cause, and as
// before after a long time without a notification.
func TestTheNotifierIsListenedToLessAndLess(t *testing.T) {
	t.Parallel()
	s := serve(t)
	m := ignorant(t, shop(t))
	c := open(t, link(t, s, "calls"), t.TempDir(), m, small(m))
	defer c.Close()
	if err := c.trainer.Work(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{20, 40, 80} {
		c.sinceRetraining = c.patience()
		if err := c.retrain([]drpc.Reason{{Name: "reward"}}); err != nil {
			t.Fatal(err)
		}
		if got := c.patience(); got != want || c.sinceRetraining != 0 || c.Status().Last.What == "" {
			t.Errorf("after %d calls: %d periods, want %d", i+1, got, want)
		}
		if err := c.trainer.Work(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	c.sinceRetraining = 10_000
	if err := c.retrain([]drpc.Reason{{Name: "reward"}}); err != nil {
		t.Fatal(err)
	}
	if got := c.patience(); got != 20 {
		t.Errorf("after a long silence: %d periods, want 20", got)
	}
}
