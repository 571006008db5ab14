package pipeline

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/twin"
	"github.com/loadline/loadline/internal/workload"
)

// waveOf is a subject of one service under two hours of waves.
func waveOf(t *testing.T, change func(*loadline.Service)) *Subject {
	t.Helper()
	app := single()
	change(&app.Services[0])
	w, err := workload.Parse("diurnal:low=40,high=110,period=1h,peak=20m+noise:cv=0.05", 2*time.Hour, 15*time.Second, 1)
	if err != nil {
		t.Fatal(err)
	}
	s, err := FromApp(context.Background(), app, w, Model{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// runOf is a run of such a subject, with a candidate that has hardly learned.
func runOf(t *testing.T, change func(*loadline.Service)) *Folder {
	t.Helper()
	dir := t.TempDir()
	trainInto(t, dir, waveOf(t, change), smallLineUp(t, 1))
	f, err := OpenRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestARuleThatNeedsEmptyNodes: pods that use almost three times their request are fast only where
// no other pod wants the CPU.
func TestARuleThatNeedsEmptyNodes(t *testing.T) {
	if testing.Short() {
		t.Skip("runs two evaluations")
	}
	f := runOf(t, func(s *loadline.Service) { s.Size.CPURequest = 0.25 })
	j := EvaluationSettings{Today: "hpa:target=80", Baselines: []string{"tight: hpa:target=280"}, Stretch: 10 * time.Minute, Workers: 2}
	e := mustEvaluate(t, f, j)
	if v := e.Verdict; v.Kind != Undecided || !strings.Contains(v.Sentence, "HPA at 280 % saves") ||
		!strings.Contains(v.Sentence, "% busy") || !strings.Contains(v.Sentence, "Measuring how busy the nodes are") {
		t.Errorf("nothing is known of the nodes: %s", v.Sentence)
	}
	if e.Conditions[0].Name != asFitted || len(e.Conditions[0].Results) < 2 || e.Conditions[1].Name != "nodes 50 % busy" {
		t.Errorf("%+v", e.Conditions)
	}
	j.NeighboursGiven = true
	e = mustEvaluate(t, f, j)
	if v := e.Verdict; v.Kind != Change || v.Policy != "hpa:target=280" || len(v.Depends) != 0 ||
		!strings.Contains(v.Sentence, "nodes must have room") {
		t.Errorf("the nodes are the user's alone: %s, %+v", v.Sentence, v.Depends)
	}
}

// TestAGuessThatDecides: a request waits for others most of its time, so that a pod with few workers
// is full long before its CPU is. The history does not show how many it has.
func TestAGuessThatDecides(t *testing.T) {
	if testing.Short() {
		t.Skip("runs three evaluations")
	}
	f := runOf(t, func(s *loadline.Service) { s.Wait = loadline.Dist{Mean: 50 * time.Millisecond, CV: 0.5} })
	likely := float64(f.App.Services[0].Workers)
	f.Subject.Knowledge.Ranges = []twin.Range{{Figure: twin.Workers, Service: "server", Low: 3, Likely: likely, High: 1000}}
	j := EvaluationSettings{Today: "hpa:target=25", Baselines: []string{"rule: hpa:target=65"},
		Stretch: 10 * time.Minute, Workers: 2, NeighboursGiven: true}
	e := mustEvaluate(t, f, j)
	// It is undecided, or something else is recommended that holds with 3 workers.
	reasons := strings.Join(e.Verdict.Reasons, "\n")
	if v := e.Verdict; v.Policy == "hpa:target=65" || v.Kind == Keep ||
		!strings.Contains(reasons, "HPA at 65 % would violate the objective with") ||
		!strings.Contains(reasons, "workers in each pod of server") {
		t.Errorf("it may have 3: %s\n%s", v.Sentence, reasons)
	}
	tried := 0
	for _, c := range e.Conditions {
		if c.Figure == twin.Workers && c.Values[0].Value > 3 {
			tried++
		}
	}
	if tried == 0 {
		t.Error("the number from which it holds was not searched for")
	}
	if err := os.Remove(filepath.Join(f.Dir, EvaluationFile)); err != nil { // the runs are kept
		t.Fatal(err)
	}
	again := mustEvaluate(t, f, j)
	one, _ := json.Marshal(e)
	two, _ := json.Marshal(again)
	if string(one) != string(two) {
		t.Error("the same runs give another evaluation")
	}
	known, err := f.With([]string{"server.workers=64"})
	if err != nil {
		t.Fatal(err)
	}
	if v := mustEvaluate(t, known, j).Verdict; v.Kind != Change || v.Policy != "hpa:target=65" {
		t.Errorf("it has 64: %s", v.Sentence)
	}
}

// evaluateAgain forms the verdict anew, of runs that are kept.
func evaluateAgain(t *testing.T, f *Folder, j EvaluationSettings) Verdict {
	t.Helper()
	if err := os.Remove(filepath.Join(f.Dir, EvaluationFile)); err != nil {
		t.Fatal(err)
	}
	return mustEvaluate(t, f, j).Verdict
}

// TestWhatIsNotKnownLeavesItUndecided: the rule saves a lot with the twin as fitted. With a guessed
// number of workers at the low end of its range it would violate the objective, and so it would if
// response times are longer by the error that the twin has. The candidate is of no use.
func TestWhatIsNotKnownLeavesItUndecided(t *testing.T) {
	s := waveOf(t, func(s *loadline.Service) { s.Wait = loadline.Dist{Mean: 25 * time.Millisecond, CV: 0.5} })
	f := stuckRun(t, s, true)
	likely := float64(f.App.Services[0].Workers)
	j := EvaluationSettings{Today: "hpa:target=25", Baselines: []string{"rule: hpa:target=80"}, Stretch: 10 * time.Minute, Workers: 2,
		NeighboursGiven: true}
	if v := mustEvaluate(t, f, j).Verdict; v.Kind != Change || v.Policy != "hpa:target=80" {
		t.Errorf("everything is known: %s", v.Sentence)
	}
	f.Subject.Knowledge.Ranges = []twin.Range{{Figure: twin.Workers, Service: "server", Low: 2, Likely: likely, High: likely}}
	if v := evaluateAgain(t, f, j); v.Kind != Undecided || !strings.Contains(v.Sentence, "HPA at 80 % saves") ||
		!strings.Contains(v.Sentence, "workers in each pod of server") || !strings.Contains(v.Sentence, "--known SERVICE.workers=N") {
		t.Errorf("it may have 2 workers: %s", v.Sentence)
	}
	f.Subject.Knowledge.Ranges = nil
	kind := f.App.Kinds[0].Name
	f.Subject.Knowledge.Kinds = []KindKnowledge{{kind, 0.05}}
	if v := evaluateAgain(t, f, j); v.Kind != Change || !strings.Contains(v.Sentence, "holds with response times 5.0 % longer") {
		t.Errorf("the twin is off by a twentieth: %s", v.Sentence)
	}
	f.Subject.Knowledge.Kinds = []KindKnowledge{{kind, 1.85}}
	if v := evaluateAgain(t, f, j); v.Kind != Undecided ||
		!strings.Contains(v.Sentence, "it would violate the objective with response times 185.0 % longer") {
		t.Errorf("the twin is off by more than the reserve: %s", v.Sentence)
	}
}
