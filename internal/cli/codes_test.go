package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestExitCodes(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.csv")
	if err := os.WriteFile(bad, []byte("t_s,rps\n0,x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		args string
		want int
	}{
		"all well":                    {"version", 0},
		"help":                        {"simulate --help", 0},
		"an unknown command":          {"simulat", exitUsage},
		"an unknown flag":             {"simulate --nonsense", exitUsage},
		"a flag that is not a number": {"simulate --peak high", exitUsage},
		"an unknown app":              {"simulate --app nonesuch", exitUsage},
		"an unknown workload":         {"simulate --workload nonesuch", exitUsage},
		"an unknown policy":           {"simulate --policy nonesuch", exitUsage},
		"a faulty file":               {"simulate --workload " + bad, exitFailure},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			got := Run(context.Background(), strings.Fields(row.args), strings.NewReader(""), &stdout, &stderr)
			if got != row.want {
				t.Errorf("exit code %d, want %d; stderr: %s", got, row.want, stderr.String())
			}
			if got != 0 && (stdout.Len() > 0 || !strings.HasPrefix(stderr.String(), "loadline: ")) {
				t.Errorf("stdout %q, stderr %q", stdout.String(), stderr.String())
			}
		})
	}
}
