package draw

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// Scatter is points in a plane, such as cost against violations. The vertical axis is
// logarithmic; values below Floor are drawn there.
type Scatter struct {
	Title, Subtitle string
	X, Y            string  // names of the axes, with their units
	Floor           float64 // lowest of the vertical axis, above 0
	Points          []Point
	Marks           []HLine
}

// Point is one thing and its place.
type Point struct {
	Name  string
	X, Y  float64
	Group int  // points of one group have the same colour
	Front bool // on the front, which is joined by a line
}

// drawn are the points with finite coordinates, from left to right.
func (s Scatter) drawn() []Point {
	points := slices.DeleteFunc(slices.Clone(s.Points), func(p Point) bool {
		return math.IsNaN(p.X+p.Y) || math.IsInf(p.X, 0) || math.IsInf(p.Y, 0)
	})
	slices.SortStableFunc(points, func(a, b Point) int {
		if a.X < b.X {
			return -1
		}
		return 1
	})
	return points
}

// place of a value on the vertical axis.
func (s Scatter) place(y float64) float64 { return math.Log10(max(y, s.floor())) }

func (s Scatter) floor() float64 {
	if s.Floor > 0 {
		return s.Floor
	}
	return 1e-6
}

// ranges of both axes, and their ticks.
func (s Scatter) ranges(points []Point) (x, y extent, xTicks, yTicks []float64) {
	x, y = noExtent(), noExtent()
	for _, p := range points {
		x.add(p.X)
		y.add(s.place(p.Y))
	}
	for _, m := range s.Marks {
		y.add(s.place(m.Y))
	}
	y.add(s.place(0))
	x = x.widened()
	spare := (x.high - x.low) * 0.06
	x = extent{x.low - spare, x.high + spare}
	y.low, y.high = math.Floor(y.low), math.Ceil(y.high)
	if y.low == y.high {
		y.high++
	}
	for v := y.low; v <= y.high; v++ {
		yTicks = append(yTicks, v)
	}
	return x, y, ticksOf(x, niceStep((x.high-x.low)/5)), yTicks
}

func (s Scatter) yLabel(tick float64) string {
	text := plain(math.Pow(10, tick))
	if math.Pow(10, tick) <= s.floor() {
		return "≤ " + text
	}
	return text
}

const (
	scatterHeight = 360.0
	scatterWidth  = 960
)

// SVG draws the points, each with its name.
func (s Scatter) SVG() []byte {
	points := s.drawn()
	xs, ys, xTicks, yTicks := s.ranges(points)
	d := &drawing{width: scatterWidth, time: xs}
	subtitle := wrapped(s.Subtitle, int(float64(d.width-40)/softWidth))
	top := 62 + 18*float64(len(subtitle))
	height := top + scatterHeight + 52
	y := func(v float64) float64 { return top + (1-ys.share(v))*scatterHeight }
	fmt.Fprintf(&d.out, `<svg xmlns="http://www.w3.org/2000/svg" class="ll" viewBox="0 0 %d %s" width="%d" height="%s" role="img">`+
		"\n", d.width, px(height), d.width, px(height))
	fmt.Fprintf(&d.out, "<title>%s</title>\n<style>%s</style>\n", escaped(s.Title), style)
	fmt.Fprintf(&d.out, `<rect class="paper" width="%d" height="%s" rx="8"/>`+"\n", d.width, px(height))
	d.text(20, 30, "title", "start", s.Title)
	for i, line := range subtitle {
		d.text(20, 48+18*float64(i), "soft", "start", line)
	}
	d.text(20, top-10, "head", "start", s.Y)
	for _, t := range yTicks {
		d.line(d.left(), y(t), d.right(), y(t), "grid")
		d.text(d.left()-8, y(t)+4, "soft", "end", s.yLabel(t))
	}
	for i, label := range numberLabels(xTicks, "") {
		d.line(d.x(xTicks[i]), top, d.x(xTicks[i]), top+scatterHeight, "grid faint")
		d.text(d.x(xTicks[i]), top+scatterHeight+18, "soft", "middle", label)
	}
	d.line(d.left(), top+scatterHeight, d.right(), top+scatterHeight, "axis")
	d.text(d.right(), top+scatterHeight+38, "head", "end", s.X)
	for _, m := range s.Marks {
		at := y(s.place(m.Y))
		d.line(d.left(), at, d.right(), at, "mark")
		d.text(d.right()-4, at-5, "marked", "end", m.Name)
	}
	front := ""
	for _, p := range points {
		if p.Front {
			front += fmt.Sprintf(" %s,%s", px(d.x(p.X)), px(y(s.place(p.Y))))
		}
	}
	fmt.Fprintf(&d.out, `<polyline class="line c7" points="%s"/>`+"\n", strings.TrimSpace(front))
	d.named(points, top, func(p Point) (float64, float64) { return d.x(p.X), y(s.place(p.Y)) })
	d.out.WriteString("</svg>\n")
	return d.out.Bytes()
}

