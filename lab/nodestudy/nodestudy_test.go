package nodestudy

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestRunsAreWithinTheNode(t *testing.T) {
	names := map[string]bool{}
	for _, run := range Runs() {
		if names[run.Question+"/"+run.Name] {
			t.Errorf("two runs have the name %s/%s", run.Question, run.Name)
		}
		names[run.Question+"/"+run.Name] = true
		load := 0.0
		for i := range run.App.Kinds {
			load += run.Rates[i] * Measured.demand(run.App, &run.App.Kinds[i].Root).Seconds()
		}
		if load <= 0 || load > 1.001*Cores {
			t.Errorf("%s/%s: load of %.2f cores, the pods have %d", run.Question, run.Name, load, Cores)
		}
		if run.Length <= run.WarmUp || run.Repeats < 1 || len(run.Rates) != len(run.App.Kinds) {
			t.Errorf("%s/%s: %+v", run.Question, run.Name, run)
		}
		if run.Question == Quota && run.Rates[0]*(run.Length-run.WarmUp).Seconds() < quotaRequests {
			t.Errorf("%s/%s has fewer than %d requests", run.Question, run.Name, quotaRequests)
		}
		last := time.Duration(-1)
		for _, c := range run.Changes {
			if c.At <= last || c.At >= run.Length {
				t.Errorf("%s/%s: a change at %v", run.Question, run.Name, c.At)
			}
			last = c.At
		}
	}
}

// The overhead adds up to the same CPU by the models of visits and by demands along call trees.
func TestOverheadIsCountedOnce(t *testing.T) {
	app := GraphApp()
	with := Measured.With(app)
	// Users browse four times as often as they buy.
	byTree := 0.0
	for i := range app.Kinds {
		byTree += app.Kinds[i].Share * Measured.demand(app, &app.Kinds[i].Root).Seconds()
	}
	visits := []float64{1, 0.8, 1, 0.2, 1} // front, catalog, cart, pay, db
	byVisit := 0.0
	for i, n := range visits {
		byVisit += n * with.Services[i].CPU.Mean.Seconds()
	}
	if math.Abs(byTree-byVisit) > 1e-6 {
		t.Errorf("a request uses %.6f s by call trees and %.6f s by visits", byTree, byVisit)
	}
	if app.Services[0].CPU == with.Services[0].CPU || app.Services[0].Wait.Mean != 0 {
		t.Error("the application itself was changed, or the overhead is missing")
	}
}

func find(t *testing.T, question, name string) Run {
	t.Helper()
	runs := Runs()
	at := slices.IndexFunc(runs, func(r Run) bool { return r.Question == question && r.Name == name })
	if at < 0 {
		t.Fatalf("no run %s/%s", question, name)
	}
	return runs[at]
}

func TestPlayHasTheFiguresOfEachQuestion(t *testing.T) {
	for _, c := range []struct {
		question, run string
		figure        Figure
		from, to      float64
	}{
		{Weights, "50", Figure{"a", CPUSeconds}, 4.5, 5.3},
		{Quota, "90", Figure{"web", Throttled}, 100, 300},
		{KeepAlive, "for-good", Figure{"web", ShareFigure(4)}, 0, 0},
		{KeepAlive, "15s", Figure{"web", ShareFigure(4)}, 0.35, 0.65},
		{Startup, "20", Figure{"web", ReadyMax}, 20, 40},
		{Resize, "free", Figure{"web", DelayMean}, 0.4, 1.4},
		{Resize, "full", Figure{"web", DelayMean}, 8, 9},
		{OOM, "overload", Figure{"web", Killed}, 1, 10},
	} {
		run := find(t, c.question, c.run)
		got, there := Play(&run, 1)[c.figure]
		if !there || got < c.from || got > c.to {
			t.Errorf("%s/%s: %v is %v, want %v to %v", c.question, c.run, c.figure, got, c.from, c.to)
		}
	}
}

func TestPredictionsRepeat(t *testing.T) {
	run := find(t, Startup, "5")
	first, second := Predict(&run), Predict(&run)
	if !slices.Equal(first, second) || len(first) < 5 {
		t.Errorf("%v\n%v", first, second)
	}
	for _, p := range first {
		if !(p.Low <= p.Median && p.Median <= p.High) {
			t.Errorf("%+v", p)
		}
	}
}

func TestTablesAreReadAsWritten(t *testing.T) {
	predictions := []Prediction{{"weights", "50", Figure{"a", CPUSeconds}, 4.8, 4.5, 5.1}}
	var text bytes.Buffer
	if err := WritePredictions(&text, predictions); err != nil {
		t.Fatal(err)
	}
	if read, err := ReadPredictions(&text); err != nil || !slices.Equal(read, predictions) {
		t.Errorf("%v, %v", read, err)
	}
	path := filepath.Join(t.TempDir(), "measured.csv")
	measured := []Measurement{{"weights", "50", 1, Figure{"a", CPUSeconds}, 4.7}, {"weights", "50", 2, Figure{"a", CPUSeconds}, 4.9}}
	for i := range measured {
		if err := Append(path, measured[i:i+1]); err != nil {
			t.Fatal(err)
		}
	}
	written, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if read, err := ReadMeasurements(strings.NewReader(string(written))); err != nil || !slices.Equal(read, measured) {
		t.Errorf("%v, %v", read, err)
	}
}
