package sim

import (
	"cmp"
	"slices"

	"github.com/loadline/loadline"
)

// Edge is a pair of services of which the first calls the second, as indices
// into App.Services.
type Edge struct{ From, To int }

// Edges lists the distinct pairs of caller and callee over the call trees of
// all kinds, sorted by caller, then callee. Reading.Calls is in this order.
func Edges(app *loadline.App) []Edge {
	var edges []Edge
	var walk func(c *loadline.Call)
	walk = func(c *loadline.Call) {
		for s := range c.Stages {
			for i := range c.Stages[s] {
				to := &c.Stages[s][i]
				edges = append(edges, Edge{c.Service, to.Service})
				walk(to)
			}
		}
	}
	for k := range app.Kinds {
		walk(&app.Kinds[k].Root)
	}
	slices.SortFunc(edges, compareEdges)
	return slices.Compact(edges)
}

// EdgeIndex finds a pair in the sorted list that Edges returns, or -1.
func EdgeIndex(edges []Edge, e Edge) int {
	if i, found := slices.BinarySearchFunc(edges, e, compareEdges); found {
		return i
	}
	return -1
}

func compareEdges(a, b Edge) int {
	return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
}
