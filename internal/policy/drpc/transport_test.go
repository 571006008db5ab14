package drpc

import (
	"bytes"
	"errors"
	"testing"
	"time"
)

func TestExperienceAsBytes(t *testing.T) {
	e := Experience{Service: "cart", Sequence: 7, Epoch: 3, Version: 2, At: noon, Local: Local{1, 2, 3, 4, 5}, Action: Action{-1, 0, 1}}
	b, err := e.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	var got Experience
	if err := got.UnmarshalBinary(b); err != nil || got != e {
		t.Errorf("%+v, %v; want %+v", got, err, e)
	}
	for cut := range b {
		if got.UnmarshalBinary(b[:cut]) == nil {
			t.Errorf("%d of %d bytes were taken for a message", cut, len(b))
		}
	}
}

func FuzzExperience(f *testing.F) {
	e := Experience{Service: "cart", Sequence: 1, At: noon}
	b, _ := e.AppendBinary(nil)
	f.Add(b)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		var e Experience
		if e.UnmarshalBinary(data) != nil {
			return
		}
		if again, err := e.AppendBinary(nil); err != nil || !bytes.Equal(again, data) {
			t.Errorf("%x became %x (%v)", data, again, err)
		}
	})
}

// TestAFullStreamLosesNothingThatItAcknowledged: the transport rejects, the student keeps the
// message, and in the end everything is counted once.
func TestAFullStreamLosesNothingThatItAcknowledged(t *testing.T) {
	app := shop()
	transport, collector := NewInProcess(4), NewCollector(app)
	outbox := Outbox{Service: "cart", Epoch: 1, Most: 100}
	var local Local
	for i := range 10 {
		outbox.Add(noon.Add(time.Duration(i)*time.Second), 1, &local, Action{0, 0, 0.1})
	}
	for _, left := range []int{6, 2, 0} {
		if err := outbox.Flush(transport); err != nil {
			t.Fatal(err)
		}
		if outbox.Waiting() != left {
			t.Fatalf("%d wait, want %d", outbox.Waiting(), left)
		}
		if err := collector.Drain(transport); err != nil {
			t.Fatal(err)
		}
	}
	actions := make([]float32, 3*Axes)
	collector.Take(actions)
	if got := actions[1*Axes+AxisHorizontal]; collector.Counted != 10 || got < 0.99 || got > 1 || collector.Last != 10 {
		t.Errorf("%d counted up to %d, together %v; want 10 up to 10, together 1", collector.Counted, collector.Last, got)
	}
	if collector.Take(actions); actions[1*Axes+AxisHorizontal] != 0 {
		t.Error("what was taken is there again")
	}
}

func TestNothingIsCountedTwice(t *testing.T) {
	app := shop()
	transport, collector := NewInProcess(10), NewCollector(app)
	e := Experience{Service: "cart", Sequence: 1, Epoch: 1}
	first, err := transport.Publish(e)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := transport.Publish(e); err != nil || !again.Duplicate || again.Sequence != first.Sequence {
		t.Errorf("published again: %+v, %v", again, err)
	}
	deliveries, _ := transport.Fetch(10)
	for range 3 { // the teacher was down and fetches again
		for _, d := range deliveries {
			collector.Add(d)
		}
	}
	if err := collector.Drain(transport); err != nil {
		t.Fatal(err)
	}
	// The student did not get the receipt and sends again.
	if _, err := transport.Publish(e); err != nil {
		t.Fatal(err)
	}
	if _, err := transport.Publish(Experience{Service: "stranger", Sequence: 1}); err != nil {
		t.Fatal(err)
	}
	if err := collector.Drain(transport); err != nil {
		t.Fatal(err)
	}
	if collector.Counted != 1 {
		t.Errorf("%d counted, want 1", collector.Counted)
	}
	// A restarted student counts from 1 again.
	if _, err := transport.Publish(Experience{Service: "cart", Sequence: 1, Epoch: 2}); err != nil {
		t.Fatal(err)
	}
	if err := collector.Drain(transport); err != nil || collector.Counted != 2 {
		t.Errorf("%d counted after a restart, want 2 (%v)", collector.Counted, err)
	}
	if transport.Ack(99) == nil {
		t.Error("what was never given is acknowledged")
	}
}

func TestAnOutboxIsBounded(t *testing.T) {
	outbox := Outbox{Service: "cart", Most: 3}
	var local Local
	for range 5 {
		outbox.Add(noon, 1, &local, Action{})
	}
	if outbox.Waiting() != 3 || outbox.Lost != 2 {
		t.Errorf("%d wait and %d were let go, want 3 and 2", outbox.Waiting(), outbox.Lost)
	}
	transport := NewInProcess(10)
	if err := outbox.Flush(transport); err != nil {
		t.Fatal(err)
	}
	if d, _ := transport.Fetch(1); d[0].Experience.Sequence != 3 {
		t.Errorf("the first that arrives is number %d, want 3: the oldest are let go", d[0].Experience.Sequence)
	}
}

func TestWeightsThatDoNotFitAreRefused(t *testing.T) {
	from, to := newStudent(t, "cart", 1), newStudent(t, "cart", 2)
	sound := WeightsOf(from, 5)
	for _, c := range []struct {
		name   string
		change func(*Weights)
		want   error
	}{
		{"torn", func(w *Weights) { w.Data = w.Data[:100] }, ErrTorn},
		{"changed", func(w *Weights) { w.Data[3] ^= 1 }, ErrTorn},
		{"another version's", func(w *Weights) { w.Version = 6 }, ErrTorn},
		{"another service's", func(w *Weights) { w.Service = "ads"; w.Checksum = w.sum() }, ErrUnfit},
		{"of another architecture", func(w *Weights) { w.Data = w.Data[:400]; w.Checksum = w.sum() }, ErrUnfit},
		{"not finite", func(w *Weights) { copy(w.Data, []byte{0, 0, 0xc0, 0x7f}); w.Checksum = w.sum() }, ErrUnfit},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := sound
			w.Data = bytes.Clone(sound.Data)
			c.change(&w)
			before := bytes.Clone(WeightsOf(to, 1).Data)
			if err := to.Adopt(w); !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			if to.Version() != 0 || !bytes.Equal(before, WeightsOf(to, 1).Data) {
				t.Error("the student has changed")
			}
		})
	}
	transport := NewInProcess(1)
	if _, err := transport.Latest("cart"); !errors.Is(err, ErrNone) {
		t.Errorf("%v, want %v", err, ErrNone)
	}
	if err := transport.Put(sound); err != nil {
		t.Fatal(err)
	}
	got, err := transport.Latest("cart")
	if err != nil {
		t.Fatal(err)
	}
	if err := to.Adopt(got); err != nil || to.Version() != 5 || !bytes.Equal(WeightsOf(to, 5).Data, sound.Data) {
		t.Errorf("sound weights: %v, version %d", err, to.Version())
	}
	if err := to.Adopt(got); !errors.Is(err, ErrOutdate) {
		t.Errorf("the same again: %v, want %v", err, ErrOutdate)
	}
	if err := transport.Put(sound); !errors.Is(err, ErrOutdate) {
		t.Errorf("put again: %v, want %v", err, ErrOutdate)
	}
}
