package bench

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/loadline/loadline/internal/result"
)

func madeRecord(policy, label string, seed uint64, coreHours, over float64, axes ...string) *Record {
	return &Record{
		Key: label + string(rune('0'+seed)), Seed: seed, Axes: axes,
		Case: Case{App: "a", Workload: "w", Policy: policy, Label: label, Perturbation: none, Engine: "event"},
		Result: result.Result{CoreHours: result.Number(coreHours), Bill: result.Number(coreHours), OverSLORatio: result.Number(over),
			DegradedRatio: result.Number(over)},
		Bound: 2,
	}
}

func TestAggregateByHand(t *testing.T) {
	r := aggregate([]*Record{
		madeRecord("hpa", "hpa", 1, 10, 0.001, axisReplicas), madeRecord("hpa", "hpa", 2, 12, 0.002, axisReplicas), madeRecord("hpa",
			"hpa", 3, 14, 0.003, axisReplicas),
		madeRecord("new", "new", 1, 9, 0.001, axisReplicas), madeRecord("new", "new", 2, 10, 0.02, axisReplicas), madeRecord("new",
			"new", 3, 11, 0.001, axisReplicas),
		madeRecord("vpa", "vpa", 1, 9, 0, axisCPU),
		madeRecord("oracle", "oracle", 1, 5, 0, axisReplicas), madeRecord("oracle", "oracle", 2, 5, 0,
			axisReplicas), madeRecord("oracle", "oracle", 3, 5, 0, axisReplicas),
		madeRecord("oracle:axes=replicas+cpu", "with cpu", 1, 3, 0, axisReplicas),
	}, "hpa")
	if len(r.Rows) != 5 {
		t.Fatalf("%d rows", len(r.Rows))
	}
	hpa, next, vpa := r.Rows[0], r.Rows[1], r.Rows[2]
	near(t, "mean", float64(hpa.Measures["core_hours"].Mean), 12, 1e-12)
	near(t, "high", float64(hpa.Measures["core_hours"].High), 12+4.302653*2/math.Sqrt(3), 1e-6)
	// Differences seed by seed: -1, -2, -3.
	near(t, "difference", float64(next.Against["core_hours"].Mean), -2, 1e-12)
	near(t, "its interval", float64(next.Against["core_hours"].High), -2+4.302653/math.Sqrt(3), 1e-6)
	near(t, "baseline against itself", float64(hpa.Against["core_hours"].High), 0, 0)
	near(t, "over the oracle", float64(hpa.OverOracle.Mean), (10+12+14)/15., 1e-12)
	near(t, "above the oracle", float64(hpa.AboveOracle.Mean), 12-5, 1e-12)
	near(t, "above the bound", float64(hpa.AboveBound.Mean), 12-2, 1e-12)
	near(t, "whatever it changes", float64(vpa.OverOracle.Mean), 9./5, 1e-12)
	near(t, "the oracle over itself", float64(r.Rows[3].OverOracle.Mean), 1, 0)
	if !hpa.Met || next.Met {
		t.Error("one run of three over 1 % breaks the SLO, none keeps it")
	}
	if !slices.Equal(next.Runs, []string{"new1", "new2", "new3"}) {
		t.Errorf("runs %v", next.Runs)
	}
}

// TestBillBelowTheBoundIsMarked: it is a fault of the bench, and no reason to stop.
func TestBillBelowTheBoundIsMarked(t *testing.T) {
	low := madeRecord("hpa", "hpa", 1, 1, 0)
	low.BelowBound = true
	r := aggregate([]*Record{low, madeRecord("oracle", "oracle", 1, 4, 0)}, "hpa")
	var text, markdown strings.Builder
	if err := errors.Join(r.WriteText(&text), r.WriteMarkdown(&markdown)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"-50.0 % !", "! " + belowLegend, "-75.0 %", "oracle 4, bound 2"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in:\n%s", want, text.String())
		}
	}
	if !strings.Contains(markdown.String(), "| -50.0 % ! |") || !strings.Contains(markdown.String(), "! "+belowLegend) {
		t.Errorf("no mark in\n%s", markdown.String())
	}
	if r.Rows[1].BelowBound {
		t.Error("the oracle is marked too")
	}
}

