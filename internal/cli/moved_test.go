package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

// TestMovedCommands: each moved command prints its new place in one line.
func TestMovedCommands(t *testing.T) {
	for _, args := range []string{
		"paper drpc --seeds 2", "paper --help", "study cartpole --vary rate=1e-3", "study", "validate cfs", "engines --quick",
		"forecast eval --workload day", "train --task cartpole --out x", "train --agent dqn", "train --resume x",
		"train --formulation coscal --app bookinfo --workload day -o x", "train --formulation firm", "train --formulation asarsa",
	} {
		t.Run(args, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := Run(context.Background(), strings.Fields(args), strings.NewReader(""), &stdout, &stderr)
			said := stderr.String()
			if code != exitUsage || stdout.Len() > 0 || strings.Count(said, "\n") != 1 || !strings.HasPrefix(said,
				"loadline: moved to loadline-lab: run loadline-lab "+strings.Fields(args)[0]) {
				t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout.String(), said)
			}
		})
	}
}
