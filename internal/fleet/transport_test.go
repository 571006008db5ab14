package fleet

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/loadline/loadline/internal/policy/drpc"
)

var _ drpc.Transport = (*Link)(nil)

// TestTransport: a server passes the contract of drpc.InProcess.
func TestTransport(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), "")
	l := link(t, func(c *Config) { c.Server = s })
	wait(t, l)
	for i := range uint64(5) {
		if r := publish(t, l, experience("cart.v2 of shop", 1, i+1)); r.Sequence != i+1 || r.Duplicate {
			t.Errorf("receipt %+v, want sequence %d", r, i+1)
		}
	}
	if r := publish(t, l, experience("cart.v2 of shop", 1, 3)); !r.Duplicate || r.Sequence != 3 {
		t.Errorf("published again: %+v", r)
	}
	for range 2 { // unacknowledged messages are delivered again
		got, err := l.Fetch(3)
		if err != nil || len(got) != 3 || got[0].Sequence != 1 || got[2].Sequence != 3 ||
			got[2].Experience != experience("cart.v2 of shop", 1, 3) {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	if err := l.Ack(4); err == nil || !strings.Contains(err.Error(), "the last that was given is 3") {
		t.Errorf("what was never given is acknowledged: %v", err)
	}
	if err := l.Ack(2); err != nil {
		t.Fatal(err)
	}
	if got, err := l.Fetch(10); err != nil || len(got) != 3 || got[0].Sequence != 3 {
		t.Errorf("%+v, %v; want 3 to 5", got, err)
	}
	if err := l.Ack(5); err != nil {
		t.Fatal(err)
	}
	if got, err := l.Fetch(10); err != nil || len(got) != 0 {
		t.Errorf("%+v, %v; want nothing", got, err)
	}

	if _, err := l.Latest("cart"); !errors.Is(err, drpc.ErrNone) {
		t.Errorf("%v, want %v", err, drpc.ErrNone)
	}
	from, to := newStudent(t, "cart", 1), newStudent(t, "cart", 2)
	if err := l.Put(drpc.WeightsOf(from, 5)); err != nil {
		t.Fatal(err)
	}
	for _, version := range []uint64{5, 4} {
		if err := l.Put(drpc.WeightsOf(from, version)); !errors.Is(err, drpc.ErrOutdate) {
			t.Errorf("put %d over 5: %v, want %v", version, err, drpc.ErrOutdate)
		}
	}
	w, err := l.Latest("cart")
	if err != nil {
		t.Fatal(err)
	}
	if err := to.Adopt(w); err != nil || to.Version() != 5 || !bytes.Equal(drpc.WeightsOf(to, 5).Data, drpc.WeightsOf(from, 5).Data) {
		t.Errorf("%v, version %d", err, to.Version())
	}

	carried := l.Traffic()
	payload, wire := carried.PerDecision()
	if carried.Decisions != 6 || carried.Duplicates != 1 || payload != float64(66+len("cart.v2 of shop")) || wire <= payload {
		t.Errorf("%+v: %v and %v bytes each", carried, payload, wire)
	}
}

// TestAFullStreamRefusesAndStudentsKeep: neither a slow teacher nor a flooding student causes
// the loss of acknowledged messages.
func TestAFullStreamRefusesAndStudentsKeep(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), "")
	l := link(t, func(c *Config) { c.Server, c.MaxMessages, c.PerService = s, 6, 4 })
	wait(t, l)
	flood := drpc.Outbox{Service: "flood", Epoch: 1, Most: 100}
	calm := drpc.Outbox{Service: "calm", Epoch: 1, Most: 100}
	for range 10 {
		flood.Add(noon, 1, &drpc.Local{}, drpc.Action{})
	}
	for range 3 {
		calm.Add(noon, 1, &drpc.Local{}, drpc.Action{})
	}
	teacher, err := NewCollector(l, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct{ flood, calm, counted int }{{6, 1, 6}, {2, 0, 5}, {0, 0, 2}} {
		for _, o := range []*drpc.Outbox{&flood, &calm} {
			if err := o.Flush(l); err != nil {
				t.Fatal(err)
			}
		}
		if flood.Waiting() != want.flood || calm.Waiting() != want.calm {
			t.Fatalf("%d and %d wait, want %+v", flood.Waiting(), calm.Waiting(), want)
		}
		if n, err := teacher.pass(); err != nil || n != want.counted {
			t.Fatalf("%d counted (%v), want %d", n, err, want.counted)
		}
	}
	if got := teacher.Ledger(); got.Counted != 13 || got.Repeated != 0 || got.Last != 13 {
		t.Errorf("%+v, want 13 counted once", got)
	}
	if c := l.Traffic(); c.Refused != 3 {
		t.Errorf("%d refused, want 3", c.Refused)
	}
	_, err = l.Publish(experience("flood", 2, 1))
	for i := uint64(2); err == nil && i < 10; i++ {
		_, err = l.Publish(experience("flood", 2, i))
	}
	if !errors.Is(err, drpc.ErrFull) {
		t.Errorf("%v, want %v", err, drpc.ErrFull)
	}
}