// named draws points with their names beside them, without overlaps and below the top.
func (d *drawing) named(points []Point, top float64, at func(Point) (x, y float64)) {
	taken := [][4]float64{{0, 0, float64(d.width), top - 4}} // left, top, right, bottom
	free := func(box [4]float64) bool {
		return !slices.ContainsFunc(taken, func(t [4]float64) bool {
			return box[0] < t[2] && t[0] < box[2] && box[1] < t[3] &&
				t[1] < box[3]
		})
	}
	for _, p := range points {
		x, y := at(p)
		taken = append(taken, [4]float64{x - 5, y - 5, x + 5, y + 5})
	}
	for _, p := range points {
		x, y := at(p)
		fmt.Fprintf(&d.out, `<circle class="f%d" cx="%s" cy="%s" r="5"/>`+"\n", p.Group%colours, px(x), px(y))
		wide := textWidth(p.Name)
		left := x+9+wide > d.right()
		anchor, from := "start", x+9
		if left {
			anchor, from = "end", x-9-wide
		}
		row := y + 4
		for _, off := range []float64{0, -14, 14, -28, 28} {
			if box := [4]float64{from, y + off - 8, from + wide, y + off + 6}; free(box) {
				row = y + off + 4
				taken = append(taken, box)
				break
			}
		}
		if left {
			from += wide
		}
		d.text(from, row, "soft", anchor, p.Name)
	}
}

// Terminal draws the points as letters, at most width wide, with a legend below, which says
// which of them are on the front.
func (s Scatter) Terminal(width int) string {
	width = max(width, 40)
	points := s.drawn()
	xs, ys, xTicks, yTicks := s.ranges(points)
	margin := 0
	for _, t := range yTicks {
		margin = max(margin, utf8.RuneCountInString(s.yLabel(t)))
	}
	const rows = 12
	columns := width - margin - 2
	cells := make([][]rune, rows)
	for i := range cells {
		cells[i] = []rune(strings.Repeat(" ", columns))
	}
	for _, m := range s.Marks {
		row := rowOf(s.place(m.Y), rows, ys)
		for i := range cells[row] {
			cells[row][i] = '╌'
		}
	}
	for i, p := range points {
		line := cells[rowOf(s.place(p.Y), rows, ys)]
		at := min(int(xs.share(p.X)*float64(columns)), columns-1)
		for at < columns-1 && line[at] != ' ' && line[at] != '╌' {
			at++ // next to another one at the same position
		}
		line[at] = letter(i)
	}
	var out strings.Builder
	out.WriteString(clipped(clean(s.Title), width) + "\n" + clipped(clean(s.Y), width) + "\n")
	labels := make([]string, len(yTicks))
	for i, t := range yTicks {
		labels[i] = s.yLabel(t)
	}
	for row, line := range cells {
		out.WriteString(pad(labelAt(row, rows, ys, yTicks, labels), margin) + axisMark(row, rows, ys,
			yTicks) + strings.TrimRight(string(line), " ") + "\n")
	}
	ruler := []rune(strings.Repeat(" ", columns))
	free := 0
	for i, label := range numberLabels(xTicks, "") {
		if at := min(int(xs.share(xTicks[i])*float64(columns)), columns-1); at >= free && at+len(label) <= columns {
			copy(ruler[at:], []rune(label))
			free = at + len(label) + 1
		}
	}
	out.WriteString(strings.Repeat(" ", margin+2) + strings.TrimRight(string(ruler), " ") + "  " + clean(s.X) + "\n")
	s.legend(&out, points, width)
	return out.String()
}

// legend in as many columns as fit.
func (s Scatter) legend(out *strings.Builder, points []Point, width int) {
	var names []string
	longest := 0
	for i, p := range points {
		name := string(letter(i)) + " " + clean(p.Name)
		if p.Front {
			name += " (front)"
		}
		names = append(names, name)
		longest = max(longest, utf8.RuneCountInString(name)+2)
	}
	each := max(1, width/max(longest, 1))
	for i, name := range names {
		if i%each == each-1 || i == len(names)-1 {
			out.WriteString(name + "\n")
			continue
		}
		out.WriteString(name + strings.Repeat(" ", longest-utf8.RuneCountInString(name)))
	}
}

// letter of the n-th point.
func letter(n int) rune {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	if n < len(letters) {
		return rune(letters[n])
	}
	return '?'
}
