package cli

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
)

func TestInterruptedBenchSaysWhatIsKept(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var stdout, stderr bytes.Buffer
	code := Run(ctx, []string{
		"bench", "--app", "single", "--workload", "constant:rps=10", "--duration", "10m", "--policy", "hpa", "--out",
		filepath.Join(t.TempDir(), "out"),
	}, strings.NewReader(""), &stdout, &stderr)
	if code != exitInterrupted || !strings.Contains(stderr.String(), "0 of 5 runs are kept in") {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
}
