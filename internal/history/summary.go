package history

import (
	"math"
	"slices"

	"github.com/loadline/loadline"
)

// Summary is an overview of a history.
type Summary struct {
	Manifest Manifest         `json:"manifest"`
	Steps    int              `json:"steps"` // of the part that was read
	Services []ServiceSummary `json:"services"`
	Calls    []CallSummary    `json:"calls"`
	Nodes    []NodeSummary    `json:"nodes,omitempty"`
	Absent   []Absence        `json:"absent,omitempty"` // metrics that no service, call or node has
}

// NodeSummary is one node.
type NodeSummary struct {
	Name    string           `json:"name"`
	Metrics map[string]Range `json:"metrics"`
}

// ServiceSummary is one service.
type ServiceSummary struct {
	Name     string           `json:"name"`
	Metrics  map[string]Range `json:"metrics"` // by name; without absent metrics
	PerPod   *Range           `json:"cpu_per_pod,omitempty"`
	Replicas []int            `json:"replicas_seen,omitempty"` // ready ones, or desired ones if ready is absent
	Absent   []string         `json:"absent,omitempty"`        // metrics that others have
}

// CallSummary is one kind of calls.
type CallSummary struct {
	From      string           `json:"from"` // empty = users
	To        string           `json:"to"`
	Operation string           `json:"operation,omitempty"`
	Metrics   map[string]Range `json:"metrics"`
}

// Range of the present values.
type Range struct {
	Present int     `json:"present"` // steps that have a value
	Min     float64 `json:"min"`
	Mean    float64 `json:"mean"`
	Max     float64 `json:"max"`
}

// Range of a series; false if it has no value.
func (s Series) Range() (Range, bool) {
	r := Range{Min: math.Inf(1), Max: math.Inf(-1)}
	for i := range s {
		if v, present := s.Get(i); present {
			r.add(v)
		}
	}
	r.Mean /= float64(r.Present)
	return r, r.Present > 0
}

// add adds a value; the mean is a sum until the end.
func (r *Range) add(v float64) {
	r.Present++
	r.Min, r.Max = min(r.Min, v), max(r.Max, v)
	r.Mean += v
}

// Summarise computes the summary.
func (h *History) Summarise() Summary {
	sum := Summary{Manifest: h.Manifest, Steps: h.Steps, Services: []ServiceSummary{}, Calls: []CallSummary{}}
	sum.Absent = h.Absences("it was not measured")
	for i, a := range sum.Absent {
		for _, known := range h.Manifest.Absent {
			if known.Of == a.Of && known.Metric == a.Metric && known.Reason != "" {
				sum.Absent[i].Reason = known.Reason
			}
		}
	}
	for i := range h.Services {
		sum.Services = append(sum.Services, h.Services[i].summarise(sum.Absent))
	}
	for i := range h.Calls {
		c := &h.Calls[i]
		s := CallSummary{From: c.From, To: c.To, Operation: c.Operation, Metrics: map[string]Range{}}
		for _, m := range loadline.CallTable.Columns() {
			if r, any := c.Series[m].Range(); any {
				s.Metrics[m.String()] = r
			}
		}
		sum.Calls = append(sum.Calls, s)
	}
	for i := range h.Nodes {
		s := NodeSummary{Name: h.Nodes[i].Name, Metrics: map[string]Range{}}
		for _, m := range loadline.NodeTable.Columns() {
			if r, any := h.Nodes[i].Series[m].Range(); any {
				s.Metrics[m.String()] = r
			}
		}
		sum.Nodes = append(sum.Nodes, s)
	}
	return sum
}

func (s *Service) summarise(absent []Absence) ServiceSummary {
	sum := ServiceSummary{Name: s.Name, Metrics: map[string]Range{}}
	for _, m := range loadline.ServiceTable.Columns() {
		r, any := s.Series[m].Range()
		switch {
		case any:
			sum.Metrics[m.String()] = r
		case !slices.ContainsFunc(absent, func(a Absence) bool { return a.Of == "service" && a.Metric == m.String() }):
			sum.Absent = append(sum.Absent, m.String())
		}
	}
	replicas := s.Series[Ready]
	if replicas.Present() == 0 {
		replicas = s.Series[Desired]
	}
	counts := map[int]bool{}
	perPod := Range{Min: math.Inf(1), Max: math.Inf(-1)}
	for i := range replicas {
		n, known := replicas.Get(i)
		if !known {
			continue
		}
		counts[int(math.Round(n))] = true
		if cpu, present := s.Series[CPU].Get(i); present && n > 0 {
			perPod.add(cpu / n)
		}
	}
	for n := range counts {
		sum.Replicas = append(sum.Replicas, n)
	}
	slices.Sort(sum.Replicas)
	if perPod.Present > 0 {
		perPod.Mean /= float64(perPod.Present)
		sum.PerPod = &perPod
	}
	return sum
}
