package draw

import (
	"bytes"
	"encoding/xml"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; look at it and run with -update\n%s", name, got)
	}
}

// sample has one of everything.
func sample() Figure {
	var x, load, latency []float64
	for i := range 97 {
		at := float64(i) * 900
		x = append(x, at)
		load = append(load, 120-80*math.Cos(2*math.Pi*(at-3*3600)/86400))
		latency = append(latency, 0.05+load[i]/1500)
	}
	latency[30], latency[31] = math.NaN(), math.NaN()
	return Figure{
		Title: "a day <&> more", Subtitle: "sample",
		Panels: []Panel{
			{Title: "Load", Unit: "requests/s", Lines: []Line{{Name: "Load", X: x, Y: load, Area: true}},
				Bands: []Band{{"night", 0, 6 * 3600}}},
			{Title: "Replicas", Lines: []Line{
				{Name: "front", X: []float64{0, 20000, 50000}, Y: []float64{1, 4, 2}, Step: true},
				{Name: "back", X: []float64{0, 30000}, Y: []float64{2, 3}, Step: true}}},
			{Title: "Latency", Unit: "s", Lines: []Line{{Name: "p99", X: x, Y: latency}}, Marks: []HLine{{"SLO 150 ms", 0.15}}},
		},
	}
}

func TestGoldens(t *testing.T) {
	golden(t, "sample.svg", sample().SVG())
	golden(t, "sample.txt", []byte(sample().Terminal(80, false)))
}

var notANumber = regexp.MustCompile(`="[^"]*(NaN|Inf)`)

func wellFormed(t *testing.T, svg []byte) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		_, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("not XML: %v", err)
		}
	}
	if bad := notANumber.Find(svg); bad != nil {
		t.Fatalf("a coordinate is not a number: %s", bad)
	}
}

func TestSVGIsWellFormedAndItsTextEscaped(t *testing.T) {
	svg := sample().SVG()
	wellFormed(t, svg)
	if !bytes.Contains(svg, []byte("a day &lt;&amp;&gt; more")) {
		t.Error("the title is not escaped")
	}
	if !bytes.Contains(svg, []byte("prefers-color-scheme:dark")) {
		t.Error("no dark style")
	}
}

// A month of seconds becomes a figure of a few hundred kilobytes in which a spike of one second
// is still visible.
func TestSpikeSurvivesReduction(t *testing.T) {
	n := 31 * 86400
	l := Line{X: make([]float64, n), Y: make([]float64, n)}
	for i := range n {
		l.X[i], l.Y[i] = float64(i), 1+0.1*math.Sin(float64(i))
	}
	l.Y[1234567] = 50
	columns := l.reduced(extent{0, float64(n)}, 800)
	highest := 0.0
	for _, c := range columns {
		highest = max(highest, c.high)
	}
	if highest != 50 {
		t.Errorf("highest drawn %v", highest)
	}
	svg := Figure{Panels: []Panel{{Lines: []Line{l}}}}.SVG()
	if len(svg) > 200_000 {
		t.Errorf("%d bytes", len(svg))
	}
}

func TestGapsSplitALine(t *testing.T) {
	d := &drawing{width: 960, time: extent{0, 4}}
	y := func(v float64) float64 { return v }
	l := Line{X: []float64{0, 1, 2, 3, 4}, Y: []float64{1, 1, math.NaN(), 2, 2}}
	if got := len(d.pieces(&l, y)); got != 2 {
		t.Errorf("%d pieces", got)
	}
	l.Step = true
	pieces := d.pieces(&l, y)
	if got := pieces[0].line[len(pieces[0].line)-1].x; got != d.x(2) {
		t.Errorf("a held value ends at %v, not where the gap begins", got)
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		name string
		got  []string
		want []string
	}{
		{"round numbers", numberLabels([]float64{0, 100, 200}, "requests/s"), []string{"0", "100", "200"}},
		{"decimals alike", numberLabels([]float64{0, 0.5, 1}, ""), []string{"0", "0.5", "1.0"}},
		{"thousands", numberLabels([]float64{0, 5000, 10000}, ""), []string{"0", "5k", "10k"}},
		{"millions", numberLabels([]float64{0, 2.5e6}, ""), []string{"0", "2.5M"}},
		{"milliseconds", numberLabels([]float64{0, 0.1, 0.2}, "s"), []string{"0", "100 ms", "200 ms"}},
		{"microseconds", numberLabels([]float64{0, 0.0002}, "s"), []string{"0", "200 µs"}},
		{"per cent", numberLabels([]float64{0, 50, 100}, "%"), []string{"0 %", "50 %", "100 %"}},
		{"hours", second(timeTicks(extent{0, 86400}, 8)), []string{"0:00", "3:00", "6:00", "9:00", "12:00", "15:00", "18:00", "21:00",
			"24:00"}},
		{"days", second(timeTicks(extent{0, 3 * 86400}, 4)), []string{"day 0", "day 1", "day 2", "day 3"}},
		{"days and hours", second(timeTicks(extent{0, 2 * 86400}, 4)), []string{"day 0", "12:00", "day 1", "12:00", "day 2"}},
		{"minutes", second(timeTicks(extent{0, 1800}, 3)), []string{"0:00", "0:10", "0:20", "0:30"}},
		{"seconds", second(timeTicks(extent{0, 20}, 4)), []string{"0 s", "5 s", "10 s", "15 s", "20 s"}},
		{"parts of a second", second(timeTicks(extent{0, 1}, 2)), []string{"0 s", "0.5 s", "1 s"}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, c.got, c.want)
		}
	}
	for wanted, want := range map[float64]float64{0.3: 0.5, 1: 1, 1.1: 2, 2.2: 5, 22: 25, 7: 10, 0.0011: 0.002} {
		if got := niceStep(wanted); math.Abs(got-want) > 1e-12 {
			t.Errorf("step for %v is %v", wanted, got)
		}
	}
}

