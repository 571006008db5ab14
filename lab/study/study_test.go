package study

import (
	"bytes"
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/loadline/loadline/internal/rl"
)

func spec() Spec {
	return Spec{
		Task: Tasks()[2], Agent: "q:explore=0.2,rate=0.3", Vary: []Axis{{"bins", []string{"1", "3"}},
			{"discount", []string{"0", "0.5"}}},
		Seeds: 2, Seed: 1, Parallel: 2, Training: rl.TrainingConfig{Steps: 1_000, EvaluateEvery: 250, Episodes: 5},
	}
}

func TestRunFindsTheBetterSetting(t *testing.T) {
	r, err := Run(context.Background(), spec())
	if err != nil {
		t.Fatal(err)
	}
	if r.Runs != 8 || r.Finished != 8 || len(r.Cells) != 4 || len(r.Cells[3].Outcomes) != 2 {
		t.Fatalf("%d of %d runs, %d cells", r.Finished, r.Runs, len(r.Cells))
	}
	if name := r.Cells[1].Values(); name != "1, 0.5" {
		t.Errorf("the second cell is %s", name)
	}
	best := r.Ranked()[0]
	if best.Settings[0].Value != "3" || best.Mean() != 100 {
		t.Errorf("the best is %s with %v", best.Values(), best.Mean())
	}
	if solved, after := best.SolvedAfter(); solved != 2 || after < 200 || after > 1_000 {
		t.Errorf("solved by %d after %d steps", solved, after)
	}
	steps, evaluations, _ := r.MeanCurve(best)
	if len(steps) != 4 || steps[3] != 1_000 || evaluations[3] != 100 {
		t.Errorf("mean curve %v, %v", steps, evaluations)
	}
}

func TestInterruptedStudyKeepsWhatHasFinished(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	s := spec()
	s.Parallel = 1
	s.Progress = func(p Progress) {
		if p.Finished == 3 {
			cancel()
		}
	}
	r, err := Run(ctx, s)
	if !errors.Is(err, context.Canceled) || r == nil {
		t.Fatalf("%v, %v", r, err)
	}
	if r.Finished != 3 || r.Runs != 8 || len(r.Ranked()) != 2 {
		t.Errorf("%d of %d runs, %d cells with some", r.Finished, r.Runs, len(r.Ranked()))
	}
	var text, json, csv bytes.Buffer
	if err := errors.Join(r.WriteText(&text), r.WriteJSON(&json), r.WriteCSV(&csv)); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(csv.String(), "\n"); n != 1+3*4 {
		t.Errorf("%d lines of CSV, want 13", n)
	}
}

func TestFaultsAreFoundBeforeAnythingRuns(t *testing.T) {
	s := spec()
	s.Task.Solved = math.NaN()
	s.Agent = "q:explor=1,rate"
	if _, err := Run(context.Background(), s); err == nil || !strings.Contains(err.Error(), `"rate" must be key=value`) {
		t.Error(err)
	}
	s.Agent = "q:explor=1"
	s.Vary = []Axis{{"rate", []string{"0.1", "7", "x"}}}
	_, err := Run(context.Background(), s)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{`unknown setting "explor"`, "rate=x: must be a number"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	s.Agent, s.Task = "td3", Tasks()[0]
	s.Vary = nil
	if _, err := Run(context.Background(), s); err == nil {
		t.Error("studied TD3 on choices")
	}
	for _, bad := range []string{"", "rate", "=1", "rate="} {
		if _, err := ParseAxis(bad); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

// TestEveryKindLearnsItsIdentity: every agent listed in the help works with its defaults.
func TestEveryKindLearnsItsIdentity(t *testing.T) {
	for _, k := range Kinds() {
		s := spec()
		s.Agent, s.Vary, s.Seeds, s.Training.Steps = k.Name, nil, 1, 3_000
		settings := map[string]string{"dqn": ":hidden=16",
			"td3":  ":hidden=16x16,batch=32,discount=0.5,actor-rate=1e-3,critic-rate=1e-3",
			"ddpg": ":hidden=16x16,batch=32,discount=0.5,actor-rate=1e-3,soft=0.01", "q": ":rate=0.1", "sarsa": ":rate=0.1,lambda=0"}
		s.Agent += settings[k.Name]
		if k.Name == "td3" || k.Name == "ddpg" {
			s.Task = Tasks()[3]
		}
		r, err := Run(context.Background(), s)
		if err != nil {
			t.Fatal(err)
		}
		got := r.Cells[0].Mean()
		if s.Task.Solved < 0 && got < -3 || s.Task.Solved > 0 && got < s.Task.Solved {
			t.Errorf("%s: %.2f, solved is %v", k.Name, got, s.Task.Solved)
		}
	}
}