func TestAnOracleThatViolatesTheSLOIsNoReference(t *testing.T) {
	r := aggregate([]*Record{madeRecord("hpa", "hpa", 1, 10, 0, axisReplicas),
		madeRecord("oracle", "oracle", 1, 5, 0.5, axisReplicas)}, "hpa")
	if r.Rows[0].OverOracle != nil {
		t.Errorf("%+v", r.Rows[0].OverOracle)
	}
}

func TestCSVHasALineForEachMeasure(t *testing.T) {
	r := aggregate([]*Record{madeRecord("hpa:target=60,down-window=0s", "tight", 1, 10, 0.001)}, "tight")
	var b bytes.Buffer
	if err := r.WriteCSV(&b); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(b.String(), "\n"); lines != 1+len(measures)+len([]string{"bound", "above_bound", "bound_core_hours"}) {
		t.Errorf("%d lines:\n%s", lines, b.String())
	}
	if !strings.Contains(b.String(), `,a,w,none,event,,tight,"hpa:target=60,down-window=0s",1,true,core_hours,10,,,0,,`) {
		t.Errorf("no line of core-hours in:\n%s", b.String())
	}
}

func TestDrift(t *testing.T) {
	make := func(cost float64, labels ...string) *Results {
		var all []*Record
		for _, l := range labels {
			r := madeRecord(l, l, 1, cost, 0)
			r.DecisionUs = result.Number(cost * 100)
			all = append(all, r)
		}
		return aggregate(all, labels[0])
	}
	if d := Drift(make(1, "hpa"), make(1+1e-9, "hpa")); len(d) != 0 {
		t.Errorf("rounding is drift: %v", d)
	}
	d := strings.Join(Drift(make(1, "hpa", "kpa"), make(1.001, "hpa", "vpa")), "\n")
	for _, want := range []string{"core_hours was 1, is 1.001", "kpa (kpa) on a, w, none: gone", "vpa (vpa) on a, w, none: new"} {
		if !strings.Contains(d, want) {
			t.Errorf("%q is not in:\n%s", want, d)
		}
	}
	if strings.Contains(d, DecisionUs) {
		t.Error("what never repeats is drift")
	}
}

func TestMarkdownSaysWhoIsCheapestWithTheSLOMet(t *testing.T) {
	row := func(label string, cost float64, met bool) Row {
		return Row{
			Case: Case{App: "shop", Workload: "day", Policy: label, Label: label, Perturbation: none}, Seeds: 3, Met: met,
			Measures: map[string]Interval{"bill": {Mean: result.Number(cost), Low: result.Number(cost - 1),
				High: result.Number(cost + 1)}},
			Against: map[string]Interval{"bill": {Mean: result.Number(cost - 10), Low: -3, High: -1}},
		}
	}
	r := Results{Suite: "test", Baseline: "hpa", Seeds: 3, Rows: []Row{row("hpa", 10, true), row("ursa", 8, true), row("vpa", 5, false),
		row("oracle", 7, true)}}
	var b strings.Builder
	if err := r.WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| shop, workload day | **ursa** | 8 +- 1 | -20.0 % * | - | - | 0 | 0 | vpa |", "| vpa | violated | (5 +- 1) |"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in:\n%s", want, b.String())
		}
	}
}

func TestDigitsAreForPeople(t *testing.T) {
	for v, want := range map[float64]string{0.12345: "0.123", 12.3456: "12.3", 512: "512", 2048: "2048"} {
		if got := digits(v); got != want {
			t.Errorf("%v is written %s, want %s", v, got, want)
		}
	}
}
