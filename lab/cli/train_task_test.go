package cli

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loadline/loadline/internal/rl"
)

// countdown is a context that is cancelled after a number of checks: training checks before
// each episode.
type countdown struct {
	context.Context
	left *int
}

func (c countdown) Err() error {
	if *c.left--; *c.left < 0 {
		return context.Canceled
	}
	return nil
}

func runTrain(ctx context.Context, args string) (code int, stdout, stderr string) {
	return run(ctx, strings.Fields("train "+args)...)
}

// TestInterruptedTrainingEndsWhereTheUnbrokenEnds interrupts repeatedly.
func TestInterruptedTrainingEndsWhereTheUnbrokenEnds(t *testing.T) {
	for name, row := range map[string]struct {
		args     string
		episodes int // between interruptions
	}{
		"dqn": {"--task cartpole --agent dqn:hidden=16,warm-up=200,batch=16,steps=3,priority=0.6 --steps 3000 --seed 3 --episodes 3",
			30},
		"td3":   {"--task pendulum --agent td3:hidden=16,warm-up=200,batch=16 --steps 1500 --seed 3 --episodes 2", 2},
		"ddpg":  {"--task identity-continuous --agent ddpg:hidden=16,warm-up=200 --steps 1500 --seed 3 --episodes 2", 4},
		"sarsa": {"--task identity --agent sarsa --steps 1500 --seed 3 --episodes 2", 4},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := func(name string) string { return filepath.Join(dir, name) }
			if code, _, stderr := runTrain(context.Background(), row.args+" --out "+path("whole")+" --log "+path("whole.csv")); code != 0 {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			args := row.args + " --out " + path("parts") + " --log " + path("parts.csv")
			parts, resume := 0, ""
			for {
				left := row.episodes
				code, _, stderr := runTrain(countdown{context.Background(), &left}, args+resume)
				if parts++; code == 0 {
					break
				}
				checkpoint := path("parts.checkpoint")
				if code != exitInterrupted || !strings.Contains(stderr, "--resume "+checkpoint) {
					t.Fatalf("exit code %d: %s", code, stderr)
				}
				if _, err := os.Stat(path("parts")); err == nil {
					t.Fatal("an interrupted training wrote a model")
				}
				resume = " --resume " + checkpoint
			}
			if parts < 3 {
				t.Errorf("interrupted %d times, want at least twice", parts-1)
			}
			same(t, path("whole"), path("parts"))
			same(t, path("whole.csv"), path("parts.csv"))
		})
	}
}

func same(t *testing.T, a, b string) {
	t.Helper()
	x, err := os.ReadFile(a)
	if err != nil {
		t.Fatal(err)
	}
	if y, err := os.ReadFile(b); err != nil || !bytes.Equal(x, y) {
		t.Errorf("%s and %s differ (%v)", a, b, err)
	}
}

func TestTrainingInterruptedAtOnceWritesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	dir := t.TempDir()
	code, _, stderr := runTrain(ctx, "--task cartpole --out "+filepath.Join(dir, "m")+" --log "+filepath.Join(dir, "l"))
	if files, err := os.ReadDir(dir); code != exitInterrupted || err != nil || len(files) != 0 {
		t.Errorf("exit code %d, left %v behind: %s", code, files, stderr)
	}
}

func TestDamagedCheckpoint(t *testing.T) {
	dir := t.TempDir()
	args, saved := "--task identity --agent q --steps 500 --out "+filepath.Join(dir, "m"), filepath.Join(dir, "c")
	if code, _, stderr := runTrain(context.Background(), args+" --checkpoint "+saved); code != 0 {
		t.Fatal(stderr)
	}
	data, err := os.ReadFile(saved)
	if err != nil {
		t.Fatal(err)
	}
	newer := bytes.Replace(data, []byte("loadline-learning-2"), []byte("loadline-learning-3"), 1)
	flipped := bytes.Clone(data)
	flipped[len(flipped)/2] ^= 1
	for name, row := range map[string]struct {
		data []byte
		want string
	}{
		"torn":            {data[:len(data)/2], "checksum does not fit"},
		"empty":           {nil, "not a saved state"},
		"a newer version": {newer, `is of version "3", and this program reads 2: use the loadline that saved it`},
		"one bit flipped": {flipped, "checksum does not fit"},
		"as it was":       {data, ""},
		"something else":  {[]byte("steps,episodes,return,loss,evaluation\n"), "not a saved state"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(saved, row.data, 0o644); err != nil {
				t.Fatal(err)
			}
			code, _, stderr := runTrain(context.Background(), args+" --resume "+saved)
			if (code != 0) != (row.want != "") || !strings.Contains(stderr, row.want) {
				t.Errorf("exit code %d: %s", code, stderr)
			}
		})
	}
}

func TestProgressOfATraining(t *testing.T) {
	nan := math.NaN()
	for want, p := range map[string]rl.Progress{
		"train: return 12.0, evaluated 30.5, loss 0.0123, 2500 steps/s": {Return: 12, Evaluation: 30.5, Loss: 0.01234,
			StepsPerSecond: 2500},
		"train: return 12.0, 2500 steps/s": {Return: 12, Evaluation: nan, Loss: nan, StepsPerSecond: 2500},
		"train: 0 steps/s":                 {Return: nan, Evaluation: nan, Loss: nan},
	} {
		if got := describeProgress(p); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
