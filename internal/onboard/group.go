package onboard

import (
	"slices"

	"github.com/loadline/loadline/internal/advice"
	"github.com/loadline/loadline/internal/history"
)

// partOf is the label by which a workload names its application.
const partOf = "app.kubernetes.io/part-of"

// groups of workloads that are one application: those that call each other, and those with the
// same label part-of. Each is a list of indices in ascending order, and so are the lists.
func groups(all []advice.Workload, calls []history.Calls) [][]int {
	parent := make([]int, len(all))
	for i := range parent {
		parent[i] = i
	}
	root := func(i int) int {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	join := func(a, b int) { // the first of a group is its root
		a, b = root(a), root(b)
		parent[max(a, b)] = min(a, b)
	}
	byName, byLabel := map[string]int{}, map[string]int{}
	for i := range all {
		byName[all[i].Object.Name] = i
		if label := all[i].Object.Labels[partOf]; label != "" {
			if first, known := byLabel[label]; known {
				join(first, i)
			} else {
				byLabel[label] = i
			}
		}
	}
	for i := range calls {
		from, ours := byName[calls[i].From]
		to, ours2 := byName[calls[i].To]
		if ours && ours2 {
			join(from, to)
		}
	}
	members := map[int][]int{}
	for i := range all {
		members[root(i)] = append(members[root(i)], i)
	}
	var found [][]int
	for i := range all {
		if list := members[i]; list != nil {
			found = append(found, list)
		}
	}
	return found
}

// nameOf a group: its label, the namespace if it is the only one, or its busiest entry.
func nameOf(all []advice.Workload, group []int, alone bool, namespace, entry string) string {
	var labels []string
	for _, i := range group {
		if label := all[i].Object.Labels[partOf]; label != "" && !slices.Contains(labels, label) {
			labels = append(labels, label)
		}
	}
	switch {
	case len(labels) == 1 && validName.MatchString(labels[0]):
		return labels[0]
	case alone:
		return namespace
	}
	return entry
}
