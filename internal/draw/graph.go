package draw

import (
	"cmp"
	"fmt"
	"slices"
)

// Graph is boxes and arrows between them, drawn from left to right, such as services and their
// calls.
type Graph struct {
	Title, Subtitle string
	Boxes           []Box
	Arrows          []Arrow
}

// Box is one node.
type Box struct {
	Name  string
	Lines []string // below the name
	Part  float64  // 0..1: how far its bar is filled; below 0 = no bar
	Hint  string   // tooltip
	Alert bool     // marked as faulty
}

// Arrow leads from one box to another.
type Arrow struct {
	From, To int
	Weight   float64 // 0..1: how thick it is
	Dashed   bool
}

const (
	boxLine   = 15.0 // height of a line of text
	boxPad    = 10.0
	boxBar    = 5.0
	boxGap    = 14.0 // between boxes of a column
	columnGap = 56.0
	bendRoom  = 4.0 // height of an arrow that passes a column
	bold      = 1.1 // how much wider names are than other text
)

// SVG draws the graph, as wide as necessary.
func (g Graph) SVG() []byte {
	l := g.layout()
	width := max(defaultWidth, int(l.width)+40)
	d := &drawing{width: width}
	subtitle := wrapped(g.Subtitle, int(float64(width-40)/softWidth))
	top := 52 + 18*float64(len(subtitle))
	height := top + l.height + 24
	left := (float64(width) - l.width) / 2
	fmt.Fprintf(&d.out, `<svg xmlns="http://www.w3.org/2000/svg" class="ll" viewBox="0 0 %d %s" width="%d" height="%s" role="img">`+
		"\n", width, px(height), width, px(height))
	fmt.Fprintf(&d.out, "<title>%s</title>\n<style>%s%s</style>\n", escaped(g.Title), style, graphShapes)
	fmt.Fprintf(&d.out, `<rect class="paper" width="%d" height="%s" rx="8"/>`+"\n", width, px(height))
	d.text(20, 30, "title", "start", g.Title)
	for i, line := range subtitle {
		d.text(20, 48+18*float64(i), "soft", "start", line)
	}
	for i, a := range g.Arrows {
		d.arrow(&a, l.paths[i], left, top)
	}
	for i := range g.Boxes {
		d.box(&g.Boxes[i], l.boxes[i], left, top)
	}
	d.out.WriteString("</svg>\n")
	return d.out.Bytes()
}

const graphShapes = ".ll .box{stroke-width:1.2}.ll .alert{stroke-width:2}.ll .hollow{fill-opacity:0}.ll .dashed{stroke-dasharray:5 " +
	"4}.ll .tip{stroke:none}"

// arrow draws a smooth line through its points, with an arrowhead.
func (d *drawing) arrow(a *Arrow, path []spot, left, top float64) {
	dashed := ""
	if a.Dashed {
		dashed = " dashed"
	}
	from := path[0]
	text := fmt.Sprintf("M%s %s", px(left+from.x), px(top+from.y))
	for _, to := range path[1:] {
		reach := (to.x - from.x) / 2
		text += fmt.Sprintf("C%s %s %s %s %s %s", px(left+from.x+reach), px(top+from.y), px(left+to.x-reach), px(top+to.y),
			px(left+to.x), px(top+to.y))
		from = to
	}
	fmt.Fprintf(&d.out, `<path class="line axis%s" style="stroke-width:%s" d="%s"/>`+"\n", dashed, px(1+2.5*a.Weight), text)
	x, y := left+from.x, top+from.y
	fmt.Fprintf(&d.out, `<path class="soft tip" d="M%s %sl-7 -4v8z"/>`+"\n", px(x+6), px(y))
}

func (d *drawing) box(b *Box, at frame, left, top float64) {
	x, y := left+at.x, top+at.y
	edge := "axis"
	if b.Alert {
		edge = "mark alert"
	}
	fmt.Fprintf(&d.out, "<g><title>%s</title>\n", escaped(b.Hint))
	fmt.Fprintf(&d.out, `<rect class="band box" x="%s" y="%s" width="%s" height="%s" rx="6"/>`+"\n", px(x), px(y), px(at.width),
		px(at.height))
	fmt.Fprintf(&d.out, `<rect class="%s box hollow" x="%s" y="%s" width="%s" height="%s" rx="6"/>`+"\n", edge, px(x), px(y),
		px(at.width), px(at.height))
	d.text(x+boxPad, y+boxPad+10, "head", "start", b.Name)
	for i, line := range b.Lines {
		d.text(x+boxPad, y+boxPad+10+boxLine*float64(i+1), "soft", "start", line)
	}
	if b.Part >= 0 {
		fill := "f0"
		if b.Alert {
			fill = "marked"
		}
		wide := at.width - 2*boxPad
		under := y + at.height - boxPad - boxBar
		fmt.Fprintf(&d.out, `<rect class="soft" x="%s" y="%s" width="%s" height="%s" rx="2" fill-opacity=".2"/>`+"\n", px(x+boxPad),
			px(under), px(wide), px(boxBar))
		fmt.Fprintf(&d.out, `<rect class="%s" x="%s" y="%s" width="%s" height="%s" rx="2"/>`+"\n", fill, px(x+boxPad), px(under),
			px(wide*min(b.Part, 1)), px(boxBar))
	}
	d.out.WriteString("</g>\n")
}

// frame is the position of a box, spot a point of a line.
type frame struct{ x, y, width, height float64 }
type spot struct{ x, y float64 }

// layout of a graph.
type layout struct {
	boxes         []frame
	paths         [][]spot // by arrow
	width, height float64
}

// place is a box in a column, or the passage of an arrow through one.
type place struct {
	box    int      // -1 = a passage
	before []*place // in the column to the left
	after  []*place
	frame  frame
	order  float64
}

