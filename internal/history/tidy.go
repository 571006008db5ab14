package history

import (
	"cmp"
	"slices"

	"github.com/loadline/loadline"
)

// Tidy normalises a history to the form that Read returns: services, calls and nodes sorted, a series
// without values nil, and the manifest consistent with the span.
func (h *History) Tidy() {
	for i := range h.Services {
		dropEmpty(h.Services[i].Series[:])
	}
	for i := range h.Calls {
		dropEmpty(h.Calls[i].Series[:])
	}
	for i := range h.Nodes {
		dropEmpty(h.Nodes[i].Series[:])
	}
	slices.SortFunc(h.Nodes, func(a, b Node) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(h.Services, func(a, b Service) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(h.Calls, func(a, b Calls) int { return a.compare(&b) })
	m := &h.Manifest
	m.Version, m.Start, m.Step, m.Steps = Version, h.Start, h.Step, h.Steps
}

func dropEmpty(series []Series) {
	for m, s := range series {
		if s != nil && s.Present() == 0 {
			series[m] = nil
		}
	}
}

func (c *Calls) compare(o *Calls) int {
	return cmp.Or(cmp.Compare(c.From, o.From), cmp.Compare(c.To, o.To), cmp.Compare(c.Operation, o.Operation))
}

// Absences are the metrics without a single value in any service, call or node, each with the
// same reason and its effect on a fit.
func (h *History) Absences(reason string) []Absence {
	var absent []Absence
	for _, m := range loadline.ServiceTable.Columns() {
		there := slices.ContainsFunc(h.Services, func(s Service) bool { return s.Series[m].Present() > 0 })
		if !there {
			absent = append(absent, Absence{Of: "service", Metric: m.String(), Reason: reason, Cost: m.About().Cost})
		}
	}
	for _, m := range loadline.CallTable.Columns() {
		there := slices.ContainsFunc(h.Calls, func(c Calls) bool { return c.Series[m].Present() > 0 })
		if !there {
			absent = append(absent, Absence{Of: "call", Metric: m.String(), Reason: reason, Cost: m.About().Cost})
		}
	}
	for _, m := range nodeColumns(len(h.Nodes)) {
		there := slices.ContainsFunc(h.Nodes, func(n Node) bool { return n.Series[m].Present() > 0 })
		if !there {
			absent = append(absent, Absence{Of: "node", Metric: m.String(), Reason: reason, Cost: m.About().Cost})
		}
	}
	return absent
}

// nodeColumns are the metrics of nodes whose absence is worth a line: without any node, those
// that say what is assumed instead.
func nodeColumns(nodes int) []NodeMetric {
	if nodes == 0 {
		return []NodeMetric{NodeCPUAllocatable, NodeOthersCPU}
	}
	return loadline.NodeTable.Columns()
}
