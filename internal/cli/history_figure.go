package cli

import (
	"fmt"
	"slices"
	"time"

	"github.com/loadline/loadline/internal/draw"
	"github.com/loadline/loadline/internal/history"
)

// historyFigure draws one service in detail if only one is selected, and otherwise the busiest
// ones side by side. Absent values are gaps.
func historyFigure(h *history.History, chosen []string, most int) draw.Figure {
	// From midnight, so that the axis shows the time of day.
	midnight := h.Start.Add(-h.Step).Truncate(24 * time.Hour)
	x := make([]float64, h.Steps)
	for i := range x {
		x[i] = h.At(i).Sub(midnight).Seconds()
	}
	f := draw.Figure{
		Title:    "History: " + h.Manifest.Source,
		Subtitle: fmt.Sprintf("%s in steps of %v from %s", length(h.Duration()), h.Step, h.Start.Add(-h.Step).Format(time.DateTime)),
	}
	if len(h.Services) == 0 {
		return f
	}
	if len(chosen) == 1 || len(h.Services) == 1 {
		s := &h.Services[0]
		f.Title = "History of " + s.Name
		f.Panels = servicePanels(s, x)
		return f
	}
	f.Panels = busiestPanels(h, x, most)
	return f
}

func servicePanels(s *history.Service, x []float64) []draw.Panel {
	line := func(name string, m history.ServiceMetric, l draw.Line) draw.Line {
		l.Name, l.X, l.Y = name, x, float64s(s.Series[m], len(x))
		return l
	}
	requested := draw.Line{Name: "requested", X: x, Y: make([]float64, len(x)), Step: true}
	one, pods := float64s(s.Series[history.CPURequest], len(x)), float64s(s.Series[history.Ready], len(x))
	for i := range x {
		requested.Y[i] = one[i] * pods[i]
	}
	return present([]draw.Panel{
		{Title: "Load", Unit: "requests/s", Lines: []draw.Line{
			line("arrived", history.Rate, draw.Line{Area: true}), line("failed", history.Errors, draw.Line{}),
		}},
		{Title: "Replicas", Lines: []draw.Line{
			line("ready", history.Ready, draw.Line{Step: true}), line("asked for", history.Desired, draw.Line{Step: true}),
		}},
		{Title: "CPU", Unit: "cores", Lines: []draw.Line{line("used", history.CPU, draw.Line{Area: true}), requested}},
		{Title: "Latency", Unit: "s", Lines: []draw.Line{
			line("p50", history.LatencyP50, draw.Line{}), line("p99", history.LatencyP99, draw.Line{}),
		}},
	})
}

// busiestPanels shows the users' requests, and the services that use the most CPU, the same
// ones in every panel. Sums over services are not drawn: where one is absent, a sum would dip.
func busiestPanels(h *history.History, x []float64, most int) []draw.Panel {
	services := busiest(h.Services, most, func(s *history.Service) []history.Series {
		return []history.Series{s.Series[history.CPU], s.Series[history.Rate]}
	})
	panel := func(title, unit string, m history.ServiceMetric, step bool) draw.Panel {
		p := draw.Panel{Title: title, Unit: unit}
		for _, s := range services {
			p.Lines = append(p.Lines, draw.Line{Name: s.Name, X: x, Y: float64s(s.Series[m], len(x)), Step: step})
		}
		return p
	}
	load := usersPanel(h, x, most)
	if len(load.Lines) == 0 {
		load = panel("Load", "requests/s", history.Rate, false)
	}
	return present([]draw.Panel{
		load,
		panel("Ready replicas", "", history.Ready, true),
		panel("CPU", "cores", history.CPU, false),
		panel("Latency, 99th percentile", "s", history.LatencyP99, false),
	})
}

// usersPanel is the users' requests, by kind.
func usersPanel(h *history.History, x []float64, most int) draw.Panel {
	p := draw.Panel{Title: "Load from users", Unit: "requests/s"}
	users := slices.DeleteFunc(slices.Clone(h.Calls), func(c history.Calls) bool { return c.From != "" })
	for _, c := range busiest(users, most, func(c *history.Calls) []history.Series { return c.Series[:history.CallRate+1] }) {
		name := c.Operation
		if name == "" {
			name = "to " + c.To
		}
		p.Lines = append(p.Lines, draw.Line{Name: name, X: x, Y: float64s(c.Series[history.CallRate], len(x))})
	}
	return p
}

// busiest are those with the highest mean of the first series, or among equals of the next.
func busiest[T any](all []T, most int, by func(*T) []history.Series) []*T {
	order := make([]*T, len(all))
	means := map[*T][]float64{}
	for i := range all {
		order[i] = &all[i]
		for _, s := range by(order[i]) {
			r, any := s.Range()
			if !any {
				r.Mean = -1
			}
			means[order[i]] = append(means[order[i]], r.Mean)
		}
	}
	slices.SortStableFunc(order, func(a, b *T) int { return slices.Compare(means[b], means[a]) })
	return order[:min(most, len(order))]
}

// present drops lines, and then panels, without data.
func present(panels []draw.Panel) []draw.Panel {
	empty := func(l draw.Line) bool {
		return !slices.ContainsFunc(l.Y, func(v float64) bool { return v == v })
	}
	for i := range panels {
		panels[i].Lines = slices.DeleteFunc(panels[i].Lines, empty)
	}
	return slices.DeleteFunc(panels, func(p draw.Panel) bool { return len(p.Lines) == 0 })
}

// length of a history, in days where it is whole days.
func length(d time.Duration) string {
	s := span(d)
	return s.String()
}

// float64s is a series for drawing: NaN where it is absent.
func float64s(s history.Series, steps int) []float64 {
	y := make([]float64, steps)
	for i := range y {
		y[i], _ = s.Get(i)
	}
	return y
}
