package bench

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/workload"
)

// trainedMatrix is the smallest comparison with every kind of training.
func trainedMatrix() Matrix {
	m := smallMatrix("hpa", "drpc-branching@trained", "teacher: drpc:who=teacher@trained")
	m.Training = Training{Steps: 60, Models: 2}
	return m
}

func models(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, modelsFolder, "*.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	return files
}

func TestTrainsFirstAndGivesTheSameAgain(t *testing.T) {
	m := trainedMatrix()
	one, two := t.TempDir(), t.TempDir()
	first := mustRun(t, m, Options{Dir: one, Workers: 1})
	mustRun(t, m, Options{Dir: two, Workers: 3})
	if !bytes.Equal(read(t, filepath.Join(one, ResultsJSON)), read(t, filepath.Join(two, ResultsJSON))) {
		t.Error("the same bench gave other results with another number of workers, in another folder")
	}
	// Three settings with one seed, and the best of them with another; of two learners.
	if n := len(models(t, one)); n != 2*4 {
		t.Errorf("%d models, want 8", n)
	}
	if len(first.Learned) != 2*2 {
		t.Fatalf("%d curves, want those of two models of two policies", len(first.Learned))
	}
	for _, l := range first.Learned {
		if l.App != "small" || l.Workload != smallBursts || l.Setting == "" || len(l.Curve) == 0 || l.Steps != 60 ||
			!(l.Yardstick > -1 && l.Yardstick <= 1) {
			t.Errorf("%+v", l)
		}
	}
	for _, row := range first.Rows[1:] {
		if strings.Contains(row.Case.Policy, "file=") || row.Seeds != 3 {
			t.Errorf("row %+v, want three runs of one policy, whatever their models", row.Case)
		}
	}
}

func TestTrainedIsNotTrainedAgain(t *testing.T) {
	m := trainedMatrix()
	m.Policies = m.Policies[:2]
	dir := t.TempDir()
	mustRun(t, m, Options{Dir: dir, Workers: 2})
	kept := map[string][]byte{}
	times := map[string]time.Time{}
	for i, path := range models(t, dir) {
		kept[path] = read(t, path)
		if i == 0 { // damaged: it must be made again, to the same bytes
			if err := os.WriteFile(path, kept[path][:10], 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		times[path] = info.ModTime()
	}
	mustRun(t, m, Options{Dir: dir, Workers: 2})
	for path, content := range kept {
		if !bytes.Equal(read(t, path), content) {
			t.Errorf("%s is another model now", filepath.Base(path))
		}
	}
	for path, before := range times {
		if info, err := os.Stat(path); err != nil || !info.ModTime().Equal(before) {
			t.Errorf("%s was trained again", filepath.Base(path))
		}
	}
}

func TestRefusesWhatCannotBeTrained(t *testing.T) {
	for name, row := range map[string]struct {
		change func(*Matrix)
		want   string
	}{
		"a policy that does not learn": {func(m *Matrix) { m.Policies[1] = ParsePolicy("hpa@trained") },
			`no method that can be trained is called "hpa"`},
		"a misspelt method": {func(m *Matrix) { m.Policies[1] = ParsePolicy("msras@trained") }, `did you mean "msars"?`},
		"a wrong setting": {func(m *Matrix) { m.Policies[1] = ParsePolicy("drpc:whoo=teacher@trained") },
			`did you mean "who"?`},
		"a model besides":             {func(m *Matrix) { m.Policies[1] = ParsePolicy("drpc:file=x@trained") }, "leave out one of them"},
		"too few steps":               {func(m *Matrix) { m.Training.Steps = 3 }, "3 training steps: must be at least 40"},
		"no models":                   {func(m *Matrix) { m.Training.Models = -1 }, "-1 models"},
		"seeds that are for training": {func(m *Matrix) { m.FirstSeed = trainingSeed }, "are kept for training"},
	} {
		m := trainedMatrix()
		row.change(&m)
		if _, err := m.Check(""); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want %q", name, err, row.want)
		}
	}
}

// TestTrainingDataIsSeparate: training data is neither run nor calibrated on.
func TestTrainingDataIsSeparate(t *testing.T) {
	trace := filepath.Join(t.TempDir(), "trace.csv")
	var text bytes.Buffer
	text.WriteString("t_s,rps\n")
	for i := range 100 {
		fmt.Fprintf(&text, "%d,%d\n", i*60, i+1)
	}
	if err := os.WriteFile(trace, text.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	minute := func(from, to int) Span {
		return Span{time.Duration(from) * time.Minute, time.Duration(to) * time.Minute}
	}
	for name, row := range map[string]struct {
		load     Workload
		from, to float64 // rates, which equal the minutes
	}{
		"a trace without parts":     {Workload{Spec: trace}, 1, 60},
		"a trace with parts":        {Workload{Spec: trace, Validation: minute(50, 60), Test: minute(80, 90)}, 1, 50},
		"a trace with a test alone": {Workload{Spec: trace, Test: minute(80, 90)}, 1, 80},
	} {
		w, err := new(opened).training(row.load)
		if err != nil {
			t.Fatal(err)
		}
		if got := [2]float64{w.Rates[0], w.Rates[len(w.Rates)-1]}; got != [2]float64{row.from, row.to} {
			t.Errorf("%s: trained on %v, want %v to %v", name, got, row.from, row.to)
		}
	}
	drawn, err := new(opened).training(smallLoad(smallBursts, 6*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if drawn.Duration() < trainingData {
		t.Errorf("draws of %v in all, want at least %v", drawn.Duration(), trainingData)
	}
	for _, seed := range []uint64{1, validationSeed} {
		other, err := new(opened).open(smallLoad(smallBursts, 6*time.Minute), wholePart, seed)
		if err != nil {
			t.Fatal(err)
		}
		if slices.Equal(other.Rates, drawn.Rates[:len(other.Rates)]) {
			t.Errorf("the draw of seed %d is trained on", seed)
		}
	}
	if _, err := new(opened).training(Workload{Given: &Given{Test: &workload.Workload{}}}); err == nil {
		t.Error("a workload without other data than its own was taken")
	}
}
