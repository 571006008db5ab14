package bench

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/shard"
)

// shardVariable makes this binary one of the processes that share a bench.
const shardVariable = "LOADLINE_BENCH_SHARD"

func shardMatrix() Matrix {
	m := smallMatrix("hpa", "static:replicas=2,cpu=0.5", "hpa@calibrated", "drpc-branching@trained", "oracle")
	m.Workloads = []Workload{smallLoad("constant:rps=30", 6*time.Minute)}
	m.Seeds, m.Training = 4, Training{Steps: 60, Models: 2}
	return m
}

// runShard is the process. One that is to be killed stops at its third run, with a claim in its hands.
func runShard(text string) int {
	text, dir, _ := strings.Cut(text, " ")
	text, killed := strings.CutSuffix(text, "!")
	part, err := shard.Parse(text, "")
	if err != nil {
		return 2
	}
	o := Options{Dir: dir, Workers: 1, Shard: part}
	if killed {
		o.Progress = func(p Progress) {
			if p.Done >= 3 {
				select {} // until it is killed
			}
		}
	}
	if _, err := Run(context.Background(), shardMatrix(), o); err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		return 1
	}
	return 0
}

func startShard(t *testing.T, text, dir string) *exec.Cmd {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), shardVariable+"="+text+" "+dir)
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if c.ProcessState == nil {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
	})
	return c
}

// TestShardsGiveTheBytesOfOneProcess: two processes share a folder, with calibrations, trainings and a
// searched oracle. One is killed in the middle and started again; both end with what one process makes
// alone, byte for byte.
func TestShardsGiveTheBytesOfOneProcess(t *testing.T) {
	if testing.Short() {
		t.Skip("trains, and searches a schedule")
	}
	dir := t.TempDir()
	first := startShard(t, "1/2!", dir)
	for len(runFiles(t, dir)) < 3 {
		time.Sleep(2 * time.Millisecond)
	}
	second := startShard(t, "2/2", dir)
	for len(runFiles(t, dir)) < 6 {
		time.Sleep(2 * time.Millisecond)
	}
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if first.Wait() == nil {
		t.Fatal("the shard ended although its progress is blocked")
	}
	again := startShard(t, "1/2", dir)
	for _, c := range []*exec.Cmd{second, again} {
		if err := c.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	alone := t.TempDir()
	mustRun(t, shardMatrix(), Options{Dir: alone, Workers: 2})
	same := func(what string) {
		t.Helper()
		files, err := filepath.Glob(filepath.Join(alone, what))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", what, files, err)
		}
		for _, file := range files {
			if !bytes.Equal(read(t, file), read(t, strings.Replace(file, alone, dir, 1))) {
				t.Errorf("%s of shards differs from that of one process", filepath.Base(file))
			}
		}
	}
	for _, what := range []string{ResultsJSON, ResultsCSV, "runs/*.json", "prepared/*.json", "models/*"} {
		same(what)
	}
	if len(runFiles(t, dir)) != len(runFiles(t, alone)) {
		t.Errorf("%d runs, and %d of one process", len(runFiles(t, dir)), len(runFiles(t, alone)))
	}
	// The last pass of whoever collects finds everything.
	mustRun(t, shardMatrix(), Options{Dir: dir, Workers: 1})
	same(ResultsJSON)
}

// TestShardsDivideTheWork: of two processes with nothing in common but the folder, each makes some of
// the runs, and none is made twice.
func TestShardsDivideTheWork(t *testing.T) {
	m := smallMatrix("hpa", "static")
	m.Seeds = 8
	// Decisions are timed in runs that are made, and not in those that are read.
	timed := func(o Options, first func()) int64 {
		var calls atomic.Int64
		var once sync.Once
		o.Workers, o.CPUTime = 1, func() time.Duration {
			calls.Add(1)
			once.Do(first)
			return 0
		}
		if _, err := Run(context.Background(), m, o); err != nil {
			t.Error(err)
			once.Do(first) // the other one waits for it
		}
		return calls.Load()
	}
	alone, dir := t.TempDir(), t.TempDir()
	want := timed(Options{Dir: alone}, func() {})
	var both, ended sync.WaitGroup // each waits in its first run until the other is in one
	var calls [2]int64
	both.Add(2)
	for i := range calls {
		ended.Go(func() {
			calls[i] = timed(Options{Dir: dir, Shard: shard.Part{Index: i, Of: 2}}, func() { both.Done(); both.Wait() })
		})
	}
	ended.Wait()
	if calls[0] == 0 || calls[1] == 0 || calls[0]+calls[1] != want {
		t.Errorf("%d decisions were timed, and %d by one process", calls, want)
	}
	if !bytes.Equal(read(t, filepath.Join(dir, ResultsJSON)), read(t, filepath.Join(alone, ResultsJSON))) {
		t.Error("the results differ")
	}
}
