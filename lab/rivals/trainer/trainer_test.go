package trainer

import (
	"bytes"
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/train"

	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/rl"
	"github.com/loadline/loadline/internal/workload"
	"github.com/loadline/loadline/lab/rivals"
)

func subject(t *testing.T, app string, peak float64) train.Scenario {
	t.Helper()
	m, err := apps.Load(app)
	if err != nil {
		t.Fatal(err)
	}
	w, _, err := workload.Open("day", workload.Options{Duration: 12 * time.Hour, Peak: peak, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	load, err := w.For(m.App)
	if err != nil {
		t.Fatal(err)
	}
	return train.Scenario{App: m.App, Load: load, Duration: w.Duration(), Source: "a test"}
}

// short is as little practice as shows something: with larger steps of learning than
// the rivals' own.
func short(rival rivals.Name, steps int) Config {
	c := Default(rival)
	c.Steps, c.Every, c.Episodes, c.Episode = steps, steps/4, 3, 20
	c.Table.Rate = 0.1
	c.DDPG.WarmUp, c.DDPG.Soft, c.DDPG.ActorRate = 200, 0.01, 1e-3
	c.SVM.Steps = 2_000
	if rival == rivals.FIRMName {
		c.Episode = 60
	}
	return c
}

// wave is a load that rises and falls: a fixed size has too little or too
// much.
type wave struct {
	low, high float64
	period    time.Duration
}

func (w wave) Rate(_ int, t time.Duration) (float64, time.Duration) {
	const step = 10 * time.Second
	phase := 2 * math.Pi * t.Truncate(step).Seconds() / w.period.Seconds()
	return w.low + (w.high-w.low)*(1-math.Cos(phase))/2, t.Truncate(step) + step
}

func TestTrainingBeatsNoChange(t *testing.T) {
	for _, c := range []struct {
		rival  rivals.Name
		period time.Duration
		steps  int
	}{{rivals.CoScalName, 2 * time.Hour, 2_000}, {rivals.FIRMName, 20 * time.Minute, 4_000},
		{rivals.ASARSAName, 30 * time.Minute, 4_000}} {
		t.Run(string(c.rival), func(t *testing.T) {
			t.Parallel()
			s := subject(t, "single", 600)
			s.Load = wave{100, 900, c.period}
			desired := 0
			model, report, err := Run(t.Context(), c.rival, s, short(c.rival, c.steps), Hooks{Point: func(Point) { desired++ }})
			if err != nil {
				t.Fatal(err)
			}
			idle, taught := report.Results[0], report.Results[1]
			t.Logf("reward %.3f, no change has %.3f; by DRPC's %.3f and %.3f; %v", taught.Reward, idle.Reward, taught.CommonReward,
				idle.CommonReward, report.Events)
			if taught.Reward <= idle.Reward {
				t.Errorf("reward %.3f, no change has %.3f", taught.Reward, idle.Reward)
			}
			if len(report.Curve) < 3 || desired != len(report.Curve) || model.Training.Samples < c.steps || report.Parameters == 0 {
				t.Errorf("%d points, %d told, %d samples, %d parameters", len(report.Curve), desired, model.Training.Samples,
					report.Parameters)
			}
		})
	}
}

// TestServicesShareATable: what two services learn of one state and action adds up,
// by hand, and neither's traces reach what only the other did.
func TestServicesShareATable(t *testing.T) {
	config := rl.DefaultTabular()
	config.Edges, config.Rate = rivals.Levels{3}.Edges(), 0.5
	values := make([]float32, 3*2)
	var agents [2]sharing
	for i := range agents {
		sarsa, err := rl.NewSARSA(config, rl.Spaces{Observation: 1, Choices: 2}, uint64(i))
		if err != nil {
			t.Fatal(err)
		}
		agents[i] = sharing{sarsa, values}
	}
	step := func(agent, state, choice int, reward float64, ends bool) {
		agents[agent].Learn(rl.Transition{
			Observation: []float32{float32(state)}, Action: rl.Action{Choice: choice}, Next: []float32{2},
			Result: rl.Result{Reward: reward, Terminated: ends},
		})
	}
	step(0, 0, 1, 0, false) // opens
	step(1, 1, 0, 1, true)  // Q(1, 0) = 0.5 * 1
	step(0, 1, 0, 1, true)
	// The first closes with 0.9*0.5: Q(0, 1) = 0.5*0.45 = 0.225. The second's error is
	// 1 - 0.5: Q(1, 0) = 0.5 + 0.25, and by the trace, 0.81, Q(0, 1) = 0.225 + 0.5*0.5*0.81.
	for i, want := range []float64{0, 0.4275, 0.75, 0, 0, 0} {
		if math.Abs(float64(values[i])-want) > 1e-6 {
			t.Errorf("value %d is %v, want %v", i, values[i], want)
		}
	}
}

func TestSameSeedSameModel(t *testing.T) {
	for _, rival := range rivals.Names() {
		t.Run(string(rival), func(t *testing.T) {
			t.Parallel()
			var files [2]bytes.Buffer
			for i := range files {
				model, _, err := Run(t.Context(), rival, subject(t, "bookinfo", 100), short(rival, 400), Hooks{})
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
			}
			if !bytes.Equal(files[0].Bytes(), files[1].Bytes()) {
				t.Error("two models of one seed")
			}
		})
	}
}

func TestInvalidConfigsAreRejected(t *testing.T) {
	s := subject(t, "single", 100)
	s.Duration = 20 * time.Second
	for _, rival := range rivals.Names() {
		if _, _, err := Run(t.Context(), rival, s, short(rival, 100), Hooks{}); err == nil {
			t.Errorf("%s: a load of %v was accepted", rival, s.Duration)
		}
	}
	if _, _, err := Run(t.Context(), rivals.CoScalName, subject(t, "single", 100), Config{}, Hooks{}); err == nil {
		t.Error("no steps were accepted")
	}
	if _, _, err := Run(t.Context(), "oracle", subject(t, "single", 100), short("oracle", 100), Hooks{}); err == nil {
		t.Error("an unknown rival was accepted")
	}
}

func TestTrainingCanBeInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, _, err := Run(ctx, rivals.ASARSAName, subject(t, "single", 100), short(rivals.ASARSAName, 4_000),
		Hooks{Point: func(Point) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
}
