package draw

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"
)

func sampleScatter() Scatter {
	return Scatter{
		Title: "Cost against violations", Subtitle: "three policies", X: "core-hours", Y: "requests over the SLO, %", Floor: 0.01,
		Points: []Point{
			{Name: "cheap <one>", X: 8, Y: 2, Front: true},
			{Name: "safe", X: 12, Y: 0, Group: 1, Front: true},
			{Name: "worse", X: 12.1, Y: 3, Group: 1},
			{Name: "unknown", X: math.NaN(), Y: 1},
		},
		Marks: []HLine{{"allowed", 1}},
	}
}

func TestScatterDrawsEveryPointWithAPlace(t *testing.T) {
	svg := sampleScatter().SVG()
	wellFormed(t, svg)
	text := string(svg)
	if n := strings.Count(text, "<circle"); n != 3 {
		t.Errorf("%d points, want 3", n)
	}
	for _, want := range []string{"cheap &lt;one&gt;", "safe", "worse", "allowed", "≤ 0.01"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not drawn", want)
		}
	}
	if strings.Contains(text, "unknown") || strings.Contains(text, "NaN") {
		t.Error("a point without a place is drawn")
	}
}

func TestScatterInATerminal(t *testing.T) {
	got := sampleScatter().Terminal(60)
	for _, want := range []string{"A cheap <one> (front)", "B safe (front)", "C worse\n", "╌", "core-hours"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	lines := strings.Split(got, "\n")
	for _, line := range lines {
		if utf8.RuneCountInString(line) > 60+12 { // the name of the axis is after its ruler
			t.Errorf("%d wide: %s", utf8.RuneCountInString(line), line)
		}
	}
	row := func(letter string) int {
		for i, line := range lines {
			if _, cells, ok := strings.Cut(line, "│"); ok && strings.Contains(cells, letter) {
				return i
			}
			if _, cells, ok := strings.Cut(line, "┤"); ok && strings.Contains(cells, letter) {
				return i
			}
		}
		return -1
	}
	if !(row("C") >= 0 && row("C") <= row("A") && row("A") < row("B")) {
		t.Errorf("rows of C, A, B: %d, %d, %d\n%s", row("C"), row("A"), row("B"), got)
	}
}

func TestScatterOfNothing(t *testing.T) {
	wellFormed(t, Scatter{}.SVG())
	if got := (Scatter{}).Terminal(10); strings.Contains(got, "NaN") {
		t.Error(got)
	}
}
