package rl_test

import (
	"bytes"
	"context"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/loadline/loadline/internal/rl"
)

var update = flag.Bool("update", false, "write the saved state of the present version to testdata")

// countingTraining is a training of a table that counts steps.
func countingTraining(t testing.TB) *rl.Training {
	t.Helper()
	c := rl.DefaultTabular()
	c.Edges = [][]float32{{1}}
	env := &counter{}
	agent, err := rl.NewSARSA(c, env.Spaces(), 1)
	if err != nil {
		t.Fatal(err)
	}
	return rl.NewTraining(env, agent, 1, rl.TrainingConfig{Steps: 20, LongestEpisode: 5, EvaluateEvery: 5, Episodes: 1})
}

// TestSavedStatesOfThisVersionAreRestored: a change of the order or the kind of what is saved must
// raise the version: otherwise the state in testdata is not restored.
func TestSavedStatesOfThisVersionAreRestored(t *testing.T) {
	const file = "testdata/state-2"
	if *update {
		training := countingTraining(t)
		if err := training.Run(context.Background(), rl.Hooks{}); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, training.Save(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	saved, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	training := countingTraining(t)
	if err := training.Restore(saved); err != nil || training.Steps() != 20 {
		t.Errorf("%d steps, %v", training.Steps(), err)
	}
	if !bytes.Equal(training.Save(), saved) {
		t.Error("what was restored is saved as something else")
	}
}

// TestSavedStatesOfOtherVersionsAreRefused with the version that they have and what to do.
func TestSavedStatesOfOtherVersionsAreRefused(t *testing.T) {
	saved, err := os.ReadFile("testdata/state-2")
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"1", "3"} {
		other := bytes.Replace(saved, []byte("loadline-learning-2"), []byte("loadline-learning-"+version), 1)
		err := countingTraining(t).Restore(other)
		want := `is of version "` + version + `", and this program reads 2: use the loadline that saved it, or start again without it`
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if err := countingTraining(t).Restore([]byte("steps,loss\n1,2\n3,4\n5,6\n7,8\n9,10\n")); err == nil ||
		!strings.Contains(err.Error(), "not a saved state") {
		t.Errorf("another kind of file: %v", err)
	}
}
