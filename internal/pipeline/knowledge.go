package pipeline

import (
	"math"
	"time"

	"github.com/loadline/loadline/internal/result"
	"github.com/loadline/loadline/internal/sim/pool"
	"github.com/loadline/loadline/internal/twin"
)

// Knowledge is how well a twin is known: what its history leaves open, and how far it is off on
// later history. An application's own model has none.
type Knowledge struct {
	Ranges   []twin.Range       `json:"ranges,omitempty"` // of figures that the history does not determine
	Others   *Others            `json:"others,omitempty"` // nil = not measured
	Services []ServiceKnowledge `json:"services,omitempty"`
	// P99Error is the median relative error of the 99th percentile from end to end, of the worst kind
	// of request.
	P99Error result.Number   `json:"p99_error"`
	Kinds    []KindKnowledge `json:"kinds,omitempty"`
}

// KindKnowledge is what was measured of a kind of request.
type KindKnowledge struct {
	Kind string `json:"kind"`
	// P99Error is the median relative error of its 99th percentile on later history: in the event
	// engine, which judges, or where that was not replayed in the fluid one.
	P99Error result.Number `json:"p99_error"`
}

// Others are the other users of the nodes, as the history shows them.
type Others struct {
	Neighbours pool.Neighbours `json:"neighbours"` // means over time, and their usual day
	Busiest    float64         `json:"busiest"`    // 95th percentile of their use
	From       time.Time       `json:"from"`       // when the usual day begins
}

// ServiceKnowledge is what was measured of a service.
type ServiceKnowledge struct {
	Service  string        `json:"service"`
	CPUError result.Number `json:"cpu_error"` // median relative error on later history
	// HighestRate is the most requests per second of one replica over a minute that was fitted to.
	HighestRate result.Number `json:"highest_rate"`
}

func knowledgeOf(t *twin.Twin) Knowledge {
	k := Knowledge{P99Error: result.Number(nan)}
	for _, r := range t.Ranges {
		if r.Figure != twin.Neighbours { // Others
			k.Ranges = append(k.Ranges, r)
		}
	}
	if c := &t.Report.Cluster; c.Neighbours {
		k.Others = &Others{Neighbours: t.Cluster.Neighbours, Busiest: float64(c.Busiest), From: t.Report.Cut.UTC()}
	}
	for i := range t.Report.Services {
		s := &t.Report.Services[i]
		k.Services = append(k.Services, ServiceKnowledge{s.Service, result.Number(s.Twin.CPU.All), result.Number(s.HighestRate)})
	}
	for i := range t.Report.Kinds {
		of := &t.Report.Kinds[i]
		e := result.Number(of.EventP99)
		if math.IsNaN(float64(e)) {
			e = result.Number(of.P99.All)
		}
		if math.IsNaN(float64(e)) {
			continue
		}
		k.Kinds = append(k.Kinds, KindKnowledge{of.Kind, e})
		if !(e <= k.P99Error) {
			k.P99Error = e
		}
	}
	return k
}

// known sets the neighbours as they were measured, unless the user gave them.
func (j EvaluationSettings) known(f *Folder) EvaluationSettings {
	j = j.withDefaults()
	if o := f.Subject.Knowledge.Others; o != nil && !j.NeighboursGiven {
		j.Cluster.Neighbours = o.Neighbours
	}
	return j
}

// from is the cluster at a time: the usual day of measured neighbours is that of the clock.
func (j EvaluationSettings) from(f *Folder, at time.Time) pool.Cluster {
	c := j.Cluster
	o, shape := f.Subject.Knowledge.Others, c.Neighbours.Shape
	if o == nil || j.NeighboursGiven || len(shape.Factor) == 0 {
		return c
	}
	n := len(shape.Factor)
	turn := (int(at.Sub(o.From)/shape.Step)%n + n) % n
	c.Neighbours.Shape.Factor = append(append([]float64{}, shape.Factor[turn:]...), shape.Factor[:turn]...)
	return c
}
