package rl_test

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/crc64"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/rl"
)

// counter is an environment that shows how many steps an episode has had, rewards each by 1,
// and never ends. For choice 1 it applies 0.
type counter struct{ steps int }

func (c *counter) Spaces() rl.Spaces { return rl.Spaces{Observation: 1, Choices: 2} }

func (c *counter) Reset(_ *rand.Rand, observation []float32) { c.steps, observation[0] = 0, 0 }

func (c *counter) Step(action *rl.Action, observation []float32) rl.Result {
	c.steps++
	observation[0], action.Choice = float32(c.steps), 0
	return rl.Result{Reward: 1}
}

// listener is an agent that always chooses 1 and records its transitions.
type listener struct {
	heard   []rl.Transition
	weights []float32
}

func (l *listener) Decide(_ []float32, action *rl.Action)  { action.Choice = 1 }
func (l *listener) Explore(o []float32, action *rl.Action) { l.Decide(o, action) }
func (l *listener) Weights() []float32                     { return l.weights }
func (l *listener) Archive(a *rl.Archive)                  { a.Floats(l.weights) }
func (l *listener) Learn(t rl.Transition) (float64, bool) {
	t.Observation, t.Next = slices.Clone(t.Observation), slices.Clone(t.Next)
	l.heard = append(l.heard, t)
	l.weights[0]++
	return float64(len(l.heard)), true
}

func TestTheAgentLearnsFromWhatWasApplied(t *testing.T) {
	agent := &listener{weights: make([]float32, 1)}
	training := rl.NewTraining(&counter{}, agent, 1, rl.TrainingConfig{Steps: 10, LongestEpisode: 4, EvaluateEvery: 4, Episodes: 1})
	if err := training.Run(context.Background(), rl.Hooks{}); err != nil {
		t.Fatal(err)
	}
	if len(agent.heard) != 10 {
		t.Fatalf("%d steps, want 10", len(agent.heard))
	}
	for i, h := range agent.heard {
		cut := i == 3 || i == 7 || i == 9 // by the longest episode, and by the end of the steps
		if h.Observation[0] != float32(i%4) || h.Next[0] != float32(i%4+1) || h.Truncated != cut || h.Terminated {
			t.Errorf("step %d: %+v", i, h)
		}
		if h.Action.Choice != 0 {
			t.Errorf("step %d: heard of what was asked for, not of what was applied", i)
		}
	}
	want := []rl.Point{{4, 1, 4, 1, 2.5, 4}, {8, 2, 4, 1, 6.5, 4}, {10, 3, 2, 1, 9.5, 4}}
	if got := training.Curve(); !slices.Equal(got, want) {
		t.Errorf("curve %v, want %v", got, want)
	}
}

func TestTrainingEndsWhenItIsGoodEnough(t *testing.T) {
	enough := 4.0
	agent := &listener{weights: make([]float32, 1)}
	training := rl.NewTraining(&counter{}, agent, 1, rl.TrainingConfig{Steps: 1_000, LongestEpisode: 4, EvaluateEvery: 10, Episodes: 2,
		GoodEnough: &enough})
	if err := training.Run(context.Background(), rl.Hooks{}); err != nil {
		t.Fatal(err)
	}
	if training.Steps() != 12 || training.Best() != 4 {
		t.Errorf("best %v after %d steps, want 4 after 12", training.Best(), training.Steps())
	}
	agent.weights[0] = 99
	training.AdoptBest()
	if agent.weights[0] != 12 {
		t.Errorf("adopted the weights %v, want those of the evaluation", agent.weights)
	}
}

func TestTrainingReportsItsProgress(t *testing.T) {
	now := time.Unix(0, 0)
	var reports []rl.Progress
	var points int
	training := rl.NewTraining(&counter{}, &listener{weights: make([]float32, 1)}, 1, rl.TrainingConfig{Steps: 2_048, LongestEpisode: 100})
	err := training.Run(context.Background(), rl.Hooks{
		Now:        func() time.Time { now = now.Add(time.Second); return now },
		Progress:   func(p rl.Progress) { reports = append(reports, p) },
		EveryPoint: func(rl.Point) { points++ },
	})
	if err != nil || len(reports) != 4 || points != 1 {
		t.Fatalf("%v; reports %d times of progress, want 4, and of %d points, want 1", err, len(reports), points)
	}
	p := reports[1] // after 1,024 steps and two seconds of that clock
	if p.Steps != 1_024 || p.Of != 2_048 || p.Episodes != 10 || p.Return != 100 || p.StepsPerSecond != 512 || p.Left != 2*time.Second ||
		!math.IsNaN(p.Evaluation) {
		t.Errorf("%+v", p)
	}
}

func TestTrainingStopsWhenAsked(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	training := rl.NewTraining(&counter{}, &listener{weights: make([]float32, 1)}, 1, rl.TrainingConfig{Steps: 1_000, LongestEpisode: 10})
	err := training.Run(ctx, rl.Hooks{AtEpisode: func(t *rl.Training) { cancel() }})
	if !errors.Is(err, context.Canceled) || training.Steps() != 10 {
		t.Errorf("%v after %d steps, want to stop after the episode's 10", err, training.Steps())
	}
}

func TestEvaluation(t *testing.T) {
	e := rl.Evaluate(&counter{}, &listener{}, 1, 3, 7)
	if e.Mean() != 7 || e.Deviation() != 0 || !slices.Equal(e.Lengths, []int{7, 7, 7}) {
		t.Errorf("%+v", e)
	}
}

// scored is a trainee of two agents with given evaluations; its episodes have four steps.
type scored struct {
	weights [2][]float32
	scores  []float64
	fail    error
}

