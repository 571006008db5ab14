package apps

import (
	"fmt"
	"strings"

	"github.com/loadline/loadline"
)

// Tree draws the call tree of every kind of request. Calls below each other are sequential;
// parallel ones share a bar ║.
func Tree(app *loadline.App) string {
	return TreeWith(app, func(int) string { return "" })
}

// TreeWith draws the call trees with a remark after the name of each service, such as its part
// of the SLO, unless it is empty.
func TreeWith(app *loadline.App, remark func(service int) string) string {
	var b strings.Builder
	shares := 0.0
	for _, k := range app.Kinds {
		shares += k.Share
	}
	for i := range app.Kinds {
		k := &app.Kinds[i]
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s  %.3g %% of requests, p%g within %v", k.Name, 100*k.Share/shares, k.SLO.Percentile, k.SLO.Latency)
		if k.Timeout > 0 {
			fmt.Fprintf(&b, ", given up after %v", k.Timeout)
		}
		b.WriteString(clientNotes(k))
		b.WriteByte('\n')
		drawCall(&b, app, &k.Root, -1, "", "", "", remark)
	}
	return b.String()
}

// drawCall draws a call after its branch; lines under it start with the indent and the bar of
// its stage.
func drawCall(b *strings.Builder, app *loadline.App, c *loadline.Call, caller int, indent, branch, below string, remark func(int) string) {
	name := app.Services[c.Service].Name
	if r := remark(c.Service); r != "" {
		name += "  " + r
	}
	b.WriteString(indent + branch + name + notes(app, c, caller) + "\n")
	for i, stage := range c.Stages {
		lastStage := i == len(c.Stages)-1
		for j := range stage {
			last := lastStage && j == len(stage)-1
			branch, under := "├─ ", "│  "
			if last {
				branch, under = "└─ ", "   "
			}
			if len(stage) > 1 {
				branch += parallelMark(j, len(stage)) + " "
				under += continuation(j, len(stage)) + " "
			}
			drawCall(b, app, &stage[j], c.Service, indent+below, branch, under, remark)
		}
	}
}

func parallelMark(i, of int) string {
	switch i {
	case 0:
		return "╓"
	case of - 1:
		return "╙"
	}
	return "╟"
}

func continuation(i, of int) string {
	if i == of-1 {
		return " "
	}
	return "║"
}

func notes(app *loadline.App, c *loadline.Call, caller int) string {
	var n []string
	if c.Times != 1 {
		n = append(n, fmt.Sprintf("×%d", c.Times))
	}
	if c.Probability != 1 {
		n = append(n, fmt.Sprintf("%.3g %%", 100*c.Probability))
	}
	if c.Work != 1 {
		n = append(n, fmt.Sprintf("work %.3g", c.Work))
	}
	if c.Optional {
		n = append(n, "optional")
	}
	if c.Timeout > 0 {
		n = append(n, fmt.Sprintf("given up after %v", c.Timeout))
	}
	if c.Retries.Attempts > 0 {
		n = append(n, retriesNote(c.Retries))
	}
	if caller >= 0 && len(c.Versions) > 0 {
		n = append(n, "by "+strings.Join(versionNamesOf(&app.Services[caller], c.Versions), ", "))
	}
	if vs := app.Services[c.Service].Versions; len(vs) > 0 {
		all := make([]int, len(vs))
		for i := range vs {
			all[i] = i
		}
		n = append(n, "versions "+strings.Join(versionNamesOf(&app.Services[c.Service], all), ", "))
	}
	if len(n) == 0 {
		return ""
	}
	return "  (" + strings.Join(n, "; ") + ")"
}

func versionNamesOf(s *loadline.Service, indices []int) []string {
	var names []string
	for _, i := range indices {
		names = append(names, s.Versions[i].Name)
	}
	return names
}
