package drpc

import (
	"testing"

	"github.com/loadline/loadline/internal/rl"
)

func newStudent(t testing.TB, service string, seed uint64) *Student {
	t.Helper()
	s, err := NewStudent(service, StudentConfig(), seed)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAStudentHasAsManyParametersAsThePaperSays(t *testing.T) {
	if n := newStudent(t, "cart", 1).Net().Size(); n != 643 {
		t.Errorf("%d parameters, want 643", n)
	}
}

// TestAStudentLearnsARule: add a replica if the load is high, remove one if it is low, more
// memory where it is scarce.
func TestAStudentLearnsARule(t *testing.T) {
	s := newStudent(t, "cart", 1)
	rng := rl.NewRNG(1, 1)
	state := func() (l Local, want Action) {
		for i := range l {
			l[i] = 2 * rng.Float32()
		}
		switch {
		case l[0] > 1.2:
			want[AxisHorizontal] = 1
		case l[0] < 0.5:
			want[AxisHorizontal] = -1
		}
		if l[3] > 1 {
			want[AxisMemory] = 1
		}
		return l, want
	}
	for range 2_000 {
		l, want := state()
		s.Remember(&l, want[:])
	}
	first := s.Train(1)
	s.Train(3_000)
	wrong := 0.0
	var got Action
	const tries = 500
	for range tries {
		l, want := state()
		s.Decide(&l, &got)
		for axis := range got {
			if ChoiceOf(got[axis]) != ChoiceOf(want[axis]) {
				wrong += 1.0 / (tries * Axes)
			}
		}
	}
	if last := s.Train(1); wrong > 0.05 || last > first/5 {
		t.Errorf("%.1f %% of actions are wrong; the loss went from %.3f to %.3f", 100*wrong, first, last)
	}
}

func TestDecidingDoesNotAllocate(t *testing.T) {
	s := newStudent(t, "cart", 1)
	local := Local{0.5, 0.5, 0.7, 0.8, 0.3}
	var action Action
	if n := testing.AllocsPerRun(100, func() { s.Decide(&local, &action) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkStudentDecides(b *testing.B) {
	s := newStudent(b, "cart", 1)
	local := Local{0.5, 0.5, 0.7, 0.8, 0.3}
	var action Action
	b.ReportAllocs()
	for b.Loop() {
		s.Decide(&local, &action)
	}
}
