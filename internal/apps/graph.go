package apps

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loadline/loadline"
)

// Edge is one arrow of the service graph.
type Edge struct {
	From, To int     // indices into App.Services; From -1 = the users
	Calls    float64 // per average request
	Optional bool    // every call on it is optional
}

// Graph sums the call trees of all kinds, weighted by their shares, to one graph of services,
// in the order of callers and callees.
func Graph(app *loadline.App) []Edge {
	type ends struct{ from, to int }
	sum := map[ends]*Edge{}
	shares := 0.0
	for _, k := range app.Kinds {
		shares += k.Share
	}
	for i := range app.Kinds {
		k := &app.Kinds[i]
		walkVisits(app, &k.Root, -1, k.Share/shares, func(c *loadline.Call, caller int, visits float64) {
			e := sum[ends{caller, c.Service}]
			if e == nil {
				e = &Edge{From: caller, To: c.Service, Optional: true}
				sum[ends{caller, c.Service}] = e
			}
			e.Calls += visits
			e.Optional = e.Optional && c.Optional
		})
	}
	edges := make([]Edge, 0, len(sum))
	for _, e := range sum {
		edges = append(edges, *e)
	}
	slices.SortFunc(edges, func(a, b Edge) int {
		if a.From != b.From {
			return a.From - b.From
		}
		return a.To - b.To
	})
	return edges
}

// DrawGraph writes the service graph, one line per caller, its callees below it with their
// calls per average request.
func DrawGraph(app *loadline.App) string {
	var b strings.Builder
	edges := Graph(app)
	for i, e := range edges {
		if i == 0 || edges[i-1].From != e.From {
			if e.From < 0 {
				b.WriteString("users\n")
			} else {
				b.WriteString(app.Services[e.From].Name + "\n")
			}
		}
		branch := "├─▶ "
		if i == len(edges)-1 || edges[i+1].From != e.From {
			branch = "└─▶ "
		}
		optional := ""
		if e.Optional {
			optional = "  optional"
		}
		fmt.Fprintf(&b, "%s%-*s %9.4f%s\n", branch, longestName(app), app.Services[e.To].Name, e.Calls, optional)
	}
	return b.String()
}

func longestName(app *loadline.App) int {
	n := 0
	for i := range app.Services {
		n = max(n, len(app.Services[i].Name))
	}
	return n
}
