package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loadline/loadline/lab/study"
)

func TestInterruptedStudy(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	file := filepath.Join(t.TempDir(), "r.json")
	if code, _, stderr := run(ctx, "study", "cartpole", "--out", file); code != 130 {
		t.Errorf("at once: exit code %d, want 130: %s", code, stderr)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("an interrupted study without results wrote a file")
	}

	// Interrupted after the first runs: they are printed.
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	f := studyFlags{}
	f.spec.Agent, f.spec.Seeds, f.spec.Seed, f.spec.Parallel = "q", 100000, 1, 2
	f.spec.Training.Steps, f.spec.Training.Episodes = 200, 1
	f.spec.Progress = func(p study.Progress) {
		if p.Finished > 0 {
			cancel()
		}
	}
	var stdout, stderr bytes.Buffer
	err := f.run(ctx, "identity", &stdout, &stderr)
	const want = "of 100000 runs had finished, and are shown"
	if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(stdout.String(), "MEAN RETURN") {
		t.Errorf("error %v, stderr %s, stdout %s", err, &stderr, &stdout)
	}
}
