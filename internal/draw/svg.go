package draw

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Measures of the page, in pixels.
const (
	defaultWidth  = 960
	defaultHeight = 150
	smallestWidth = 320
	leftMargin    = 66
	rightMargin   = 22
	headRoom      = 30 // above a panel, for its title and legend
	panelGap      = 16
	axisRoom      = 34 // below the last panel
	letterWidth   = 6.7
	colours       = 8
)

// SVG draws the figure. It has its own styles for light and dark pages and needs no script or
// font.
func (f Figure) SVG() []byte {
	width := f.Width
	if width == 0 {
		width = defaultWidth
	}
	d := &drawing{
		width: max(width, smallestWidth),
		time:  f.timeRange(),
		unit:  f.XUnit,
	}
	top := 18.0
	if f.Title != "" {
		top += 20
	}
	subtitle := wrapped(f.Subtitle, int(float64(d.width-40)/softWidth))
	top += 18 * float64(len(subtitle))
	height := top
	for i := range f.Panels {
		height += headRoom + f.Panels[i].height() + panelGap
	}
	height += axisRoom - panelGap
	if f.XUnit != "" {
		height += 14
	}

	fmt.Fprintf(&d.out, `<svg xmlns="http://www.w3.org/2000/svg" class="ll" viewBox="0 0 %d %s" width="%d" height="%s" role="img">`+"\n",
		d.width, px(height), d.width, px(height))
	fmt.Fprintf(&d.out, "<title>%s</title>\n<style>%s</style>\n", escaped(f.Title), style)
	fmt.Fprintf(&d.out, `<rect class="paper" width="%d" height="%s" rx="8"/>`+"\n", d.width, px(height))
	y := 18.0
	if f.Title != "" {
		y += 12
		d.text(20, y, "title", "start", f.Title)
		y += 8
	}
	for _, line := range subtitle {
		y += 10
		d.text(20, y, "soft", "start", line)
		y += 8
	}
	for i := range f.Panels {
		y += headRoom
		d.panel(&f.Panels[i], y, i == len(f.Panels)-1)
		y += f.Panels[i].height() + panelGap
	}
	d.out.WriteString("</svg>\n")
	return d.out.Bytes()
}

// softWidth is the approximate width of a letter of a subtitle: fonts differ, so it errs on the
// wide side.
const softWidth = 7.0

