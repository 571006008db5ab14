package draw

import (
	"fmt"
	"strings"
)

// palette is one colour scheme. The hues of the lines are distinguishable with red-green colour
// blindness (after Okabe and Ito), with a brightness for the background. Colours are written
// out instead of CSS variables, which renderers other than browsers do not support.
type palette struct {
	paper, ink, soft, grid, axis, mark, band string
	lines                                    [colours]string
}

var light = palette{
	paper: "#ffffff", ink: "#1b2530", soft: "#5c6875", grid: "#e4e8ed", axis: "#9aa5b1", mark: "#c2410c", band: "#f1f4f8",
	lines: [colours]string{"#0b6fb8", "#d97706", "#0f9d76", "#b8418d", "#5b5bd6", "#8a6d00", "#3aa0d8", "#64707d"},
}

var dark = palette{
	paper: "#12161c", ink: "#e8ecf1", soft: "#9aa6b3", grid: "#262d36", axis: "#566270", mark: "#fb8c5c", band: "#1b222b",
	lines: [colours]string{"#58b4f4", "#f5a742", "#3fd0a4", "#ec83c3", "#9c9cff", "#d8bd3f", "#8fd3f7", "#a9b4c0"},
}

// style is the figure's own style sheet. Everything is below .ll, so that an embedded figure
// does not restyle the page.
var style = light.css() + "@media (prefers-color-scheme:dark){" + dark.css() + "}" + shapes

const shapes = ".ll text{font:12px ui-sans-serif,system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu " +
	"Sans',sans-serif;font-variant-numeric:tabular-nums}" +
	".ll .title{font-size:16px;font-weight:600}.ll .head{font-weight:600}.ll tspan.soft{font-weight:400}" +
	".ll .grid{stroke-width:1}.ll .faint{stroke-opacity:.55}.ll .axis{stroke-width:1}" +
	".ll .line{fill:none;stroke-width:1.4;stroke-linejoin:round;stroke-linecap:round}" +
	".ll .area{fill-opacity:.14}.ll .spread{fill-opacity:.4}.ll .mark{stroke-width:1.3;stroke-dasharray:6 4}.ll .marked{font-size:11px}"

func (p palette) css() string {
	var b strings.Builder
	fmt.Fprintf(&b, ".ll .paper{fill:%s}.ll .title,.ll .head{fill:%s}.ll .soft{fill:%s}", p.paper, p.ink, p.soft)
	fmt.Fprintf(&b, ".ll .grid{stroke:%s}.ll .axis{stroke:%s}.ll .mark{stroke:%s}.ll .marked{fill:%s}.ll .band{fill:%s}", p.grid,
		p.axis, p.mark, p.mark, p.band)
	for i, c := range p.lines {
		fmt.Fprintf(&b, ".ll .c%d{stroke:%s}.ll .f%d{fill:%s}", i, c, i, c)
	}
	return b.String()
}
