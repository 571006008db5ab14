package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loadline/loadline/internal/bench"
)

var two = []contender{
	{label: "hpa", policy: "hpa", cost: []float64{2, 2.1, 2.2}},
	{label: "kpa", policy: "kpa:target=4", cost: []float64{1, 1.1, 1.2}},
}

func TestReadSaysWhatToDo(t *testing.T) {
	overwrite := func(file, text string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	remove := func(files ...string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			for _, file := range files {
				if err := os.RemoveAll(filepath.Join(dir, file)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	run := "runs/run-1-0.json"
	for name, row := range map[string]struct {
		spoil func(*testing.T, string)
		want  []string
	}{
		"nothing there":        {remove("."), []string{"does not exist", "loadline bench --out"}},
		"not a bench":          {remove("results.json", "runs"), []string{"no results.json", "not a bench directory"}},
		"an interrupted bench": {remove("results.json"), []string{"6 runs but no results.json", "run it again with the same flags"}},
		"no rows":              {overwrite("results.json", `{"format":1}`), []string{"no rows"}},
		"torn results": {overwrite("results.json", `{"format":1,"rows":[`),
			[]string{"results.json is truncated", "byte 20 of 20"}},
		"results of a later form": {overwrite("results.json", `{"format":7,"rows":"elsewhere"}`), []string{"format 7", "reads format 1"}},
		"results of another kind": {overwrite("results.json", `{"format":1,"rows":"none"}`), []string{"not what the bench writes"}},
		"a run is missing":        {remove(run), []string{"run-1-0.json is missing", "repeats only missing runs"}},
		"a run is torn": {overwrite(run, `{"format":1,"key":"run-1-0","story":{"t_s":[1,`),
			[]string{"run-1-0.json is truncated", "delete it"}},
		"a run of a later form": {overwrite(run, `{"format":2,"key":"run-1-0"}`), []string{"run-1-0.json has format 2"}},
		"a run under another's name": {overwrite(run, `{"format":1,"key":"run-0-0"}`),
			[]string{`contains run "run-0-0"`}},
		"a story with a short series": {overwrite(run,
			`{"format":1,"key":"run-1-0","story":{"t_s":[1,2],"load_rps":[1],"failed_rps":[0,0],"used_cores":[0,0],"asked_cores":[0,0]}}`),
			[]string{"run-1-0.json", "load_rps has 1 steps and t_s has 2"}},
		"a story that runs backwards": {overwrite(run,
			`{"format":1,"key":"run-1-0","story":{"t_s":[2,1],"load_rps":[1,1],"failed_rps":[0,0],"used_cores":[0,0],`+
				`"asked_cores":[0,0]}}`),
			[]string{"t_s does not rise at step 1"}},
		"a latency below zero": {overwrite(run, `{"format":1,"key":"run-1-0","latency":{"get":[{"up_to_ms":-1,"count":1}]}}`),
			[]string{"latency of get", "not negative"}},
		"a run counted twice": {overwrite(run, `{"format":1,"key":"run-1-0","seed":2}`), []string{"seed 2 occurs twice"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := tinyBench(t, two...)
			row.spoil(t, dir)
			_, err := Read(dir)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range row.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in: %v", want, err)
				}
			}
		})
	}
}

func TestARunOutsideTheFolderIsRefused(t *testing.T) {
	dir := tinyBench(t, two...)
	results, err := bench.ReadResults(dir)
	if err != nil {
		t.Fatal(err)
	}
	results.Rows[0].Runs[0] = "../../secret"
	writeJSON(t, filepath.Join(dir, bench.ResultsJSON), results)
	if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), "not the name of a file") {
		t.Errorf("err %v", err)
	}
}

func TestRowsMayShareARun(t *testing.T) {
	dir := tinyBench(t, two...)
	results, err := bench.ReadResults(dir)
	if err != nil {
		t.Fatal(err)
	}
	results.Rows[1].Runs = results.Rows[0].Runs
	writeJSON(t, filepath.Join(dir, bench.ResultsJSON), results)
	r, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	a, b := r.Summary.Rows[0].Runs[0], r.Summary.Rows[1].Runs[0]
	if len(r.runs) != 3 || a.Chunk != b.Chunk || a.ID == b.ID {
		t.Errorf("%d chunks, runs %+v and %+v", len(r.runs), a, b)
	}
}
