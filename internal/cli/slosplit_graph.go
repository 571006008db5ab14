package cli

import (
	"fmt"
	"math"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/draw"
	"github.com/loadline/loadline/internal/slosplit"
)

// splitGraph is the split on the graph of services, each with its share and instances.
func splitGraph(app *loadline.App, plan *slosplit.Plan, rate float64, way string) draw.Graph {
	g := draw.Graph{
		Title: fmt.Sprintf("The SLO of %s, split by %s at %g requests/s", app.Name, way, rate),
		Subtitle: fmt.Sprintf("How long a visit may take, its calls left out, and the instances that keep it: %s. "+
			"Bars are parts of the SLO of the kind of request that is tightest; tails do not add, so that they may sum to more. "+
			"Arrows are calls, the thicker the more often; dashed ones are optional.", coresCost(plan.Cost)),
	}
	users := draw.Box{Name: "users", Part: -1, Hint: "users"}
	for _, k := range app.Kinds {
		users.Lines = append(users.Lines, fmt.Sprintf("%s: p%g %v", k.Name, k.SLO.Percentile, k.SLO.Latency))
	}
	g.Boxes = append(g.Boxes, users)
	edges := apps.Graph(app)
	place := map[int]int{-1: 0} // box of a service; services without callers have none
	for _, e := range edges {
		if _, known := place[e.To]; !known {
			place[e.To] = len(g.Boxes)
			g.Boxes = append(g.Boxes, splitBox(app, &plan.Services[e.To]))
		}
	}
	most := 0.0
	for _, e := range edges {
		most = max(most, e.Calls)
	}
	for _, e := range edges {
		g.Arrows = append(g.Arrows, draw.Arrow{From: place[e.From], To: place[e.To], Weight: math.Sqrt(e.Calls / most),
			Dashed: e.Optional})
	}
	return g
}

func splitBox(app *loadline.App, s *slosplit.ServicePlan) draw.Box {
	b := draw.Box{Name: s.Service, Part: -1, Hint: s.Service + ": " + s.Reason, Alert: !s.Kept}
	if s.Share == 0 {
		b.Lines = []string{count(s.Instances, "instance", "instances")}
		return b
	}
	b.Lines = []string{fmt.Sprintf("%s, %s", profileTime(s.Share), count(s.Instances, "instance", "instances"))}
	if k := app.KindIndex(s.Kind); k >= 0 {
		b.Part = s.Share / app.Kinds[k].SLO.Latency.Seconds()
		b.Lines = append(b.Lines, fmt.Sprintf("%.2g %% for %s", 100*b.Part, s.Kind))
	}
	return b
}
