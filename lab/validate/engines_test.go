package validate

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/sim"
)

// The documented bounds, on the quick part of the grid; the whole grid is printed by
// `loadline-lab engines`.
func TestTheFluidEngineAgreesWithTheEventEngine(t *testing.T) {
	r, err := Engines(context.Background(), EnginesOptions{Quick: true, Requests: 30_000, Seeds: 5, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	s := r.Summarise(nil)
	hold := func(what string, got, at float64) {
		t.Helper()
		if !(got <= at) {
			t.Errorf("%s: %.3f, must be at most %.3f", what, got, at)
		}
	}
	// With 30,000 requests the event engine's own load is uncertain by half a percent or more,
	// which affects every figure below.
	hold("CPU, worst cell", s.CPUWorst, 0.02)
	hold("throughput in saturation, worst cell", s.SaturationWorst, 0.03)
	hold("p99, median cell", s.P99Median, 0.10)
	hold("cells whose p99 is off by more than 30 %", 1-s.P99Within, 0.05)
	hold("share over the SLO in transients, largest difference", s.OverSLOWorst, 0.02)
	if t.Failed() {
		for _, w := range s.Worst {
			t.Logf("%v: event %.1f ms, fluid %.1f ms", w.Cell, w.Event.P99Ms, w.Fluid.P99Ms)
		}
	}
}

func TestTheQuickGridVisitsEveryValueOfEveryAxis(t *testing.T) {
	axes := func(cells []EngineCell) []map[any]bool {
		out := make([]map[any]bool, 5)
		for i := range out {
			out[i] = map[any]bool{}
		}
		for _, c := range cells {
			for i, v := range []any{c.CPU, c.Shape, c.Limit, c.Demand, c.Utilisation} {
				out[i][v] = true
			}
		}
		return out
	}
	whole, quick := axes(EngineGrid(false)), axes(EngineGrid(true))
	for i := range whole {
		if len(whole[i]) != len(quick[i]) {
			t.Errorf("axis %d: %d of %d values", i, len(quick[i]), len(whole[i]))
		}
	}
}

func TestACellHasTheUtilisationItSays(t *testing.T) {
	for _, c := range EngineGrid(true)[:4] {
		r := RunSteady(c, 5_000, 1)
		services := c.Shape.Depth + c.Shape.FanOut
		want := math.Min(c.Utilisation, 1) * c.Limit * float64(c.Replicas*services)
		if math.Abs(r.Event.CPU/want-1) > 0.1 {
			t.Errorf("%v: %.3f cores in use, want about %.3f", c, r.Event.CPU, want)
		}
	}
}

func TestPiecesChangeWhenTheySay(t *testing.T) {
	p := pieces{{0, 1}, {time.Minute, 2}}
	for _, c := range []struct {
		at    time.Duration
		rate  float64
		until time.Duration
	}{{0, 1, time.Minute}, {59 * time.Second, 1, time.Minute}, {time.Minute, 2, sim.Never}} {
		if rate, until := p.Rate(0, c.at); rate != c.rate || until != c.until {
			t.Errorf("at %v: %v until %v", c.at, rate, until)
		}
	}
}

func TestSummaryByHand(t *testing.T) {
	cell := func(u, eventP99, fluidP99, eventCPU, fluidCPU float64) SteadyResult {
		return SteadyResult{Cell: EngineCell{Utilisation: u}, Event: EngineFigures{CPU: eventCPU, P99Ms: eventP99, MeanMs: 1,
			Throughput: 100},
			Fluid: EngineFigures{CPU: fluidCPU, P99Ms: fluidP99, MeanMs: 1, Throughput: 98}}
	}
	s := EnginesReport{
		Steady: []SteadyResult{cell(0.5, 100, 110, 1, 1.01), cell(0.9, 100, 60, 1, 1), cell(0.7, 100, 80, 1, 1),
			cell(1.3, 1, 9, 1, 1)},
		Transients: []TransientResult{{Event: 0.10, Fluid: 0.13}, {Event: 0.2, Fluid: 0.19}},
	}.Summarise(nil)
	want := EnginesSummary{Cells: 4, CPUWorst: 0.01, SaturationWorst: 0.02, P99Median: 0.2, P99Within: 2.0 / 3, OverSLOWorst: 0.03,
		OverSLOMedian: 0.02}
	for what, pair := range map[string][2]float64{
		"CPUWorst": {s.CPUWorst, want.CPUWorst}, "SaturationWorst": {s.SaturationWorst, want.SaturationWorst},
		"P99Median": {s.P99Median, want.P99Median}, "P99Within": {s.P99Within, want.P99Within},
		"OverSLOWorst": {s.OverSLOWorst, want.OverSLOWorst}, "OverSLOMedian": {s.OverSLOMedian, want.OverSLOMedian},
	} {
		if math.Abs(pair[0]-pair[1]) > 1e-9 {
			t.Errorf("%s = %v, want %v", what, pair[0], pair[1])
		}
	}
	if len(s.Worst) != 3 || s.Worst[0].Cell.Utilisation != 0.9 {
		t.Errorf("worst: %+v", s.Worst)
	}
}
