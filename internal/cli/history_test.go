package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAnInterruptedRecordingWritesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	dir := t.TempDir()
	var stdout, stderr bytes.Buffer
	code := Run(ctx, []string{"history", "record", "--app", "single", "--duration", "7d", "-o", filepath.Join(dir, "past")},
		strings.NewReader(""), &stdout, &stderr)
	if code != exitInterrupted {
		t.Errorf("exit code %d, want %d: %s", code, exitInterrupted, stderr.String())
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 0 || stdout.Len() != 0 {
		t.Errorf("left %v behind and printed %q", files, stdout.String())
	}
}