func second(_ []float64, labels []string) []string { return labels }

func TestTerminalKeepsItsWidth(t *testing.T) {
	for _, width := range []int{30, 60, 132} {
		for line := range strings.Lines(sample().Terminal(width, false)) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > width {
				t.Errorf("width %d: a line of %d", width, n)
			}
		}
	}
	f := sample()
	f.Title = "evil\x1b[2J\nname"
	if text := f.Terminal(80, false); strings.Contains(text, "\x1b") || strings.Contains(text, "evil\n") {
		t.Error("a name reaches the terminal unchecked")
	}
	plain := regexp.MustCompile("\x1b\\[[0-9]*m").ReplaceAllString(sample().Terminal(80, true), "")
	if strings.ReplaceAll(plain, " ", "") != strings.ReplaceAll(sample().Terminal(80, false), " ", "") {
		t.Error("colour changes the drawing")
	}
}

func TestLegendCountsWhatDoesNotFit(t *testing.T) {
	p := Panel{Title: "Replicas"}
	for range 60 {
		p.Lines = append(p.Lines, Line{Name: "ts-some-service"})
	}
	svg := Figure{Panels: []Panel{p}}.SVG()
	wellFormed(t, svg)
	if !regexp.MustCompile(`>\+5\d<`).Match(svg) {
		t.Error("the rest of the legend is not counted")
	}
}

func FuzzFigure(f *testing.F) {
	f.Add(0.0, 1.0, 2.0, 3.0, 4.0, false, "title")
	f.Add(math.NaN(), math.Inf(1), -math.MaxFloat64, math.MaxFloat64, 5e-324, true, "\x00<")
	f.Add(-1.0, -1.0, -1.0, -1.0, 1e300, true, "µ")
	f.Fuzz(func(t *testing.T, a, b, c, d, e float64, step bool, name string) {
		line := Line{Name: name, X: []float64{a, b, c, d}, Y: []float64{b, e, d, a}, Step: step, Area: !step}
		long := Line{X: make([]float64, 700), Y: make([]float64, 700), Step: step} // more than columns
		for i := range long.X {
			long.X[i], long.Y[i] = float64(i)*a, math.Mod(float64(i)*c, 7)
		}
		fig := Figure{Title: name, Width: smallestWidth, Panels: []Panel{
			{Title: name, Unit: name, Lines: []Line{line, long}, Marks: []HLine{{name, e}}, Bands: []Band{{name, a, b}}, Free: step},
			{Unit: "s", Lines: []Line{line}},
		}}
		wellFormed(t, fig.SVG())
		if text := fig.Terminal(50, false); !utf8.ValidString(text) && utf8.ValidString(name) {
			t.Fatal("not text")
		}
	})
}

func TestLongSubtitlesWrap(t *testing.T) {
	lines := wrapped("one two three four", 9)
	if want := []string{"one two", "three", "four"}; !slices.Equal(lines, want) {
		t.Errorf("%q, want %q", lines, want)
	}
	if lines := wrapped("", 9); len(lines) != 0 {
		t.Errorf("nothing became %q", lines)
	}
}

func TestAFigureNeedNotBeOverTime(t *testing.T) {
	f := Figure{
		XUnit: "% of the limit",
		Panels: []Panel{{Title: "p99", Unit: "s", Lines: []Line{
			{Name: "measured", X: []float64{10, 50, 90}, Y: []float64{0.1, math.NaN(), 0.9}, Dots: true},
			{Name: "twin", X: []float64{10, 50, 90}, Y: []float64{0.1, 0.2, 0.8}},
		}}},
	}
	svg := string(f.SVG())
	if n := strings.Count(svg, "<circle"); n != 2 {
		t.Errorf("%d dots, want 2: one is not a number", n)
	}
	for _, want := range []string{"% of the limit", ">50</text>", ">90</text>"} {
		if !strings.Contains(svg, want) {
			t.Errorf("%q is not in the picture", want)
		}
	}
	if regexp.MustCompile(`\d+ s</text>\s*$`).MatchString(svg) || strings.Contains(svg, "0:00") {
		t.Error("the axis tells the time")
	}
	if text := f.Terminal(80, false); !strings.Contains(text, "╵40") {
		t.Errorf("the ruler does not count by the unit:\n%s", text)
	}
}
