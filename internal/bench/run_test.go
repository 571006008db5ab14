package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func mustRun(t *testing.T, m Matrix, o Options) *Results {
	t.Helper()
	r, err := Run(context.Background(), m, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func runFiles(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, runsFolder, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestSameBytesWhateverTheWorkers(t *testing.T) {
	m := smallMatrix("hpa", "kpa:target=3", "autothrottle")
	m.Perturbations = []string{none, "lost-10"}
	one, four := t.TempDir(), t.TempDir()
	mustRun(t, m, Options{Dir: one, Workers: 1})
	mustRun(t, m, Options{Dir: four, Workers: 4})
	for _, file := range append(runFiles(t, one), filepath.Join(one, ResultsJSON), filepath.Join(one, ResultsCSV)) {
		other := strings.Replace(file, one, four, 1)
		if !bytes.Equal(read(t, file), read(t, other)) {
			t.Errorf("%s differs", filepath.Base(file))
		}
	}
	if n := len(runFiles(t, one)); n != 3*2*3 {
		t.Errorf("%d runs, want 18", n)
	}
}

func TestResumeRunsOnlyWhatIsMissing(t *testing.T) {
	m := smallMatrix("hpa", "static")
	dir := t.TempDir()
	mustRun(t, m, Options{Dir: dir})
	want := read(t, filepath.Join(dir, ResultsJSON))
	files := runFiles(t, dir)
	old := time.Now().Add(-time.Hour)
	for _, f := range files {
		if err := os.Chtimes(f, old, old); err != nil {
			t.Fatal(err)
		}
	}
	torn := read(t, files[1])
	for i, damage := range [][]byte{torn[:len(torn)/2], {}, []byte(`{"format":1,"key":"another"}`)} {
		if err := os.WriteFile(files[i], damage, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(files[3]); err != nil {
		t.Fatal(err)
	}
	mustRun(t, m, Options{Dir: dir})
	if got := read(t, filepath.Join(dir, ResultsJSON)); !bytes.Equal(got, want) {
		t.Error("the results differ after resuming")
	}
	again := 0
	for _, f := range runFiles(t, dir) {
		if info, err := os.Stat(f); err == nil && info.ModTime().After(old.Add(time.Minute)) {
			again++
		}
	}
	if again != 4 || len(runFiles(t, dir)) != len(files) {
		t.Errorf("%d of %d runs were made again, want the 4 that were damaged or gone", again, len(runFiles(t, dir)))
	}
}

func TestMoreSeedsKeepTheFirst(t *testing.T) {
	m := smallMatrix("static")
	dir := t.TempDir()
	mustRun(t, m, Options{Dir: dir})
	before := runFiles(t, dir)
	m.Seeds = 5
	r := mustRun(t, m, Options{Dir: dir})
	if len(runFiles(t, dir)) != 5 || r.Rows[0].Seeds != 5 || len(r.Rows[0].Runs) != 5 {
		t.Errorf("%d files, row %+v", len(runFiles(t, dir)), r.Rows[0].Runs)
	}
	m.Seeds = 2
	if r := mustRun(t, m, Options{Dir: dir}); len(before) != 3 || r.Rows[0].Seeds != 2 {
		t.Errorf("%d seeds of 2 are counted", r.Rows[0].Seeds)
	}
}

func TestOtherVersionsAreNamedAndRefused(t *testing.T) {
	m := smallMatrix("static")
	m.Seeds = 1
	dir := t.TempDir()
	mustRun(t, m, Options{Dir: dir, Program: "loadline 1"})
	_, err := Run(context.Background(), m, Options{Dir: dir, Program: "loadline 2"})
	var other *OtherVersionError
	if !errors.As(err, &other) || !strings.Contains(err.Error(), `made by "loadline 1"`) {
		t.Errorf("another program: %v", err)
	}
	mustRun(t, m, Options{Dir: dir, Program: "loadline 2", Redo: true})

	file := runFiles(t, dir)[0]
	var record map[string]any
	if err := json.Unmarshal(read(t, file), &record); err != nil {
		t.Fatal(err)
	}
	record["format"] = 99
	text, _ := json.Marshal(record)
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = Run(context.Background(), m, Options{Dir: dir, Program: "loadline 2"})
	if !errors.As(err, &other) || !strings.Contains(err.Error(), "has format 99") {
		t.Errorf("another format: %v", err)
	}
	mustRun(t, m, Options{Dir: dir, Program: "loadline 2", Redo: true})
}

func TestInterruptKeepsWhatIsFinished(t *testing.T) {
	m := smallMatrix("hpa", "static")
	m.Seeds = 20
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	_, err := Run(ctx, m, Options{Dir: dir, Workers: 2, Progress: func(p Progress) {
		if p.Done >= 3 {
			cancel()
		}
	}})
	var stopped *Interrupted
	if !errors.As(err, &stopped) || !errors.Is(err, context.Canceled) {
		t.Fatalf("err %v", err)
	}
	if kept := len(runFiles(t, dir)); kept < 3 || kept >= 40 || stopped.Kept > kept {
		t.Errorf("%d files, %d said to be kept", kept, stopped.Kept)
	}
	if r := mustRun(t, m, Options{Dir: dir}); r.Rows[0].Seeds != 20 {
		t.Errorf("%d seeds", r.Rows[0].Seeds)
	}
}

func TestProgressReachesTheEnd(t *testing.T) {
	var last Progress
	m := smallMatrix("static", "hpa@calibrated")
	mustRun(t, m, Options{Dir: t.TempDir(), Progress: func(p Progress) {
		if p.Share < last.Share-1e-9 || p.Done < last.Done {
			t.Errorf("went back from %+v to %+v", last, p)
		}
		last = p
	}})
	if last.Done != 6 || last.Runs != 6 || last.Share < 0.999 {
		t.Errorf("ended at %+v", last)
	}
}
