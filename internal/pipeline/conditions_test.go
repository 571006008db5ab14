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

// runOf is a run of one service, with a candidate that has hardly learned.
func runOf(t *testing.T, change func(*loadline.Service)) *Folder {
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
	dir := t.TempDir()
	trainInto(t, dir, s, smallLineUp(t, 1))
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
