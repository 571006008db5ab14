// Package draw makes figures: [Figure] (figure.go) is time series; [Figure.SVG] (svg.go) draws
// it for a page, [Figure.Terminal] (terminal.go) with characters. [Scatter] (scatter.go) is
// points in a plane, for both. [Graph] (graph.go) is boxes and arrows. It does no I/O and is
// independent of the meaning of the numbers.
package draw