func (s *scored) Explore(e *rl.Episode) error {
	for range 4 {
		e.Step()
		e.Reward(0.5)
		e.Learned(1, true)
		s.weights[0][0]++
		s.weights[1][0]--
	}
	return s.fail
}

func (s *scored) Evaluate(uint64, rl.TrainingConfig) (float64, error) {
	score := s.scores[0]
	if len(s.scores) > 1 {
		s.scores = s.scores[1:]
	}
	return score, nil
}

func (s *scored) Weights() [][]float32 { return s.weights[:] }

func newScored(scores ...float64) *scored {
	return &scored{weights: [2][]float32{make([]float32, 1), make([]float32, 1)}, scores: scores}
}

func TestTrainingEndsWhenItHasLevelledOff(t *testing.T) {
	s := newScored(1, 2, 2.05, 1.5, 1.9)
	config := rl.TrainingConfig{Steps: 1_000, WholeEpisodes: true, EvaluateEvery: 6, EvenlySpaced: true, Episodes: 1, Patience: 3,
		Gain: 0.1}
	training := rl.NewTrainingOf(s, 1, config)
	if err := training.Run(t.Context(), rl.Hooks{}); err != nil {
		t.Fatal(err)
	}
	// Evaluated every 8 steps, the first episode ends after 6: 2.05 is the best, and no
	// improvement over 2.
	if training.Steps() != 40 || training.Plateau() != 40 || training.Best() != 2.05 || !training.LevelledOff() {
		t.Errorf("%d steps, plateau at %d, best %v", training.Steps(), training.Plateau(), training.Best())
	}
	if training.AdoptBest(); s.weights[0][0] != 24 || s.weights[1][0] != -24 {
		t.Errorf("weights %v, want those after 24 steps", s.weights)
	}
}

func TestWholeEpisodesAreNotCutOff(t *testing.T) {
	for spaced, want := range map[bool][]int{false: {8, 12, 16}, true: {8, 16}} {
		training := rl.NewTrainingOf(newScored(1), 1, rl.TrainingConfig{Steps: 14, WholeEpisodes: true, EvaluateEvery: 6,
			EvenlySpaced: spaced, Episodes: 1})
		if err := training.Run(t.Context(), rl.Hooks{}); err != nil {
			t.Fatal(err)
		}
		var at []int
		for _, p := range training.Curve() {
			at = append(at, p.Steps)
		}
		if !slices.Equal(at, want) {
			t.Errorf("evenly spaced %v: evaluated at %v, want %v", spaced, at, want)
		}
	}
	training := rl.NewTrainingOf(newScored(1), 1, rl.TrainingConfig{Steps: 3, WholeEpisodes: true, Episodes: 1})
	training.Advance(3) // all steps were taken elsewhere
	if err := training.Run(t.Context(), rl.Hooks{}); err != nil || training.Steps() != 7 || len(training.Curve()) != 1 {
		t.Errorf("%d steps, %v, want one episode", training.Steps(), err)
	}
}

// others explore for five steps and keep the first random number of each episode.
type others struct{ drawn []float64 }

func (o *others) Explore(e *rl.Episode) error {
	o.drawn = append(o.drawn, e.Rand.Float64())
	for range 5 {
		e.Step()
		e.Reward(1)
	}
	return nil
}

func TestTrainingRestarts(t *testing.T) {
	const otherStream = 7 << 32
	var o others
	s := newScored(3, 1, 2)
	training := rl.NewTrainingOf(s, 1, rl.TrainingConfig{Steps: 4, WholeEpisodes: true, EvaluateEvery: 4, EvenlySpaced: true, Episodes: 1})
	for range 2 {
		if err := training.Run(t.Context(), rl.Hooks{}); err != nil {
			t.Fatal(err)
		}
		points := len(training.Curve())
		for range 2 {
			first := training.Episodes()
			if err := training.Explore(&o, otherStream); err != nil {
				t.Fatal(err)
			}
			if got, want := o.drawn[len(o.drawn)-1], rl.NewRNG(1, otherStream+uint64(first)).Float64(); got != want {
				t.Errorf("episode %d drew %v, its stream begins with %v", first, got, want)
			}
		}
		if len(training.Curve()) != points {
			t.Error("an episode of others was evaluated")
		}
		training.Restart(8)
	}
	if training.Steps() != 32 || training.Episodes() != 7 || training.Done() {
		t.Errorf("%d steps in %d episodes", training.Steps(), training.Episodes())
	}
	if err := training.Run(t.Context(), rl.Hooks{}); err != nil || training.Best() != 2 {
		t.Errorf("best %v, %v: scores before the restart count", training.Best(), err)
	}
}

func TestTrainingPassesOnFaults(t *testing.T) {
	s := newScored(1)
	s.fail = errors.New("no such service")
	training := rl.NewTrainingOf(s, 1, rl.TrainingConfig{Steps: 10})
	if err := training.Run(t.Context(), rl.Hooks{}); !errors.Is(err, s.fail) {
		t.Errorf("%v, want %v", err, s.fail)
	}
}

// FuzzRestore: restoring any checkpoint never panics. The checksum is corrected, since a fuzzer
// would not get past it.
func FuzzRestore(f *testing.F) {
	training := countingTraining(f)
	if err := training.Run(context.Background(), rl.Hooks{}); err != nil {
		f.Fatal(err)
	}
	saved := training.Save()
	f.Add(saved[:len(saved)-8])
	f.Add(saved[:50])
	f.Fuzz(func(t *testing.T, body []byte) {
		sealed := binary.LittleEndian.AppendUint64(slices.Clone(body), crc64.Checksum(body, crc64.MakeTable(crc64.ECMA)))
		_ = countingTraining(t).Restore(sealed)
	})
}
