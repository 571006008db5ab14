package drpc

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/loadline/loadline/internal/rl"
)

// fleet is a made-up application of three services. Each has a level that should be at 0; its
// third action moves it, the others have no effect. The common reward is their mean closeness.
type fleet struct {
	levels [services]float32
	steps  int
}

const services = 3

func (*fleet) Spaces() rl.Spaces {
	return rl.Spaces{Observation: services * 2, Dimensions: services * Axes}
}

func (f *fleet) Reset(rng *rand.Rand, observation []float32) {
	for i := range f.levels {
		f.levels[i] = float32(rng.IntN(7)-3) / 3
	}
	f.steps = 0
	f.see(observation)
}

func (f *fleet) see(observation []float32) {
	mean := float32(0)
	for _, l := range f.levels {
		mean += l / services
	}
	for i, l := range f.levels {
		observation[2*i], observation[2*i+1] = l, mean
	}
}

func (f *fleet) Step(action *rl.Action, observation []float32) rl.Result {
	away := 0.0
	for i := range f.levels {
		x := &action.Values[i*Axes+AxisHorizontal]
		step := float32(ChoiceOf(*x)-1) / 3
		if step == 0 {
			*x = 0
		}
		f.levels[i] = min(max(f.levels[i]+step, -2), 2)
		away += math.Abs(float64(f.levels[i])) / services
	}
	f.steps++
	f.see(observation)
	return rl.Result{Reward: 1 - away, Truncated: f.steps >= 10}
}

func small(kind Kind) TeacherConfig {
	c := DefaultTeacher(kind)
	c.Hidden, c.Replay, c.WarmUp, c.Batch, c.Rate, c.ActorRate, c.Discount = []int{32}, 5_000, 200, 32, 2e-3, 1e-3, 0.8
	c.Explore.Steps = 1_000
	return c
}

func train(t *testing.T, kind Kind, parts, steps int) (Teacher, rl.Evaluation) {
	t.Helper()
	world := &fleet{}
	teacher, err := NewTeacher(small(kind), world.Spaces(), parts, 1)
	if err != nil {
		t.Fatal(err)
	}
	training := rl.NewTraining(world, teacher, 1, rl.TrainingConfig{Steps: steps, EvaluateEvery: 500, Episodes: 20})
	if err := training.Run(t.Context(), rl.Hooks{}); err != nil {
		t.Fatal(err)
	}
	training.AdoptBest()
	return teacher, rl.Evaluate(world, teacher, 99, 50, 0)
}

// TestTeachersAttributeTheReward: there is one common reward, and a step of each service
// contributes a third of it.
func TestTeachersAttributeTheReward(t *testing.T) {
	for _, kind := range Kinds() {
		_, got := train(t, kind, services, 3_000)
		_, start := train(t, kind, services, 10)
		// A direct way, and then all at 0: about 9.2 of 10.
		if got.Mean() < 8.7 || got.Mean() < start.Mean()+2 {
			t.Errorf("%s: a return of %.2f, %.2f untaught; want 8.7", kind, got.Mean(), start.Mean())
		}
	}
}

func TestAPlainTeacherSeesEverythingAtOnce(t *testing.T) {
	teacher, err := NewTeacher(small(Discrete), (&fleet{}).Spaces(), 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	if n := teacher.Net().Outputs(); n != services*Axes*Choices {
		t.Errorf("%d outputs, want %d", n, services*Axes*Choices)
	}
}

func TestSameSeedSameWeights(t *testing.T) {
	for _, kind := range Kinds() {
		a, _ := train(t, kind, services, 400)
		b, _ := train(t, kind, services, 400)
		for i, w := range a.Weights() {
			if b.Weights()[i] != w {
				t.Fatalf("%s: weight %d is %v and %v", kind, i, w, b.Weights()[i])
			}
		}
	}
}

func TestTeachersCanBeSaved(t *testing.T) {
	for _, kind := range Kinds() {
		a, _ := train(t, kind, services, 300)
		b, err := NewTeacher(small(kind), (&fleet{}).Spaces(), services, 2)
		if err != nil {
			t.Fatal(err)
		}
		if err := rl.Restore(rl.Save(a), b); err != nil {
			t.Fatal(err)
		}
		if la, lb := a.Update(), b.Update(); la != lb || a.Remembered() != b.Remembered() {
			t.Errorf("%s: the next update's loss is %v and %v", kind, la, lb)
		}
	}
}

func TestWrongSettingsAreRefused(t *testing.T) {
	spaces := (&fleet{}).Spaces()
	bad := small(Discrete)
	bad.Batch, bad.Rate = 0, -1
	for name, f := range map[string]func() error{
		"a batch of none":      func() error { _, err := NewTeacher(bad, spaces, 1, 1); return err },
		"an unknown kind":      func() error { _, err := NewTeacher(TeacherConfig{Kind: "oracle"}, spaces, 1, 1); return err },
		"parts that do not go": func() error { _, err := NewTeacher(small(Continuous), spaces, 4, 1); return err },
		"branches likewise":    func() error { _, err := NewTeacher(small(Discrete), spaces, 4, 1); return err },
	} {
		if f() == nil {
			t.Errorf("%s: was accepted", name)
		}
	}
}