// layout puts each box to the right of its predecessors, and orders the columns to reduce
// crossings: each place moves to the mean of its neighbours, back and forth (Sugiyama's
// method). A backward arrow is drawn, but does not affect the layout.
func (g Graph) layout() layout {
	depths := g.depths()
	columns, ends := g.columns(depths)
	settle(columns)
	l := layout{boxes: make([]frame, len(g.Boxes)), paths: make([][]spot, len(g.Arrows))}
	for _, column := range columns {
		l.height = max(l.height, heightOf(column))
	}
	for i, column := range columns {
		if i > 0 {
			l.width += columnGap
		}
		wide := 0.0
		for _, p := range column {
			wide = max(wide, p.frame.width)
		}
		y := (l.height - heightOf(column)) / 2
		for j, p := range column {
			p.frame.x, p.frame.y, p.frame.width = l.width, y+gapAbove(column, j), wide
			y = p.frame.y + p.frame.height
			if p.box >= 0 {
				l.boxes[p.box] = p.frame
			}
		}
		l.width += wide
	}
	for i := range g.Arrows {
		l.paths[i] = ends[i].path()
	}
	return l
}

func heightOf(column []*place) float64 {
	high := 0.0
	for i, p := range column {
		high += gapAbove(column, i) + p.frame.height
	}
	return high
}

// gapAbove a place: arrows that pass side by side need little.
func gapAbove(column []*place, i int) float64 {
	switch {
	case i == 0:
		return 0
	case column[i].box < 0 && column[i-1].box < 0:
		return 2
	}
	return boxGap
}

// depths are the lengths of the longest paths to each box. Arrows that close a cycle are
// ignored.
func (g Graph) depths() []int {
	depths := make([]int, len(g.Boxes))
	for i := range depths {
		depths[i] = -1
	}
	passed := make([]bool, len(g.Boxes)) // on the current path
	var walk func(box, depth int)
	walk = func(box, depth int) {
		if passed[box] || depth <= depths[box] {
			return
		}
		depths[box], passed[box] = depth, true
		for _, a := range g.Arrows {
			if a.From == box {
				walk(a.To, depth+1)
			}
		}
		passed[box] = false
	}
	for i := range g.Boxes {
		if !slices.ContainsFunc(g.Arrows, func(a Arrow) bool { return a.To == i && a.From != i }) {
			walk(i, 0)
		}
	}
	for i := range g.Boxes {
		if depths[i] < 0 { // a cycle without predecessors
			walk(i, 0)
		}
	}
	return depths
}

// way of an arrow: its box, the passages, and its other box.
type way []*place

func (w way) path() []spot {
	var path []spot
	for i, p := range w {
		middle := p.frame.y + p.frame.height/2
		if i > 0 {
			x := p.frame.x
			if i == len(w)-1 {
				x -= 7 // room for the tip
			}
			path = append(path, spot{x, middle})
		}
		if i < len(w)-1 {
			path = append(path, spot{p.frame.x + p.frame.width, middle})
		}
	}
	return path
}

// columns of places, and the way of each arrow through them.
func (g Graph) columns(depths []int) ([][]*place, []way) {
	count := 1
	for _, d := range depths {
		count = max(count, d+1)
	}
	columns := make([][]*place, count)
	boxes := make([]*place, len(g.Boxes))
	for i := range g.Boxes {
		b := &g.Boxes[i]
		p := &place{box: i, frame: frame{width: 2*boxPad + bold*textWidth(b.Name), height: 2*boxPad + boxLine*float64(1+len(b.Lines)) - 3}}
		for _, line := range b.Lines {
			p.frame.width = max(p.frame.width, 2*boxPad+1.05*textWidth(line))
		}
		if b.Part >= 0 {
			p.frame.height += boxBar + 5
		}
		boxes[i] = p
		columns[depths[i]] = append(columns[depths[i]], p)
	}
	ways := make([]way, len(g.Arrows))
	for i, a := range g.Arrows {
		w := way{boxes[a.From]}
		for c := depths[a.From] + 1; c < depths[a.To]; c++ {
			p := &place{box: -1, frame: frame{height: bendRoom}}
			columns[c] = append(columns[c], p)
			w = append(w, p)
		}
		w = append(w, boxes[a.To])
		if depths[a.To] > depths[a.From] {
			for j := 1; j < len(w); j++ {
				w[j-1].after, w[j].before = append(w[j-1].after, w[j]), append(w[j].before, w[j-1])
			}
		}
		ways[i] = w
	}
	return columns, ways
}

// settle orders each column by its neighbours.
func settle(columns [][]*place) {
	number := func(column []*place) {
		for i, p := range column {
			p.order = (float64(i) + 0.5) / float64(len(column))
		}
	}
	for _, column := range columns {
		number(column)
	}
	by := func(column []*place, neighbours func(*place) []*place) {
		mean := func(p *place) float64 {
			near := neighbours(p)
			if len(near) == 0 {
				return p.order
			}
			sum := 0.0
			for _, n := range near {
				sum += n.order
			}
			return sum / float64(len(near))
		}
		means := map[*place]float64{}
		for _, p := range column {
			means[p] = mean(p)
		}
		slices.SortStableFunc(column, func(a, b *place) int { return cmp.Compare(means[a], means[b]) })
		number(column)
	}
	for range 8 {
		for _, column := range columns[1:] {
			by(column, func(p *place) []*place { return p.before })
		}
		for i := len(columns) - 2; i >= 0; i-- {
			by(columns[i], func(p *place) []*place { return p.after })
		}
	}
	for _, column := range columns[1:] {
		by(column, func(p *place) []*place { return p.before })
	}
}
