// Package draw makes pictures of time series: [Figure] (figure.go) is what to
// show; [Figure.SVG] (svg.go) draws it for a page, [Figure.Terminal]
// (terminal.go) with characters. [Scatter] (scatter.go) is points in a plane, for
// both. [Graph] (graph.go) is boxes and arrows. It does no I/O and knows nothing of what the numbers mean.
package draw
