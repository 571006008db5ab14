package fleet

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/loadline/loadline/internal/policy/drpc"
)

// TestAppObserver: snapshots arrive beside decisions, in order, and are counted once.
func TestAppObserver(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), "")
	l := link(t, func(c *Config) { c.Server = s })
	wait(t, l)
	app, model := bookinfo(t, 1)
	agent, err := NewAgent(l, model, app, drpc.Work{}, 3)
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.AddAppObserver(model, app); err != nil {
		t.Fatal(err)
	}
	start(t, agent)
	act(t, app, agent)
	flush(t, agent.Publisher)
	st := agent.AppObserver.Status()
	if st.Snapshots < 15 || st.Waiting+st.Lost != 0 || st.Missing != "" {
		t.Errorf("%+v", st)
	}
	teacher, err := NewCollector(l, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var snapshots []*drpc.Snapshot
	teacher.Received = func(d *drpc.Delivery) error {
		if d.Snapshot != nil {
			snapshots = append(snapshots, d.Snapshot)
		}
		return nil
	}
	if _, err := teacher.Collect(); err != nil {
		t.Fatal(err)
	}
	if n := teacher.Ledger().Snapshots; n != 0 || teacher.Uncommitted() == 0 {
		t.Errorf("%d snapshots are written down before they are kept", n)
	}
	if err := teacher.Commit(); err != nil {
		t.Fatal(err)
	}
	ledger := teacher.Ledger()
	if ledger.Snapshots != st.Snapshots || uint64(len(snapshots)) != st.Snapshots ||
		ledger.SnapshotsCounted != (drpc.Position{Epoch: 3, Sequence: st.Snapshots}) ||
		ledger.Counted == 0 {
		t.Errorf("%+v of %d snapshots", ledger, len(snapshots))
	}
	for i, s := range snapshots {
		if s.Sequence != uint64(i+1) || i > 0 && s.At.Sub(snapshots[i-1].At) != model.Period {
			t.Errorf("snapshot %d is number %d at %v", i, s.Sequence, s.At)
		}
	}
	if c := l.Traffic(); c.Snapshots != st.Snapshots || c.SnapshotBytes == 0 {
		t.Errorf("%+v", c)
	}
	if got, err := l.Fetch(10); err != nil || len(got) != 0 {
		t.Errorf("%d are left after they were kept (%v)", len(got), err)
	}
	// A teacher that was killed before its checkpoint resumes from what was saved elsewhere.
	teacher.Resume(Ledger{StreamCreated: ledger.StreamCreated, Last: ledger.Last + 5, Counted: ledger.Counted + 5, Version: 1,
		Digest: "x"})
	if got := teacher.Ledger(); got.Counted != ledger.Counted+5 || got.Version != 1 || got.Digest != "x" {
		t.Errorf("%+v", got)
	}
	teacher.Resume(Ledger{StreamCreated: ledger.StreamCreated, Last: 1})
	if got := teacher.Ledger(); got.Counted != ledger.Counted+5 || got.Version != 1 {
		t.Errorf("an older one has taken its place: %+v", got)
	}
}

// TestAStreamForShorterMessages: snapshots that are too long for it are dropped, and do not
// delay decisions.
func TestAStreamForShorterMessages(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), "")
	l := link(t, func(c *Config) { c.Server = s })
	if _, err := l.js.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: l.streamName(), Subjects: []string{l.subject("") +
			"*"}, Discard: jetstream.DiscardNew, DiscardNewPerSubject: true, MaxMsgs: 1000, MaxMsgsPerSubject: 1000,
		MaxMsgSize: 200, AllowDirect: true, Duplicates: time.Minute,
	}); err != nil {
		t.Fatal(err)
	}
	app, model := bookinfo(t, 1)
	agent, err := NewAgent(l, model, app, drpc.Work{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.AddAppObserver(model, app); err != nil {
		t.Fatal(err)
	}
	start(t, agent)
	act(t, app, agent)
	flush(t, agent.Publisher)
	eventually(t, "snapshots are let go", func() bool {
		st := agent.AppObserver.Status()
		return st.Waiting == 0 &&
			uint64(st.Lost) == st.Snapshots
	})
	if !strings.Contains(errTooLong.Error(), "nats stream edit --max-msg-size=131072") {
		t.Error(errTooLong)
	}
}

// TestAppObserverNeedsEveryService: a model that was trained on fewer services than the
// application has is rejected.
func TestAppObserverNeedsEveryService(t *testing.T) {
	l := link(t, func(c *Config) { c.URL = "nats://" + freeAddress(t) })
	app, model := bookinfo(t, 1)
	part, err := Group(model, []string{"reviews"})
	if err != nil {
		t.Fatal(err)
	}
	agent, err := NewAgent(l, part, app, drpc.Work{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.AddAppObserver(part, app); err == nil || !strings.Contains(err.Error(), "was not trained on service") {
		t.Errorf("%v", err)
	}
}
