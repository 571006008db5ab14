package trainer

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/train"

	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/rl"
	"github.com/loadline/loadline/internal/workload"
)

func subject(t *testing.T) train.Scenario {
	t.Helper()
	m, err := apps.Load("bookinfo")
	if err != nil {
		t.Fatal(err)
	}
	w, _, err := workload.Open("day", workload.Options{Duration: 4 * time.Hour, Peak: 100, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	load, err := w.For(m.App)
	if err != nil {
		t.Fatal(err)
	}
	return train.Scenario{App: m.App, Load: load, Duration: w.Duration(), Source: "a test"}
}

// short is the shortest training that has all phases.
func short(kind drpc.Kind) Config {
	c := Default(kind)
	c.Teacher.Hidden, c.Teacher.WarmUp, c.Teacher.Batch, c.Teacher.Explore.Steps = []int{32, 32}, 80, 16, 600
	c.Episode = 20
	c.Stage1 = Stage1{Steps: 1_000, Every: 200, Episodes: 2, Patience: 3, Gain: 0.01, Imitation: 0.3, Refresh: 200}
	c.Distil = Distillation{Episodes: 8, Batches: 300}
	c.Stage2.Steps = 60
	return c
}

func TestTrainingBeatsNoChange(t *testing.T) {
	c := short(drpc.Continuous)
	c.Stage1.Steps, c.Forecast = 1_600, false
	model, report, err := Run(t.Context(), subject(t), c, Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	taught, students := report.Results[1], report.Results[2]
	if taught.QoS < 0.97 || students.QoS < 0.97 || taught.Reward < 0.88 || students.Reward < 0.85 {
		t.Errorf("%+v", report.Results)
	}
	if len(report.Curve) < 3 || len(report.Episodes) < 10 || len(report.Events) < 2 || len(report.Imitation) != len(model.Services) {
		t.Errorf("%d points, %d episodes, %d events, %d students", len(report.Curve), len(report.Episodes), len(report.Events),
			len(report.Imitation))
	}
	if report.Parameters.Student != 643 || report.Carried.Decisions == 0 || report.Carried.Lost != 0 {
		t.Errorf("%+v, %+v", report.Parameters, report.Carried)
	}
	if each := float64(report.Carried.Bytes) / float64(report.Carried.Decisions); each > 1_000 {
		t.Errorf("%.0f bytes a decision", each)
	}
}

func TestSameSeedSameModel(t *testing.T) {
	c := short(drpc.Continuous)
	c.Stage1.Steps, c.Stage1.Every = 300, 150
	var files [2]bytes.Buffer
	var events [2][]Event
	for i := range files {
		model, report, err := Run(t.Context(), subject(t), c, Hooks{})
		if err != nil {
			t.Fatal(err)
		}
		file, err := model.File()
		if err != nil {
			t.Fatal(err)
		}
		if err := file.Encode(&files[i]); err != nil {
			t.Fatal(err)
		}
		events[i] = report.Events
	}
	if !bytes.Equal(files[0].Bytes(), files[1].Bytes()) {
		t.Errorf("two models of one seed; events %v and %v", events[0], events[1])
	}
}

// TestTheNotifierCallsBackToStage1: with a threshold that cannot be reached, stage 2
// ends as soon as the ring is full, for a reason that is recorded.
func TestTheNotifierCallsBackToStage1(t *testing.T) {
	c := short(drpc.Continuous)
	c.Forecast, c.Stage1.Steps, c.Stage2.Steps = false, 200, 100
	c.Notifier = drpc.NotifierConfig{Rewards: 10, Threshold: 2}
	_, report, err := Run(t.Context(), subject(t), c, Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	back := 0
	for _, e := range report.Events {
		if len(e.Reasons) == 1 && e.Reasons[0].Name == "reward" && e.Reasons[0].Limit == 2 {
			back++
		}
	}
	if back < 2 {
		t.Errorf("%v", report.Events)
	}
}

func TestActionsBecomeWhatWasApplied(t *testing.T) {
	s := subject(t)
	c := Default(drpc.Continuous)
	w, err := NewEnv(EnvConfig{
		Scenario: s, Shape: drpc.Plain, Period: c.Period, Beat: c.Pace.Least, Steps: 5, Scale: c.Steps, Reward: c.Reward,
	})
	if err != nil {
		t.Fatal(err)
	}
	if w.Spaces().Observation != len(s.App.Services)*drpc.Locals+2*len(s.App.Nodes) || w.Parts() != 1 {
		t.Errorf("%+v in %d parts", w.Spaces(), w.Parts())
	}
	observation, action := make([]float32, w.Spaces().Observation), w.Spaces().NewAction()
	w.Reset(rl.NewRNG(1, 1).Rand, observation)
	before := w.Situation().InFlight[0].Replicas
	for i := range action.Values {
		action.Values[i] = 0.4
	}
	action.Values[drpc.AxisHorizontal] = 1
	r := w.Step(&action, observation)
	for i, v := range action.Values {
		want := float32(0)
		if i == drpc.AxisHorizontal {
			want = 1
		}
		if v != want {
			t.Errorf("action %d is %v, want %v", i, v, want)
		}
	}
	if w.Situation().InFlight[0].Replicas != before+1 || r.Truncated || r.Reward <= 0 || r.Reward > 1 {
		t.Errorf("%d replicas after %d, %+v", w.Situation().InFlight[0].Replicas, before, r)
	}
}

func TestALoadThatIsTooShortIsRefused(t *testing.T) {
	s := subject(t)
	s.Duration = time.Minute
	if _, _, err := Run(t.Context(), s, short(drpc.Continuous), Hooks{}); err == nil {
		t.Error("was accepted")
	}
	c := short(drpc.Continuous)
	c.Episode, c.Stage1.Every, c.Pace.Tolerance = 0, 0, 0
	if _, _, err := Run(t.Context(), subject(t), c, Hooks{}); err == nil {
		t.Error("was accepted")
	}
}

func TestTrainingCanBeInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := short(drpc.Discrete)
	c.Forecast = false
	_, _, err := Run(ctx, subject(t), c, Hooks{Point: func(Point) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
}
