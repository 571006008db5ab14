package drpc

import (
	"testing"
	"time"

	"github.com/loadline/loadline/internal/rl"
)

// stream is the messages of a fleet of the shop.
type stream struct {
	join      *Join
	numbers   map[string]uint64
	snapshots uint64
}

func newStream() *stream {
	return &stream{join: NewJoin(shop(), 30*time.Second), numbers: map[string]uint64{}}
}

// at is the given number of seconds after noon.
func at(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }

func (s *stream) did(service string, seconds int, x float32) {
	s.numbers[service]++
	s.join.AddExperience(&Experience{Service: service, Epoch: 1, Sequence: s.numbers[service], At: at(seconds),
		Action: Action{AxisHorizontal: x}})
}

func (s *stream) saw(seconds int) {
	s.snapshots++
	s.join.AddSnapshot(Snapshot{Epoch: 1, Sequence: s.snapshots, At: at(seconds), Scored: true, Score: Score{Reward: float64(seconds)}})
}

func (s *stream) all(seconds int, x float32) {
	for _, service := range []string{"front", "cart", "ads"} {
		s.did(service, seconds, x)
	}
}

func (s *stream) next(t *testing.T, want bool) (reward float64, done [3]float32) {
	t.Helper()
	actions := make([]float32, 3*Axes)
	_, to, ok := s.join.Next(actions)
	if ok != want {
		t.Fatalf("complete: %v, want %v; %+v", ok, want, s.join)
	}
	for i := range done {
		done[i] = actions[i*Axes+AxisHorizontal]
	}
	return to.Score.Reward, done
}

// TestJoinGoesByClocks: an action between two snapshots belongs to their period, in whatever
// order it arrives, and a period waits for every student.
func TestJoinGoesByClocks(t *testing.T) {
	s := newStream()
	s.saw(0)
	s.saw(30)
	s.saw(60)
	s.did("front", 0, 0.75)
	s.did("front", 10, 0.75) // more than one action can do
	s.did("cart", 20, -1)
	s.next(t, false)
	s.did("front", 40, 0.6)
	s.did("cart", 35, 0)
	s.next(t, false) // an action of ads may still arrive
	s.did("ads", 30, 1)
	if r, done := s.next(t, true); r != 30 || done != [3]float32{1, -1, 0} {
		t.Errorf("reward %v, done %v", r, done)
	}
	s.next(t, false)
	// Saved here, another join continues with it.
	again := newStream()
	if err := rl.Restore(rl.Save(s.join), again.join); err != nil {
		t.Fatal(err)
	}
	again.numbers, again.snapshots = s.numbers, s.snapshots
	again.all(60, 0)
	if r, done := again.next(t, true); r != 60 || done != [3]float32{0.6, 0, 1} {
		t.Errorf("reward %v, done %v", r, done)
	}
	if j := again.join; j.Late+j.Incomplete+j.Broken != 0 {
		t.Errorf("%+v", j)
	}
}

// TestWhatIsNotKnownIsLeftOut: periods with missing messages are not learned from.
func TestWhatIsNotKnownIsLeftOut(t *testing.T) {
	for _, c := range []struct {
		name   string
		happen func(s *stream)
		want   func(j *Join) bool
	}{
		{"a snapshot was lost", func(s *stream) { s.snapshots++; s.saw(30) }, func(j *Join) bool { return j.Broken == 1 }},
		{"the next came much later", func(s *stream) { s.saw(300) }, func(j *Join) bool { return j.Broken == 1 }},
		{"its worth was not measured", func(s *stream) { s.saw(30); s.join.snapshots[1].Scored = false },
			func(j *Join) bool { return j.Broken == 1 }},
		{"a decision was let go", func(s *stream) {
			s.all(5, 1)
			s.numbers["cart"]++
			s.saw(30)
			s.all(35, 0)
		}, func(j *Join) bool { return j.Incomplete == 1 && j.Silent == "cart" }},
		{"a student's process was killed", func(s *stream) {
			s.all(5, 1)
			s.join.AddExperience(&Experience{Service: "cart", Epoch: 2, Sequence: 1, At: at(40)})
			s.saw(30)
			s.did("front", 35, 0)
			s.did("ads", 35, 0)
		}, func(j *Join) bool { return j.Incomplete == 1 && j.Silent == "cart" }},
		{"a student is silent", func(s *stream) {
			s.saw(30)
			for i := range 3 * patience {
				s.did("front", 30+10*i, 0)
				s.did("ads", 30+10*i, 0)
			}
		}, func(j *Join) bool { return j.Incomplete == 1 && j.Silent == "cart" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStream()
			s.saw(0)
			c.happen(s)
			s.next(t, false)
			if !c.want(s.join) {
				t.Errorf("%+v", s.join)
			}
		})
	}
}

// TestWhatWaitsIsBounded, even if a sender is gone.
func TestWhatWaitsIsBounded(t *testing.T) {
	s := newStream()
	for i := range 2 * maxSnapshots {
		s.saw(30 * i)
	}
	for i := range 2 * maxDecisions {
		s.all(30*maxSnapshots+i, 1)
	}
	if len(s.join.snapshots) > maxSnapshots || len(s.join.decisions) > 3*maxDecisions || s.join.Incomplete == 0 || s.join.Late == 0 {
		t.Errorf("%d snapshots and %d decisions wait; %d and %d let go", len(s.join.snapshots), len(s.join.decisions), s.join.Incomplete,
			s.join.Late)
	}
}
