package draw

import "math"

// Figure is stacked panels over one axis, of time unless XUnit sets another.
type Figure struct {
	Title    string
	Subtitle string
	Panels   []Panel
	Width    int    // pixels of the SVG; 0 = 960
	XUnit    string // what X counts, written at the axis: "% of the CPU limit"; empty = time, in seconds
}

// Panel is one plot: lines that share a unit.
type Panel struct {
	Title  string
	Unit   string // "requests/s", "cores", "s" (durations), "%"; shown with the axis
	Lines  []Line
	Marks  []HLine
	Bands  []Band
	Height int  // pixels of the SVG; 0 = 150
	Free   bool // the axis need not begin at 0
}

// Line is one series. NaN is a gap.
type Line struct {
	Name string
	X    []float64 // seconds, or the figure's XUnit; never falling
	Y    []float64
	Step bool // holds its value until the next point
	Area bool // filled down to the axis
	Dots bool // separate points, not joined
}

// HLine is a level to compare with, such as an SLO.
type HLine struct {
	Name string
	Y    float64
}

// Band is a stretch of time, such as a phase of training or an outage.
type Band struct {
	Name     string
	From, To float64 // seconds
}

// extent is the range of finite values.
type extent struct{ low, high float64 }

func noExtent() extent { return extent{math.Inf(1), math.Inf(-1)} }

func (e *extent) add(v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return
	}
	e.low, e.high = min(e.low, v), max(e.high, v)
}

func (e extent) empty() bool { return e.low > e.high }

// widened makes an empty or single-point range drawable.
func (e extent) widened() extent {
	switch {
	case e.empty():
		return extent{0, 1}
	case e.low == e.high && e.low == 0:
		return extent{0, 1}
	case e.low == e.high:
		return extent{min(0, e.low), max(0, e.high)}
	case math.IsInf(e.high-e.low, 0):
		// Twice the largest number overflows.
		return extent{e.low / 2, e.high / 2}
	}
	return e
}

// share is the position of a value in the range, 0 to 1.
func (e extent) share(v float64) float64 { return (v - e.low) / (e.high - e.low) }

// points is how many points of a line have both coordinates.
func (l *Line) points() int { return min(len(l.X), len(l.Y)) }

// timeRange is the time that all panels together cover.
func (f *Figure) timeRange() extent {
	e := noExtent()
	for p := range f.Panels {
		for i := range f.Panels[p].Lines {
			l := &f.Panels[p].Lines[i]
			for _, x := range l.X[:l.points()] {
				e.add(x)
			}
		}
		for _, b := range f.Panels[p].Bands {
			e.add(b.From)
			e.add(b.To)
		}
	}
	return e.widened()
}

// valueRange is the panel's axis and its ticks, about the given number.
func (p *Panel) valueRange(ticks int) (extent, []float64) {
	e := noExtent()
	for i := range p.Lines {
		l := &p.Lines[i]
		for _, y := range l.Y[:l.points()] {
			e.add(y)
		}
	}
	for _, m := range p.Marks {
		e.add(m.Y)
	}
	if !p.Free {
		e.add(0)
	}
	e = e.widened()
	step := niceStep((e.high - e.low) / float64(ticks))
	// The axis ends at a tick if one is close, else slightly beyond the data: rounding 11 up to
	// 15 would leave a quarter of the panel empty.
	spare := (e.high - e.low) * 0.06
	if e.high != 0 {
		e.high = min(math.Ceil(e.high/step-1e-9)*step, e.high+spare)
	}
	if e.low != 0 {
		e.low = max(math.Floor(e.low/step+1e-9)*step, e.low-spare)
	}
	return e, ticksOf(e, step)
}