// wrapped breaks a text into lines of at most the given letters, between words if possible.
func wrapped(text string, columns int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > columns {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

func (p *Panel) height() float64 {
	if p.Height > 0 {
		return float64(p.Height)
	}
	return defaultHeight
}

// drawing is the state of writing an SVG.
type drawing struct {
	out   bytes.Buffer
	width int
	time  extent
	unit  string // of the axis below; empty = time
}

func (d *drawing) left() float64  { return leftMargin }
func (d *drawing) right() float64 { return float64(d.width) - rightMargin }

func (d *drawing) x(t float64) float64 {
	return d.left() + d.time.share(t)*(d.right()-d.left())
}

// panel draws one plot whose upper edge is at top.
func (d *drawing) panel(p *Panel, top float64, last bool) {
	height := p.height()
	values, ticks := p.valueRange(max(2, int(height/32)))
	y := func(v float64) float64 { return top + (1-values.share(v))*height }

	d.heading(p, top)
	d.bands(p, top, height)
	for i, label := range numberLabels(ticks, p.Unit) {
		at := y(ticks[i])
		d.line(d.left(), at, d.right(), at, "grid")
		d.text(d.left()-8, at+4, "soft", "end", label)
	}
	d.timeAxis(top, height, last)
	for i := range p.Lines {
		d.series(&p.Lines[i], i%colours, y, top+height)
	}
	for _, m := range p.Marks {
		if math.IsNaN(m.Y) || math.IsInf(m.Y, 0) {
			continue
		}
		d.line(d.left(), y(m.Y), d.right(), y(m.Y), "mark")
		label := y(m.Y) - 5
		if label < top+10 {
			label = y(m.Y) + 13
		}
		d.text(d.right()-4, label, "marked", "end", m.Name)
	}
}

// heading writes the panel's title and unit, and the legend on its right.
func (d *drawing) heading(p *Panel, top float64) {
	y := top - 11
	fmt.Fprintf(&d.out, `<text x="%s" y="%s" class="head">%s`, px(20), px(y), escaped(p.Title))
	from := 20 + textWidth(p.Title)*1.12
	if p.Unit != "" && p.Unit != "s" && p.Unit != "%" { // those are on every label
		fmt.Fprintf(&d.out, `<tspan class="soft" dx="6">%s</tspan>`, escaped(p.Unit))
		from += 6 + textWidth(p.Unit)
	}
	d.out.WriteString("</text>\n")
	if len(p.Lines) == 1 && (p.Lines[0].Name == "" || p.Lines[0].Name == p.Title) {
		return
	}

	// As many names as fit; the rest are counted.
	const swatch, space = 22.0, 16.0
	room := d.right() - from - 20
	shown, used := 0, 0.0
	for shown < len(p.Lines) {
		w := swatch + textWidth(p.Lines[shown].Name) + space
		if used+w > room {
			break
		}
		used += w
		shown++
	}
	x := d.right() - used + space
	if more := len(p.Lines) - shown; more > 0 {
		label := fmt.Sprintf("+%d", more)
		x -= textWidth(label) + space
		d.text(d.right(), y, "soft", "end", label)
	}
	for i := range shown {
		d.line(x, y-4, x+16, y-4, fmt.Sprintf("line c%d", i%colours))
		d.text(x+swatch, y, "soft", "start", p.Lines[i].Name)
		x += swatch + textWidth(p.Lines[i].Name) + space
	}
}

func (d *drawing) bands(p *Panel, top, height float64) {
	for _, b := range p.Bands {
		from, to := d.x(b.From), d.x(b.To)
		if !(to > from) {
			continue
		}
		fmt.Fprintf(&d.out, `<rect class="band" x="%s" y="%s" width="%s" height="%s"/>`+"\n", px(from), px(top), px(to-from), px(height))
		if b.Name != "" && textWidth(b.Name) < to-from-6 {
			d.text((from+to)/2, top+13, "soft", "middle", b.Name)
		}
	}
}

func (d *drawing) timeAxis(top, height float64, last bool) {
	bottom := top + height
	ticks, labels := axisTicks(d.time, d.unit, max(2, d.width/96))
	for i, t := range ticks {
		x := min(d.x(t), d.right())
		d.line(x, top, x, bottom, "grid faint")
		if last {
			d.text(x, bottom+18, "soft", "middle", labels[i])
		}
	}
	d.line(d.left(), bottom, d.right(), bottom, "axis")
	if last && d.unit != "" {
		d.text(d.right(), bottom+34, "soft", "end", d.unit)
	}
}

func (d *drawing) line(x1, y1, x2, y2 float64, class string) {
	fmt.Fprintf(&d.out, `<line x1="%s" y1="%s" x2="%s" y2="%s" class="%s"/>`+"\n", px(x1), px(y1), px(x2), px(y2), class)
}

func (d *drawing) text(x, y float64, class, anchor, text string) {
	fmt.Fprintf(&d.out, `<text x="%s" y="%s" class="%s" text-anchor="%s">%s</text>`+"\n", px(x), px(y), class, anchor, escaped(text))
}

// textWidth is the approximate width of a text, which cannot be measured here.
func textWidth(text string) float64 { return letterWidth * float64(utf8.RuneCountInString(text)) }

// px writes a coordinate to a tenth of a pixel. A coordinate far off the page or NaN would make
// the whole figure invalid.
func px(v float64) string {
	if math.IsNaN(v) {
		v = 0
	}
	v = min(max(v, -1e6), 1e6)
	return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64)
}

func escaped(text string) string {
	var b bytes.Buffer
	xml.EscapeText(&b, []byte(text)) // writing to a buffer cannot fail
	return b.String()
}