// TestARestartKeepsEverything: the server restarts with its folder, the links reconnect, and a
// message that is sent again after the server has dropped its id is still counted once.
func TestARestartKeepsEverything(t *testing.T) {
	t.Parallel()
	folder, dir := t.TempDir(), t.TempDir()
	s := serve(t, folder, "127.0.0.1:0")
	address := strings.TrimPrefix(s.URL(), "nats://")
	l := link(t, func(c *Config) { c.URL = s.URL() })
	wait(t, l)
	teacher, err := NewCollector(l, dir)
	if err != nil {
		t.Fatal(err)
	}
	publish(t, l, experience("cart", 1, 1))
	if n, err := teacher.pass(); n != 1 || err != nil {
		t.Fatalf("%d counted, %v", n, err)
	}
	publish(t, l, experience("cart", 1, 2))
	if _, err := NewCollector(l, dir); err == nil || !strings.Contains(err.Error(), "in use by process") {
		t.Errorf("a second teacher with the same checkpoint: %v", err)
	}
	if err := teacher.Close(); err != nil {
		t.Fatal(err)
	}
	s.Stop()
	if _, err := l.Publish(experience("cart", 1, 3)); err == nil {
		t.Error("there is a receipt without a server")
	}
	serve(t, folder, address)
	wait(t, l)
	// The student did not get its first receipt, and the server no longer has the id.
	publish(t, l, experience("cart", 1, 1))
	publish(t, l, experience("cart", 1, 3))
	if teacher, err = NewCollector(l, dir); err != nil {
		t.Fatal(err)
	}
	defer teacher.Close()
	if n, err := teacher.pass(); n != 2 || err != nil {
		t.Fatalf("%d counted, want 2 (%v)", n, err)
	}
	if got := teacher.Ledger(); got.Counted != 3 || got.Repeated != 1 || got.Marks["cart"] != (drpc.Position{Epoch: 1, Sequence: 3}) {
		t.Errorf("%+v", got)
	}
}

// TestAnotherStreamIsCountedFromItsBeginning: sequences of a deleted stream are not valid in
// its successor.
func TestAnotherStreamIsCountedFromItsBeginning(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), "")
	l := link(t, func(c *Config) { c.Server = s })
	wait(t, l)
	teacher, err := NewCollector(l, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(3) {
		publish(t, l, experience("cart", 1, i+1))
	}
	if n, err := teacher.pass(); n != 3 || err != nil {
		t.Fatalf("%d counted, %v", n, err)
	}
	if err := l.js.DeleteStream(t.Context(), l.streamName()); err != nil {
		t.Fatal(err)
	}
	student := link(t, func(c *Config) { c.Server = s })
	wait(t, student)
	publish(t, student, experience("cart", 1, 4))
	l.reader.checked = time.Time{} // the next check is due
	if n, err := teacher.pass(); n != 1 || err != nil {
		t.Errorf("%d counted of the new stream, want 1 (%v)", n, err)
	}
}

func TestExperienceThatCannotBeReadIsPassedOver(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), "")
	l := link(t, func(c *Config) { c.Server = s })
	wait(t, l)
	for range 3 {
		if _, err := l.js.Publish(t.Context(), l.subject("cart"), []byte("of another release")); err != nil {
			t.Fatal(err)
		}
	}
	publish(t, l, experience("cart", 1, 1))
	got, err := l.Fetch(2)
	if err != nil || len(got) != 1 || got[0].Sequence != 4 || l.Unreadable() != 3 {
		t.Errorf("%+v, %v; %d unreadable", got, err, l.Unreadable())
	}
}

func TestAStreamThatBreaksPromisesIsRefused(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), "")
	l := link(t, func(c *Config) { c.Server = s })
	if _, err := l.js.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: l.streamName(), Subjects: []string{"loadline.x.*"}, Discard: jetstream.DiscardOld, MaxAge: time.Hour,
	}); err != nil {
		t.Fatal(err)
	}
	err := l.Wait(t.Context())
	for _, want := range []string{"has discard policy", "must be new", "max age 1h0m0s", "direct access", "size unlimited",
		"nats stream edit"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}

// TestAnAgentReportsAStreamThatItCannotUse, although the server responds.
func TestAnAgentReportsAStreamThatItCannotUse(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), "")
	l := link(t, func(c *Config) { c.Server = s })
	if _, err := l.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: l.streamName(), Subjects: []string{"loadline.x.*"},
		Discard: jetstream.DiscardOld}); err != nil {
		t.Fatal(err)
	}
	app, model := bookinfo(t, 1)
	agent, err := NewAgent(l, model, app, drpc.Work{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	start(t, agent)
	eventually(t, "the agent says that the stream cannot be used", func() bool {
		err := agent.Err()
		return err != nil && strings.Contains(err.Error(), "has discard policy")
	})
	if err := l.js.DeleteStream(t.Context(), l.streamName()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the agent recovers", func() bool { return agent.Err() == nil })
}

// TestAnAgentReportsAFullStream, and no longer once there is room.
func TestAnAgentReportsAFullStream(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), "")
	l := link(t, func(c *Config) { c.Server, c.PerService = s, 1 })
	wait(t, l)
	p := l.NewPublisher([]string{"cart"}, 1, 10)
	background(t, p.Run)
	for range 2 {
		p.Add(0, noon, 1, &drpc.Local{}, drpc.Action{})
	}
	eventually(t, "the publisher says that the stream is full", func() bool { return errors.Is(p.Err(), drpc.ErrFull) })
	c, err := NewCollector(l, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if n, err := c.pass(); n != 1 || err != nil {
		t.Fatalf("%d counted, %v", n, err)
	}
	flush(t, p)
	eventually(t, "the publisher recovers", func() bool { return p.Err() == nil })
}

func TestCheckpointsThatCannotBeUsed(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"torn", `{"layout": 1, "fl`, "cannot be read"},
		{"of another release", `{"layout": 9, "fleet": "loadline"}`, "has layout 9"},
		{"of another fleet", `{"layout": 1, "fleet": "shop"}`, `is of fleet "shop"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			writeText(t, filepath.Join(dir, checkpointName), c.text)
			if _, err := readCheckpoint(dir, "loadline"); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v does not say %q", err, c.want)
			}
		})
	}
}
