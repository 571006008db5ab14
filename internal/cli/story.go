package cli

import (
	"fmt"
	"sort"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/draw"
	"github.com/loadline/loadline/internal/result"
	"github.com/loadline/loadline/internal/simulate"
)

// storyFigure is a run over time: load, replicas, usage and latency.
func storyFigure(app *loadline.App, o *simulate.Outcome) draw.Figure {
	s, r := o.Timeline, &o.Result
	x := make([]float64, len(s.At))
	for i, at := range s.At {
		x[i] = at.Seconds()
	}
	verdict := "SLO met"
	if !r.SLOMet() {
		verdict = "SLO violated"
	}
	return draw.Figure{
		Title: fmt.Sprintf("%s on %s", r.Policy, r.App),
		Subtitle: fmt.Sprintf("workload %s, %s engine, seed %d: %s of the requests over the SLO (%s), %.1f core-hours, %.0f changes",
			r.Workload, r.Engine, r.Seed, result.Percent(r.OverSLORatio), verdict, float64(r.CoreHours), float64(r.Changes)),
		Panels: []draw.Panel{
			{Title: "Load", Unit: "requests/s", Lines: []draw.Line{
				{Name: "arrived", X: x, Y: s.Load, Area: true}, {Name: "failed", X: x, Y: s.Failed},
			}},
			{Title: "Ready replicas", Lines: replicaLines(app, s, x, 5)},
			{Title: "CPU", Unit: "cores", Lines: []draw.Line{
				{Name: "used", X: x, Y: s.Used, Area: true}, {Name: "requested", X: x, Y: s.Asked, Step: true},
			}},
			latencyPanel(app, o, x, 4),
		},
	}
}

// latencyPanel shows the kinds closest to their SLO. Kinds with one SLO are shown in seconds;
// with different SLOs, as ratios.
func latencyPanel(app *loadline.App, o *simulate.Outcome, x []float64, most int) draw.Panel {
	kinds := tightestKinds(o, most)
	slo := app.Kinds[kinds[0]].SLO
	for _, k := range kinds {
		if app.Kinds[k].SLO.Latency != slo.Latency {
			slo.Latency = 0
		}
	}
	p := draw.Panel{Title: "Latency at the SLO's percentile", Unit: "s"}
	if slo.Latency > 0 {
		p.Marks = []draw.HLine{{Name: "SLO " + slo.Latency.String(), Y: slo.Latency.Seconds()}}
	} else {
		p = draw.Panel{Title: "Latency at the SLO's percentile, of the SLO", Unit: "%", Marks: []draw.HLine{{Name: "SLO", Y: 100}}}
	}
	for _, k := range kinds {
		line := draw.Line{Name: fmt.Sprintf("%s p%g", app.Kinds[k].Name, app.Kinds[k].SLO.Percentile), X: x, Y: o.Timeline.Latency[k]}
		if slo.Latency == 0 {
			line.Y = make([]float64, len(x))
			for i, v := range o.Timeline.Latency[k] {
				line.Y[i] = 100 * v / app.Kinds[k].SLO.Latency.Seconds()
			}
		}
		p.Lines = append(p.Lines, line)
	}
	return p
}

// tightestKinds are those with the highest latency relative to their SLO, in the order of the
// app: more than a few lines cannot be distinguished.
func tightestKinds(o *simulate.Outcome, most int) []int {
	kinds := o.Result.Kinds
	order := make([]int, len(kinds))
	for i := range order {
		order[i] = i
	}
	ratio := func(k int) float64 {
		if kinds[k].Requests == 0 {
			return 0
		}
		return float64(kinds[k].AtSLO / kinds[k].SLO.Latency)
	}
	sort.SliceStable(order, func(a, b int) bool { return ratio(order[a]) > ratio(order[b]) })
	order = order[:min(most, len(order))]
	sort.Ints(order)
	return order
}

// replicaLines shows the largest services by name and sums up the others.
func replicaLines(app *loadline.App, s *simulate.Timeline, x []float64, most int) []draw.Line {
	order := make([]int, len(app.Services))
	total := make([]float64, len(app.Services))
	for i := range order {
		order[i] = i
		for _, n := range s.Ready[i] {
			total[i] += n
		}
	}
	sort.SliceStable(order, func(a, b int) bool { return total[order[a]] > total[order[b]] })
	var lines []draw.Line
	if len(order) > most {
		others := draw.Line{Name: fmt.Sprintf("%d others, mean", len(order)-most+1), X: x, Y: make([]float64, len(x))}
		for _, i := range order[most-1:] {
			for t, n := range s.Ready[i] {
				others.Y[t] += n / float64(len(order)-most+1)
			}
		}
		order = order[:most-1]
		lines = append(lines, others)
	}
	sort.Ints(order)
	named := make([]draw.Line, 0, most)
	for _, i := range order {
		named = append(named, draw.Line{Name: app.Services[i].Name, X: x, Y: s.Ready[i], Step: true})
	}
	return append(named, lines...)
}
