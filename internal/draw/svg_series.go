package draw

import (
	"bytes"
	"fmt"
	"math"
)

type point struct{ x, y float64 }

// piece is a part of a line between gaps, as points on the page. With more values than pixels,
// line is the mean of each column of pixels, and high and low are its extremes; otherwise there
// is only the line.
type piece struct {
	line, high, low []point
}

// series draws one line: its area, the range of dense values, and the line.
func (d *drawing) series(l *Line, colour int, y func(float64) float64, bottom float64) {
	if l.Dots {
		d.dots(l, colour, y)
		return
	}
	var line, spread, area bytes.Buffer
	for _, p := range d.pieces(l, y) {
		path(&line, 'M', p.line)
		if len(p.line) == 1 { // a single point between gaps is visible too
			line.WriteString("h1")
		}
		if len(p.high) > 1 {
			path(&spread, 'M', p.high)
			for i := len(p.low) - 1; i >= 0; i-- {
				path(&spread, 'L', p.low[i:i+1])
			}
			spread.WriteByte('Z')
		}
		if l.Area {
			first, last := p.line[0], p.line[len(p.line)-1]
			path(&area, 'M', []point{{first.x, bottom}})
			path(&area, 'L', p.line)
			path(&area, 'L', []point{{last.x, bottom}})
			area.WriteByte('Z')
		}
	}
	for _, shape := range []struct {
		class string
		data  *bytes.Buffer
	}{{"area f", &area}, {"spread f", &spread}, {"line c", &line}} {
		if shape.data.Len() > 0 {
			fmt.Fprintf(&d.out, `<path class="%s%d" d="%s"/>`+"\n", shape.class, colour, shape.data.Bytes())
		}
	}
}

// dots draws every point by itself.
func (d *drawing) dots(l *Line, colour int, y func(float64) float64) {
	for i := range l.points() {
		if v := l.X[i] + l.Y[i]; !math.IsNaN(v) && !math.IsInf(v, 0) {
			fmt.Fprintf(&d.out, `<circle class="f%d" cx="%s" cy="%s" r="3"/>`+"\n", colour, px(d.x(l.X[i])), px(y(l.Y[i])))
		}
	}
}

// path writes points, the first with the given command.
func path(b *bytes.Buffer, command byte, points []point) {
	for _, p := range points {
		b.WriteByte(command)
		b.WriteString(px(p.x) + " " + px(p.y))
		command = 'L'
	}
}

func (d *drawing) pieces(l *Line, y func(float64) float64) []piece {
	if columns := int(d.right() - d.left()); l.points() > columns {
		return d.densePieces(l, y, columns)
	}
	var pieces []piece
	var line []point
	held := 0.0
	for i := range l.points() {
		if math.IsNaN(l.X[i]) || math.IsInf(l.X[i], 0) {
			continue
		}
		x := d.x(l.X[i])
		if l.Step && len(line) > 0 {
			line = append(line, point{x, y(held)})
		}
		if math.IsNaN(l.Y[i]) || math.IsInf(l.Y[i], 0) {
			if len(line) > 0 {
				pieces = append(pieces, piece{line: line})
			}
			line = nil
			continue
		}
		held = l.Y[i]
		line = append(line, point{x, y(held)})
	}
	if len(line) > 0 {
		if l.Step {
			line = append(line, point{d.right(), y(held)})
		}
		pieces = append(pieces, piece{line: line})
	}
	return pieces
}

func (d *drawing) densePieces(l *Line, y func(float64) float64, columns int) []piece {
	var pieces []piece
	var p piece
	cut := func() {
		if len(p.line) > 0 {
			pieces = append(pieces, p)
			p = piece{}
		}
	}
	for i, c := range l.reduced(d.time, columns) {
		if c.n > 0 {
			x := d.left() + float64(i) + 0.5
			p.line = append(p.line, point{x, y(c.mean())})
			p.high = append(p.high, point{x, y(c.high)})
			p.low = append(p.low, point{x, y(c.low)})
		}
		if c.gap {
			cut()
		}
	}
	cut()
	return pieces
}
