package apps

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/loadline/loadline"
)

// checkPlacement checks that the initial replicas can be placed. It packs the largest first,
// each on the node with most room: what does not fit then would be pending forever in any run.
func (r *reader) checkPlacement(top object, app *loadline.App) {
	if len(app.Nodes) == 0 {
		return
	}
	total := 0
	order := make([]int, len(app.Services))
	for i := range app.Services {
		order[i] = i
		total += app.Services[i].Replicas
	}
	a := top.fields["services"]
	if total > maxPods {
		r.fault(a.Line, a.path, fmt.Sprintf("%d replicas", total), fmt.Sprintf("at most %d replicas in all at the start", maxPods))
		return
	}
	left := slices.Clone(app.Nodes)
	largest := func(s *loadline.Service) float64 {
		return s.Size.CPURequest/app.Nodes[0].Cores + float64(s.Size.MemoryRequest)/float64(app.Nodes[0].Memory)
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Compare(largest(&app.Services[j]), largest(&app.Services[i]))
	})
	for _, i := range order {
		s := &app.Services[i]
		for placed := range s.Replicas {
			if !place(left, s.Size) {
				r.fault(keyLine(a, s.Name), a.path+"."+s.Name+".replicas", fmt.Sprint(s.Replicas), fmt.Sprintf(
					"so few that they fit the nodes: %d of them do, at %s cores and %s each beside the larger services; add nodes or "+
						"lower the requests",
					placed, formatCores(s.Size.CPURequest), formatMemory(s.Size.MemoryRequest)))
				return
			}
		}
	}
}

// keyLine is the line of a key in a mapping.
func keyLine(a at, key string) int {
	for i := 0; i < len(a.Content); i += 2 {
		if a.Content[i].Value == key {
			return a.Content[i].Line
		}
	}
	return a.Line
}

// place subtracts a replica's requests from the node with the most free cores among those that
// have room.
func place(left []loadline.Node, size loadline.Size) bool {
	const rounding = 1e-9 // ten times 0.1 cores fit one core
	best := -1
	for i := range left {
		fits := left[i].Cores+rounding >= size.CPURequest && left[i].Memory >= size.MemoryRequest
		if fits && (best < 0 || left[i].Cores > left[best].Cores) {
			best = i
		}
	}
	if best < 0 {
		return false
	}
	left[best].Cores -= size.CPURequest
	left[best].Memory -= size.MemoryRequest
	return true
}
