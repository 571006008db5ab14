package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

const helperVariable = "LOADLINE_BENCH_HELPER"

// TestMain turns this binary into a bench that can be killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv(helperVariable); dir != "" {
		o := Options{Dir: dir, Workers: 2, Progress: func(p Progress) {
			if p.Done >= 5 {
				select {} // until it is killed
			}
		}}
		if _, err := Run(context.Background(), killMatrix(), o); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	if text := os.Getenv(shardVariable); text != "" {
		os.Exit(runShard(text))
	}
	os.Exit(m.Run())
}

func killMatrix() Matrix {
	m := smallMatrix("hpa", "static", "hpa@calibrated")
	m.Seeds = 30
	return m
}

func TestKilledBenchResumes(t *testing.T) {
	dir := t.TempDir()
	helper := exec.Command(os.Args[0])
	helper.Env = append(os.Environ(), helperVariable+"="+dir)
	if err := helper.Start(); err != nil {
		t.Fatal(err)
	}
	for len(runFiles(t, dir)) < 5 {
		time.Sleep(2 * time.Millisecond)
	}
	if err := helper.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if helper.Wait() == nil {
		t.Fatal("the bench ended although its progress is blocked")
	}

	kept := map[string]time.Time{}
	for _, file := range runFiles(t, dir) {
		var r Record
		if err := json.Unmarshal(read(t, file), &r); err != nil || r.Key+".json" != filepath.Base(file) {
			t.Errorf("%s is torn: %v", file, err)
		}
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		kept[file] = info.ModTime()
	}
	mustRun(t, killMatrix(), Options{Dir: dir})
	for file, at := range kept {
		if info, err := os.Stat(file); err != nil || !info.ModTime().Equal(at) {
			t.Errorf("%s was made again", filepath.Base(file))
		}
	}
	clean := t.TempDir()
	mustRun(t, killMatrix(), Options{Dir: clean})
	if !bytes.Equal(read(t, filepath.Join(dir, ResultsJSON)), read(t, filepath.Join(clean, ResultsJSON))) {
		t.Error("the results of a bench that was killed differ from those of one that was not")
	}
	if n := len(runFiles(t, dir)); n != 90 {
		t.Errorf("%d runs, want 90", n)
	}
}
