package validate

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline/lab/data"
)

// The achieved errors on runs that were not fitted, with a small margin. docs/validation.md has
// the goals: CPU 5 %, p99 20 %, throttled periods 5 %.
func TestContentionAgreesWithRealProcesses(t *testing.T) {
	r, err := Contention(t.Context(), ContentionOptions{Seeds: 15})
	if err != nil {
		t.Fatal(err)
	}
	event, fluid := &r.Engines[eventEngine].HeldOut, &r.Engines[fluidEngine].HeldOut
	atMost(t, "event: median error of CPU, held out", event.CPU.Median, askedCPU)
	atMost(t, "event: median error of the p99, held out", event.P99.Median, askedTail)
	atMost(t, "event: median error of periods, held out", event.Periods.Median, 0.01)
	atMost(t, "event: median error of throttled periods, held out", event.Throttled.Median, 0.15)
	atMost(t, "fluid: median error of CPU, held out", fluid.CPU.Median, askedCPU)
	atMost(t, "fluid: median error of the p99, held out", fluid.P99.Median, 0.35)
	atMost(t, "fluid: median error of periods, held out", fluid.Periods.Median, 0.01)
	if event.P99.N < 15 || event.Throttled.N < 8 {
		t.Errorf("only %d p99s and %d numbers of throttled periods are held out", event.P99.N, event.Throttled.N)
	}
	var text bytes.Buffer
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"event, held out", "fluid engine, held out", "pair 256:1024", "three-90", "cfs 0.2 cores"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the report has no %q", want)
		}
	}
	if strings.Contains(text.String(), "NaN") {
		t.Error("the report has a NaN")
	}
}

// A burst of CPU takes as long as its weight lets it: alone its CPU time, beside a saturated
// server of the same weight twice that.
func TestABurstIsSimulatedAsMeasured(t *testing.T) {
	for name, c := range map[string]struct {
		rate, seconds float64
	}{
		"alone":                     {0.01, 3},
		"beside a saturated server": {200, 6},
	} {
		run := contentionRun{
			Name: name, Cores: 1, Length: 30 * time.Second, Counted: [2]time.Duration{5 * time.Second, 30 * time.Second},
			Servers: []contender{
				{Name: "a", Shares: 512, Replicas: 1, DemandMs: 10, Rate: c.rate},
				{Name: "b", Shares: 512, Replicas: 1, DemandMs: 3000, Every: 8 * time.Second},
			},
		}
		burst := run.simulate(eventEngine, Overhead{}, 1)[1]
		if got := burst.MeanMs / 1e3; math.Abs(got-c.seconds) > 0.05*c.seconds {
			t.Errorf("%s: a burst takes %.2f s, want %.0f s", name, got, c.seconds)
		}
		if burst.CPUSeconds < 8.5 || burst.CPUSeconds > 10.5 { // between 5 s and 30 s: bursts at 8, 16 and 24 s
			t.Errorf("%s: the bursts use %.1f s of CPU, want about 9 s", name, burst.CPUSeconds)
		}
	}
}

func TestHalvesAreFixed(t *testing.T) {
	runs, err := readContention()
	if err != nil {
		t.Fatal(err)
	}
	out, of := map[string]int{}, map[string]int{}
	for i, held := range heldOut(runs) {
		of[runs[i].Set]++
		if held {
			out[runs[i].Set]++
		}
	}
	for set, n := range of {
		if out[set] != n/2 {
			t.Errorf("%s: %d of %d runs are held out, want half", set, out[set], n)
		}
	}
	if of["pairs"] != 16 || of["cfs"] != 18 || of["runs"] < 13 {
		t.Errorf("runs by set: %v, want 16 pairs, 18 of cfs and at least 13 runs", of)
	}
}

func TestFaultsInContentionTablesAreNamed(t *testing.T) {
	text := strings.Replace(data.ContentionRuns, "drawn_ms", "drawn", 1)
	if _, err := readContentionRuns(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), `no column "drawn_ms"`) {
		t.Errorf("a missing column: %v", err)
	}
	text = strings.Replace(data.ContentionPairs, "959", "many", 1)
	if _, err := readPairs(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), "line 2: v_completed") {
		t.Errorf("a number that is none: %v", err)
	}
}
