package twin

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim/pool"
)

// Figure is what a range is of.
type Figure string

// Figures that a history may leave open.
const (
	Workers    Figure = "workers"    // of a service: requests that a replica works on at once
	Startup    Figure = "start-up"   // of a service, seconds
	Neighbours Figure = "neighbours" // share of the nodes' CPU that others use, and request
	NodeSize   Figure = "node size"  // cores, with 4 GiB each
	CPUTime    Figure = "CPU time"   // of a visit, as a factor on what was fitted
	// ResponseTime of a kind of request from end to end, as a factor on what the twin has. Relative to
	// the SLO, which is what deployments are judged by and what policies see, a shorter SLO is the same.
	ResponseTime Figure = "response times"
)

// Range is a figure that the history does not determine. A conclusion from the twin that does
// not hold at both ends rests on a guess.
type Range struct {
	Figure  Figure  `json:"figure"`
	Service string  `json:"service,omitempty"`
	Low     float64 `json:"low"`
	Likely  float64 `json:"likely"` // what the twin has
	High    float64 `json:"high"`
	Source  string  `json:"source"` // of the two ends

	// Held-out history simulated with the figure at its low, likely and high end and all others
	// as in the twin; nil = not simulated.
	AtLow    *Effect `json:"at_low,omitempty"`
	AtLikely *Effect `json:"at_likely,omitempty"`
	AtHigh   *Effect `json:"at_high,omitempty"`
}

// Effect is the outcome of a simulation.
type Effect struct {
	OverSLO Number `json:"over_slo"` // share of the requests
	Cores   Number `json:"cores"`    // paid for: max(request, usage), mean
	Bill    Number `json:"bill"`     // per hour, in the currency of the cluster's prices; 0 without prices of nodes
}

// Ends of ranges that no measurement narrows.
const (
	quickStart, slowStart = 1.0, 60.0 // seconds: a static binary with its image present; a large JVM
	busyNeighbours        = 0.85      // fuller nodes are rare: kubelets evict, schedulers are full
	smallNode, largeNode  = 2.0, 64.0 // cores
	gibPerCore            = 4
)

// ranges are the figures that the fit left open.
func (t *Twin) ranges(p *past, models []model) []Range {
	var list []Range
	for i := range models {
		m, s := &models[i], &t.App.Services[i]
		if st := &m.station; st.fewest > 0 && st.fewest < st.largest {
			source := fmt.Sprintf("at least %d by concurrency and response times; no waiting for a worker was seen", st.fewest)
			if st.largest < manyWorkers {
				source = fmt.Sprintf("%d to %d explain the response times equally well", st.fewest, st.largest)
			}
			list = append(list, Range{Figure: Workers, Service: s.Name, Low: float64(st.fewest), Likely: float64(s.Workers),
				High: float64(st.largest), Source: source})
		}
	}
	for i := range models {
		s := &t.App.Services[i]
		if p.assumed("services." + s.Name + ".startup") {
			list = append(list, Range{Figure: Startup, Service: s.Name, Low: quickStart, Likely: s.Startup.Mean.Seconds(),
				High: slowStart, Source: "no start was measured"})
		}
	}
	if !t.Report.Cluster.Neighbours {
		list = append(list, Range{Figure: Neighbours, Low: 0, Likely: 0, High: busyNeighbours, Source: "not measured"})
	}
	if t.Report.Cluster.Nodes == 0 {
		low := smallNode
		for i := range t.App.Services {
			for low < t.App.Services[i].Size.CPURequest || low*gibPerCore*(1<<30) < float64(t.App.Services[i].Size.MemoryRequest) {
				low *= 2
			}
		}
		likely := t.App.Nodes[0].Cores
		list = append(list, Range{Figure: NodeSize, Low: low, Likely: likely, High: max(largeNode, likely), Source: "not measured"})
	}
	return list
}

func (p *past) assumed(field string) bool {
	return slices.ContainsFunc(p.notes.assumed, func(a Assumption) bool { return a.Field == field })
}

// With is the twin's application and cluster with a range's figure at the given value. The twin
// is not changed.
func (t *Twin) With(r Range, v float64) (*loadline.App, pool.Cluster) {
	return r.On(t.App, t.Cluster, v)
}

// On is an application on a cluster with the figure at the given value. Neither is changed.
func (r Range) On(of *loadline.App, cluster pool.Cluster, v float64) (*loadline.App, pool.Cluster) {
	app := *of
	app.Services = slices.Clone(app.Services)
	for i := range app.Services {
		s := &app.Services[i]
		if r.Service != "" && r.Service != s.Name {
			continue
		}
		switch r.Figure {
		case Workers:
			s.Workers = max(1, int(math.Round(v)))
			s.Backlog = max(s.Backlog, s.Workers)
		case Startup:
			s.Startup.Mean = seconds(v)
		case CPUTime:
			s.CPU.Mean = time.Duration(v * float64(s.CPU.Mean))
		}
	}
	switch r.Figure {
	case ResponseTime:
		app.Kinds = slices.Clone(app.Kinds)
		for i := range app.Kinds {
			if k := &app.Kinds[i]; r.Service == "" || r.Service == k.Name {
				k.SLO.Latency = time.Duration(float64(k.SLO.Latency) / v)
			}
		}
	case Neighbours:
		cluster.Neighbours.Use, cluster.Neighbours.Request = v, v
	case NodeSize:
		app.Nodes = slices.Clone(app.Nodes)
		for i := range app.Nodes {
			app.Nodes[i].Cores, app.Nodes[i].Memory = v, int64(v*gibPerCore)<<30
		}
	}
	if r.Figure == Neighbours || r.Figure == NodeSize {
		app.Nodes = enlarged(&app, cluster)
	}
	return &app, cluster
}

// enlarged adds nodes until all replicas within their bounds have room: whatever
// the nodes and the neighbours were, the recorded pods did run.
func enlarged(app *loadline.App, c pool.Cluster) []loadline.Node {
	nodes := slices.Clone(app.Nodes)
	cores, memory := 0.0, 0.0
	for i := range app.Services {
		s := &app.Services[i]
		cores += float64(s.Bounds.MaxReplicas) * s.Size.CPURequest
		memory += float64(s.Bounds.MaxReplicas) * float64(s.Size.MemoryRequest)
	}
	free, space := max(1-c.Neighbours.Request, 0.05), max(1-c.Neighbours.Memory, 0.05)
	one := nodes[0]
	need := max(cores/(one.Cores*free), memory/(float64(one.Memory)*space))
	for len(nodes) < int(math.Ceil(need))+1 {
		one.Name = fmt.Sprintf("node-%d", len(nodes)+1)
		nodes = append(nodes, one)
	}
	return nodes
}
