package pipeline

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/policy"
)

var update = flag.Bool("update", false, "train and evaluate a run of the present format into testdata (a minute)")

// runFolder of a format in testdata.
func runFolder(format int) string { return fmt.Sprintf("testdata/run-%d", format) }

// TestRunsOfThisFormatAreRead: a run that an earlier release of the same format trained and evaluated
// can be opened, its models can be used, its evaluation can be promoted. A change that cannot read
// testdata must raise RunFormat.
func TestRunsOfThisFormatAreRead(t *testing.T) {
	dir := runFolder(RunFormat)
	if *update {
		writeRun(t, dir)
	}
	f, err := OpenRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	if f.Subject.Name != "single" || f.App.Name != "single" || len(f.Candidates) != 1 || f.Training.Duration() <= 0 ||
		f.Candidates[0].Method != "scaling-ops" {
		t.Errorf("%+v", f.Run)
	}
	trained, err := f.Trained()
	if err != nil || len(trained) != 1 {
		t.Fatalf("%+v, %v", trained, err)
	}
	m, err := policy.OpenModel(f.ModelPath(trained[0].Name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Policy(f.App); err != nil {
		t.Error(err)
	}
	e, err := ReadEvaluation(f)
	if err != nil {
		t.Fatal(err)
	}
	if e.Verdict.Kind == "" || e.Verdict.Sentence == "" || len(e.Entries) < 2 || len(e.Stretches) == 0 || e.Settings.Today != "hpa:target=70" {
		t.Errorf("%+v", e)
	}
	if earlier, err := copyOfRun(t, dir).open(Settings{App: "another question"}); err != nil || len(earlier) != 1 {
		t.Errorf("the test part was used once; openings are %+v, %v", earlier, err)
	}
}

// TestNewerRunsAreRefused: every file of a run with a higher format is refused by an error that names
// the file, its format, the format that is read, and what to do.
func TestNewerRunsAreRefused(t *testing.T) {
	read := map[string]func(dir string) error{
		RunFile:      func(dir string) error { _, err := OpenRun(dir); return err },
		TrainingFile: func(dir string) error { _, err := OpenRun(dir); return err },
		EvaluationFile: func(dir string) error {
			f, err := OpenRun(dir)
			if err != nil {
				return err
			}
			_, err = ReadEvaluation(f)
			return err
		},
		OpeningsFile: func(dir string) error {
			f, err := OpenRun(dir)
			if err != nil {
				return err
			}
			_, err = f.open(Settings{})
			return err
		},
	}
	for name, try := range read {
		f := copyOfRun(t, runFolder(RunFormat))
		path := filepath.Join(f.Dir, name)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		newer := []byte(strings.NewReplacer(fmt.Sprintf(`"format":%d`, RunFormat), fmt.Sprintf(`"format":%d`, RunFormat+1),
			fmt.Sprintf(`"format": %d`, RunFormat), fmt.Sprintf(`"format": %d`, RunFormat+1)).Replace(string(text)))
		if err := os.WriteFile(path, newer, 0o644); err != nil {
			t.Fatal(err)
		}
		err = try(f.Dir)
		for _, want := range []string{path, fmt.Sprintf("has format %d, and this program reads %d: ", RunFormat+1, RunFormat)} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q is not in %v", name, want, err)
			}
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != string(newer) {
			t.Errorf("%s was changed, %v", name, err)
		}
	}
}

// TestRunsOfTheFirstFormatAreRefused: their history has no part for selection. The error says that the
// run must be trained again.
func TestRunsOfTheFirstFormatAreRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, RunFile), []byte(`{"format":1,"program":"loadline 0.0.1","candidates":[]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := OpenRun(dir)
	var other *OtherVersionError
	if !errors.As(err, &other) || !strings.Contains(err.Error(), "run.json has format 1, and this program reads 2: train again") {
		t.Errorf("got %v", err)
	}
}

// writeRun trains and evaluates a small run, and leaves only the files of the run itself.
func writeRun(t *testing.T, dir string) {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	trainInto(t, dir, smallSubject(t), smallLineUp(t, 1))
	f, err := OpenRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	mustEvaluate(t, f, EvaluationSettings{Seeds: 1, Stretch: 5 * time.Minute, Workers: 2, Today: "hpa:target=70", Baselines: []string{"hpa"},
		NeighboursGiven: true})
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries { // single runs of comparisons, which are made again where they are missing
		if e.IsDir() && e.Name() != CandidatesDir {
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func copyOfRun(t *testing.T, dir string) *Folder {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	f, err := OpenRun(to)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
