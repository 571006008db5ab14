package trainer

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/policy/drpc"
)

// kinds of requests that come evenly, one after the other.
type evenly struct{}

func (evenly) Rate(kind int, t time.Duration) (float64, time.Duration) {
	return float64(10 * (kind + 1)), t + time.Minute
}

func TestAnotherMixHasAsManyRequests(t *testing.T) {
	m := mixed{evenly{}, drpc.Mix{0.5, 0.2, 0.3}}
	for kind, want := range []float64{30, 12, 18} {
		if got, until := m.Rate(kind, time.Hour); got != want || until != time.Hour+time.Minute {
			t.Errorf("kind %d: %v until %v, want %v", kind, got, until, want)
		}
	}
}

// taught is a small model of bookinfo.
func taught(t *testing.T) *drpc.Model {
	t.Helper()
	model, _, err := Run(t.Context(), subject(t), tiny(), Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	return model
}

// TestAReopenedTrainerDecidesAsItsModel: warming up changes what it knows and
// nothing of what it does, and what it is shown of a cluster it learns from.
func TestAReopenedTrainerDecidesAsItsModel(t *testing.T) {
	m := taught(t)
	c := tiny()
	s, err := Reopen(subject(t), c, m, 100, Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	if !s.Busy() {
		t.Error("it has nothing to do")
	}
	if err := s.Work(t.Context()); err != nil {
		t.Fatal(err)
	}
	now, err := s.Model()
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range m.Teacher.Params() {
		if now.Teacher.Params()[i] != w {
			t.Fatalf("weight %d is %v after warming up, was %v", i, now.Teacher.Params()[i], w)
		}
	}
	if s.teacher.Remembered() < 100 || s.Best() == 0 {
		t.Errorf("%d remembered, best %v", s.teacher.Remembered(), s.Best())
	}

	view := drpc.View{Machines: []drpc.Machine{{CPU: 0.5, Memory: 0.5, Known: true}}}
	for range s.students {
		view.Locals = append(view.Locals, drpc.Local{1, 1, 1, 1, 1})
		view.Besides = append(view.Besides, [3]float32{})
	}
	var why []drpc.Reason
	for i := range c.Notifier.Rewards {
		if len(why) > 0 {
			t.Fatalf("called after %d: %v", i, why)
		}
		why = s.AddExperience(&view, &view, drpc.Mix{1}, make([]float32, drpc.Axes*len(s.students)), 0.9)
	}
	if len(why) != 1 || why[0].Name != "reward" {
		t.Fatalf("%v, want the reward: it is below 2", why)
	}
	if err := s.Retrain(why, drpc.Mix{1}); err != nil {
		t.Fatal(err)
	}
	// Saved in the middle of stage 1 and taken up by another process.
	data := s.Save()
	again, err := Reopen(subject(t), c, m, 100, Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Restore(data); err != nil {
		t.Fatal(err)
	}
	for _, one := range []*Trainer{s, again} {
		if err := one.Work(t.Context()); err != nil {
			t.Fatal(err)
		}
		events := one.report.Events
		if n := len(events); n < 2 || len(events[n-2].Reasons) != 1 || events[n-2].Before < 0.89 || events[n-2].After == 0 {
			t.Errorf("%v", events)
		}
	}
	if a, b := s.teacher.Weights(), again.teacher.Weights(); a[0] != b[0] || s.Best() != again.Best() {
		t.Errorf("taken up it came to %v, else %v", again.Best(), s.Best())
	}
}

func TestATrainerReopensOnItsOwnServicesOnly(t *testing.T) {
	m := taught(t)
	other := subject(t)
	app := *other.App
	app.Services = append([]loadline.Service(nil), app.Services...)
	app.Services[0].Name = "frontpage"
	other.App = &app
	if _, err := Reopen(other, tiny(), m, 10, Hooks{}); err == nil {
		t.Error("an application of another service was accepted")
	}
	c := tiny()
	c.Teacher.Hidden = []int{8}
	if _, err := Reopen(subject(t), c, m, 10, Hooks{}); err == nil {
		t.Error("another network was accepted")
	}
}

// awake is a reopened trainer that listens.
func awake(t *testing.T) *Trainer {
	t.Helper()
	s, err := Reopen(subject(t), tiny(), taught(t), 40, Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Work(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestWorseStudentsAreDiscarded: students that have lost by going back to stage 1 are again
// what they were, and so is their teacher.
func TestWorseStudentsAreDiscarded(t *testing.T) {
	s := awake(t)
	before, version := s.everyWeight(), s.version
	teacher := slices.Clone(s.teacher.Weights())
	if err := s.Retrain([]drpc.Reason{{Name: "novelty", Value: 1, Limit: 0.3}}, nil); err != nil {
		t.Fatal(err)
	}
	s.former.reward = 2 // which cannot be reached
	if err := s.Work(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(s.everyWeight(), before) || !slices.Equal(s.teacher.Weights(), teacher) || s.version != version {
		t.Error("they are not what they were")
	}
	last := s.report.Events[len(s.report.Events)-1]
	if !strings.Contains(last.What, "what they learned is left") || last.After != 2 || s.Busy() {
		t.Errorf("%v", last)
	}
}

// TestEvaluated: a teacher that has gained teaches, one that has lost much goes back,
// and one in between goes on.
func TestEvaluated(t *testing.T) {
	s := awake(t)
	reward, gained, lost := s.Evaluate()
	if gained || lost || reward != s.Best() {
		t.Fatalf("%v at %v: gained %v, lost %v", reward, s.Best(), gained, lost)
	}
	s.training.KeepBest(reward + 1)
	best := slices.Clone(s.teacher.Weights())
	s.teacher.Weights()[0]++
	if _, gained, lost = s.Evaluate(); gained || !lost || !slices.Equal(s.teacher.Weights(), best) {
		t.Errorf("gained %v, lost %v, or it is not at its best", gained, lost)
	}
	s.training.KeepBest(reward - 1)
	version := s.version
	if _, gained, lost = s.Evaluate(); !gained || lost || !s.Busy() {
		t.Fatalf("gained %v, lost %v", gained, lost)
	}
	if err := s.Work(t.Context()); err != nil {
		t.Fatal(err)
	}
	if last := s.report.Events[len(s.report.Events)-1]; !strings.Contains(last.What, "has gained") || s.version != version+1 ||
		s.Best() != reward {
		t.Errorf("%v, version %d, best %v", last, s.version, s.Best())
	}
}

// TestUntrainableStudentsStartAgain: weights that are all nothing cannot learn.
func TestUntrainableStudentsStartAgain(t *testing.T) {
	s := awake(t)
	params := s.students[0].Net().Params()
	clear(params)
	for axis := range drpc.Axes {
		params[len(params)-1-axis] = -100
	}
	s.beginDistillation("", 0, acting)
	if err := s.Work(t.Context()); err != nil {
		t.Fatal(err)
	}
	if wrong := s.compare(evaluationStream)[0].Error; wrong > hopeless {
		t.Errorf("it is still %.2f from its teacher", wrong)
	}
}
