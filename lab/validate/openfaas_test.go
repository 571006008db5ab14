package validate

import (
	"math"
	"testing"

	"github.com/loadline/loadline/internal/sim"
)

// The bounds are what was reached, with a margin for the few samples of a test;
// docs/validation.md has the whole table.
func TestFunctionsOnANodeHeldOut(t *testing.T) {
	dir := dataFolder(t, openFaaSFile)
	if testing.Short() {
		t.Skip("takes a quarter of a minute")
	}
	r, err := OpenFaaS(t.Context(), OpenFaaSOptions{Data: dir, Tune: 30, Samples: 120, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	far := r.Regions[0]
	atMost(t, "CPU, far from saturation", far.CPU.Model.Median, 0.15)
	atMost(t, "latency, far from saturation", far.Latency.Model.Median, 0.40)
	for _, e := range r.Regions {
		if m := e.Latency.Model.Median; m > e.Latency.Mean.Median || m > e.Latency.Line.Median {
			t.Errorf("%s: latency off by %.0f %%, trivial predictors by %.0f and %.0f %%", e.Name, 100*m, 100*e.Latency.Mean.Median,
				100*e.Latency.Line.Median)
		}
	}
}

func TestARobustLineIgnoresOutliers(t *testing.T) {
	var l line
	for x := range 100 {
		y := 3 + 0.5*float64(x)
		if x%7 == 0 {
			y += 1000
		}
		l.add(float64(x), y)
	}
	base, slope := l.fit(sim.Stream(1, sim.StreamMetrics, 0))
	if math.Abs(slope-0.5) > 0.02 || math.Abs(base-3) > 1 {
		t.Errorf("got %.3f + %.3f x, want 3 + 0.5 x", base, slope)
	}
}

func TestFilesAreNotSplit(t *testing.T) {
	samples := []faasSample{{Class: "a", File: "1"}, {Class: "a", File: "2"}, {Class: "b", File: "1"}, {Class: "a", File: "1"},
		{Class: "a", File: "3"}}
	fit, held := splitByFile(samples)
	if len(fit) != 4 || len(held) != 1 || held[0].File != "2" {
		t.Errorf("fit on %v, held out %v", fit, held)
	}
}
