package pipeline

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/loadline/loadline/internal/shard"
)

// TestShardsJudgeAsOneProcess: two that share a run go through selection and judgement together, and end
// with the bytes of one.
func TestShardsJudgeAsOneProcess(t *testing.T) {
	if testing.Short() {
		t.Skip("runs two evaluations")
	}
	alone, together := misconfigured(t), misconfigured(t)
	mustEvaluate(t, alone, tuning())
	done := make(chan error, 2)
	for i := range 2 {
		go func() {
			f, err := OpenRun(together.Dir)
			if err == nil {
				j := tuning()
				j.Program, j.Workers, j.Shard = "test", 1, shard.Part{Index: i, Of: 2}
				_, err = Evaluate(context.Background(), f, j)
			}
			done <- err
		}()
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{TuneFile, OpeningsFile, filepath.Join(BenchDir, "results.json")} {
		want, err := os.ReadFile(filepath.Join(alone.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(together.Dir, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s of two differs from that of one: %v", name, err)
		}
	}
}
