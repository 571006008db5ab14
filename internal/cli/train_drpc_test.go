package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestInterruptedTrainingResumes: interrupted at any moment, the same command resumes and gives
// the same file as one that was not interrupted.
func TestInterruptedTrainingResumes(t *testing.T) {
	dir := t.TempDir()
	train := func(ctx context.Context, out string, more ...string) (int, string) {
		var stderr bytes.Buffer
		args := append([]string{
			"train", "--formulation", "drpc", "--app", "bookinfo", "--workload", "constant:rps=40", "--duration", "1h", "--steps",
			"200", "--evaluate-every", "40",
			"--episodes", "1", "--acting-steps", "40", "-o", filepath.Join(dir, out),
		}, more...)
		return Run(ctx, args, strings.NewReader(""), io.Discard, &stderr), stderr.String()
	}
	if code, output := train(t.Context(), "whole"); code != 0 {
		t.Fatal(output)
	}
	var log, state, output string
	code := 0
	for try := 0; code == 0; try++ { // again if the interrupt came too late
		_ = os.Remove(filepath.Join(dir, "parts"))
		log, state = filepath.Join(dir, fmt.Sprintf("curve-%d.csv", try)), filepath.Join(dir, fmt.Sprintf("state-%d", try))
		ctx, cancel := context.WithCancel(t.Context())
		go func() { // as soon as the log has a line
			for ; ctx.Err() == nil; time.Sleep(time.Millisecond) {
				if _, err := os.Stat(log); err == nil {
					cancel()
				}
			}
		}()
		code, output = train(ctx, "parts", "--checkpoint", state, "--log", log)
		cancel()
	}
	if code != exitInterrupted || !strings.Contains(output, "the same command resumes from") {
		t.Fatalf("code %d: %s", code, output)
	}
	if _, err := os.Stat(filepath.Join(dir, "parts")); err == nil {
		t.Error("an interrupted training wrote a model")
	}
	if code, output = train(t.Context(), "parts", "--checkpoint", state, "--log", log); code != 0 || !strings.Contains(output,
		"resuming after") {
		t.Fatalf("code %d: %s", code, output)
	}
	var files [2][]byte
	for i, name := range []string{"whole", "parts"} {
		var err error
		if files[i], err = os.ReadFile(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("the model is another one")
	}
	if curve, err := os.ReadFile(log); err != nil || strings.Count(string(curve), "\n") < 4 || !strings.Contains(string(curve),
		"\n40,1,") {
		t.Errorf("the curve has lost its beginning: %s (%v)", curve, err)
	}
}
