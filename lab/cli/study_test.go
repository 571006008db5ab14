package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestInterruptedStudy(t *testing.T) {
	study := func(ctx context.Context, args string) (int, string, string) {
		return run(ctx, strings.Fields("study "+args)...)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	file := filepath.Join(t.TempDir(), "r.json")
	if code, _, stderr := study(ctx, "cartpole --out "+file); code != exitInterrupted {
		t.Errorf("at once: exit code %d, want %d: %s", code, exitInterrupted, stderr)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("an interrupted study without results wrote a file")
	}

	// Thousands of short runs: some will have finished, and not all.
	ctx, cancel = context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	code, stdout, stderr := study(ctx, "identity --agent q --seeds 100000 --steps 200 --episodes 1 --parallel 2")
	if code != exitFailure || !strings.Contains(stderr, "of 100000 runs had finished, and are shown") || !strings.Contains(stdout, "MEAN RETURN") {
		t.Errorf("exit code %d, stderr %s, stdout %s", code, stderr, stdout)
	}
}
