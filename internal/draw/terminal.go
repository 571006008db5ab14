package draw

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Terminal draws the figure with characters, at most width wide: each cell is 2 by 4 dots of
// braille. Without colour several lines of one panel cannot be distinguished, so use few.
func (f Figure) Terminal(width int, colour bool) string {
	width = max(width, 30)
	var out strings.Builder
	if f.Title != "" {
		out.WriteString(clipped(clean(f.Title), width) + "\n")
	}
	if f.Subtitle != "" {
		out.WriteString(clipped(clean(f.Subtitle), width) + "\n")
	}
	time := f.timeRange()
	for i := range f.Panels {
		f.Panels[i].terminal(&out, width, time, f.XUnit, colour, i == len(f.Panels)-1)
	}
	return out.String()
}

const terminalRows = 10

var terminalColours = [...]string{"\x1b[34m", "\x1b[33m", "\x1b[32m", "\x1b[35m", "\x1b[36m", "\x1b[31m"}

func (p *Panel) terminal(out *strings.Builder, width int, time extent, unit string, colour, last bool) {
	values, ticks := p.valueRange(4)
	labels := numberLabels(ticks, p.Unit)
	margin := 0
	for _, l := range labels {
		margin = max(margin, utf8.RuneCountInString(l))
	}
	g := newGrid(max(10, width-margin-2), terminalRows)
	for _, m := range p.Marks {
		g.level(values.share(m.Y))
	}
	for i := range p.Lines {
		g.plot(&p.Lines[i], i, time, values)
	}

	heading := p.heading(false)
	if colour && utf8.RuneCountInString(heading) <= width {
		out.WriteString(p.heading(true) + "\n")
	} else { // do not truncate a colour code
		out.WriteString(clipped(heading, width) + "\n")
	}
	for row := range g.rows {
		out.WriteString(pad(labelAt(row, g.rows, values, ticks, labels), margin))
		out.WriteString(axisMark(row, g.rows, values, ticks))
		out.WriteString(g.text(row, colour))
		out.WriteByte('\n')
	}
	if last {
		out.WriteString(strings.Repeat(" ", margin) + timeRuler(time, unit, g.columns) + "\n")
	}
}

// heading is title, unit and legend.
func (p *Panel) heading(colour bool) string {
	text := clean(p.Title)
	if p.Unit != "" {
		text += " (" + clean(p.Unit) + ")"
	}
	for i, l := range p.Lines {
		if l.Name == "" || (len(p.Lines) == 1 && l.Name == p.Title) {
			continue
		}
		sample := "━"
		if colour {
			sample = terminalColours[i%len(terminalColours)] + "━\x1b[0m"
		}
		text += "  " + sample + " " + clean(l.Name)
	}
	for _, m := range p.Marks {
		text += "  ╌ " + clean(m.Name)
	}
	return text
}

func rowOf(v float64, rows int, values extent) int {
	return min(max(int((1-values.share(v))*float64(rows)), 0), rows-1)
}

func labelAt(row, rows int, values extent, ticks []float64, labels []string) string {
	for i := len(ticks) - 1; i >= 0; i-- {
		if rowOf(ticks[i], rows, values) == row {
			return labels[i]
		}
	}
	return ""
}

func axisMark(row, rows int, values extent, ticks []float64) string {
	for _, t := range ticks {
		if rowOf(t, rows, values) == row {
			return " ┤"
		}
	}
	return " │"
}

// timeRuler is the labels of the time axis, each starting below its instant.
func timeRuler(time extent, unit string, columns int) string {
	ticks, labels := axisTicks(time, unit, max(2, columns/12))
	ruler := []rune(strings.Repeat(" ", columns+2))
	free := 0
	for i, t := range ticks {
		at := 2 + int(min(1, time.share(t))*float64(columns-1))
		text := []rune("╵" + labels[i])
		if at < free || at+len(text) > len(ruler) {
			continue
		}
		copy(ruler[at:], text)
		free = at + len(text) + 1
	}
	return strings.TrimRight(string(ruler), " ")
}

func pad(text string, width int) string {
	return strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text))) + text
}

func clipped(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:width-1]) + "…"
}

// clean makes a name safe to print: without line breaks and escape sequences.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}

// grid is braille dots in cells of 2 by 4.
type grid struct {
	columns, rows int
	dots          []byte
	owner         []int // line that drew a cell last; -1 = none
	levels        []bool
}

func newGrid(columns, rows int) *grid {
	g := &grid{columns: columns, rows: rows, dots: make([]byte, columns*rows), owner: make([]int, columns*rows),
		levels: make([]bool, rows)}
	for i := range g.owner {
		g.owner[i] = -1
	}
	return g
}

// brailleBit is the bit of a dot by its position in the cell.
var brailleBit = [4][2]byte{{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}

func (g *grid) dot(x, y, line int) {
	cell := y/4*g.columns + x/2
	g.dots[cell] |= brailleBit[y%4][x%2]
	g.owner[cell] = line
}

func (g *grid) level(share float64) {
	if share >= 0 && share <= 1 {
		g.levels[min(max(int((1-share)*float64(g.rows)), 0), g.rows-1)] = true
	}
}

// plot draws a line: in each column of dots from its lowest to its highest
// value, joined to the column before.
func (g *grid) plot(l *Line, index int, time, values extent) {
	width, height := 2*g.columns, 4*g.rows
	place := func(v float64) int {
		return min(max(int(math.Round((1-values.share(v))*float64(height-1))), 0), height-1)
	}
	before := -1 // column of the last point
	var end float64
	for x, c := range l.reduced(time, width) {
		if c.n == 0 {
			if c.gap {
				before = -1
			}
			continue
		}
		if before >= 0 && !l.Step {
			for k := before + 1; k < x; k++ { // few points: a straight line between them
				part := float64(k-before) / float64(x-before)
				g.column(k, place(end+part*(c.first-end)), place(end+part*(c.first-end)), height, l.Area, index)
			}
		}
		top, bottom := place(c.high), place(c.low)
		if before >= 0 && x == before+1 {
			top, bottom = min(top, place(end)), max(bottom, place(end))
		}
		g.column(x, top, bottom, height, l.Area, index)
		before, end = x, c.last
		if c.gap {
			before = -1
		}
	}
}

func (g *grid) column(x, top, bottom, height int, area bool, index int) {
	if area {
		bottom = height - 1
	}
	for y := top; y <= bottom; y++ {
		g.dot(x, y, index)
	}
}

// text is one row of cells.
func (g *grid) text(row int, colour bool) string {
	var b strings.Builder
	current := -1
	for c := range g.columns {
		cell := row*g.columns + c
		owner := g.owner[cell]
		if colour && owner != current {
			if current >= 0 {
				b.WriteString("\x1b[0m")
			}
			if owner >= 0 {
				b.WriteString(terminalColours[owner%len(terminalColours)])
			}
			current = owner
		}
		switch {
		case g.dots[cell] != 0:
			b.WriteRune(rune(0x2800) + rune(g.dots[cell]))
		case g.levels[row]:
			b.WriteRune('╌')
		default:
			b.WriteByte(' ')
		}
	}
	if current >= 0 {
		b.WriteString("\x1b[0m")
	}
	return strings.TrimRight(b.String(), " ")
}
