package measure

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestPlansAreWithinTheMachine(t *testing.T) {
	names := map[string]bool{}
	for _, run := range ContentionRuns() {
		if names[run.Name] {
			t.Errorf("two runs have the name %s", run.Name)
		}
		names[run.Name] = true
		load := 0.0
		for _, s := range run.Servers {
			perSecond := s.Rate
			if s.Every > 0 {
				perSecond = 1 / s.Every.Seconds()
			}
			load += perSecond * s.Demand.Seconds()
			if !slices.Contains([][2]int{{1, 1}, {0, 1}}, [2]int{s.cores()[0], s.cores()[len(s.cores())-1]}) {
				t.Errorf("%s: server %s is on cores %s", run.Name, s.Name, s.CPUs)
			}
		}
		if load <= 0 || load > 1.001 {
			t.Errorf("%s: load of %.2f cores, want at most one", run.Name, load)
		}
	}
	if len(names) < 40 {
		t.Errorf("%d runs, want at least 40", len(names))
	}
}

func TestArrivalsHaveTheRateAndTheDemand(t *testing.T) {
	s := Server{Demand: 10 * time.Millisecond, CV: 0.8, Rate: 1000}
	requests := s.requests(rand.New(rand.NewPCG(1, 2)))
	if n := float64(len(requests)); math.Abs(n/(1000*Length.Seconds())-1) > 0.02 {
		t.Errorf("%.0f requests in %v at 1000/s", n, Length)
	}
	var sum, squares float64
	for i, r := range requests {
		ms := r.cpu.Seconds() * 1e3
		sum, squares = sum+ms, squares+ms*ms
		if i > 0 && r.due < requests[i-1].due {
			t.Fatal("arrivals are not in order")
		}
	}
	mean := sum / float64(len(requests))
	cv := math.Sqrt(squares/float64(len(requests))-mean*mean) / mean
	if math.Abs(mean-10) > 0.2 || math.Abs(cv-0.8) > 0.05 {
		t.Errorf("demand of %.2f ms with CV %.2f, want 10 ms and 0.8", mean, cv)
	}
	burst := Server{Demand: 3 * time.Second, Every: 8 * time.Second}
	if got := burst.requests(nil); len(got) != 4 || got[3] != (request{24 * time.Second, 3 * time.Second}) {
		t.Errorf("bursts every 8 s: %v", got)
	}
}

func TestTableKeepsRunsOfEarlierSessions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.csv")
	runs := ContentionRuns()
	for i := range 2 {
		table, err := OpenTable(path)
		if err != nil {
			t.Fatal(err)
		}
		if table.Has(runs[i].Name) {
			t.Errorf("%s is there before it was measured", runs[i].Name)
		}
		if err := table.Put([]Result{{Run: runs[i], Server: runs[i].Servers[0], Sent: 7, MeanMs: 1.5}}); err != nil {
			t.Fatal(err)
		}
	}
	table, err := OpenTable(path)
	if err != nil {
		t.Fatal(err)
	}
	if !table.Has(runs[0].Name) || !table.Has(runs[1].Name) || table.Has(runs[2].Name) {
		t.Errorf("rows: %v", table.rows)
	}
}

func TestQuantilesOfAnswers(t *testing.T) {
	a := answered{latencyMs: []float64{1, 2, 3, 4, 5}}
	if a.quantile(0.5) != 3 || a.quantile(1) != 5 || a.mean() != 3 {
		t.Errorf("median %g, maximum %g, mean %g of 1..5", a.quantile(0.5), a.quantile(1), a.mean())
	}
	if none := (&answered{}); !math.IsNaN(none.quantile(0.99)) {
		t.Error("a p99 of no answers")
	}
}
