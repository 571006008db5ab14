// Package history is an application's recorded metrics: per service, per call from one service
// to another, and per node, at every step. It is read from a folder that a pull, an import or a
// recording wrote, and twins are fitted to it.
//
// Reading order: history.go (a history in memory), metric.go (the metrics), kinds.go (names of
// users' requests), tidy.go (its normal form), manifest.go (the folder's description),
// layout.go (the files in it), writer.go and writepart.go, reader.go and readpart.go (the
// folder).
package history

import (
	"math"
	"time"
)

// History is the metrics of one application over time, in memory. All its series have Steps
// values; value i refers to the step that ends at At(i).
type History struct {
	Manifest Manifest
	Start    time.Time // the end of the first step
	Step     time.Duration
	Steps    int
	Services []Service // sorted by name
	Calls    []Calls   // sorted by From, To, Operation
	Nodes    []Node    // sorted by name; none = not measured
}

// Series is one measure over time, one value per step. NaN is absent: not measured, which is
// not zero. A nil series was never measured.
type Series []float32

// Service is one deployment and its metrics.
type Service struct {
	Name   string
	Series [ServiceMetrics]Series
}

// Calls are the requests that one service sent to another, or that users sent.
type Calls struct {
	From      string // empty: from outside, by users
	To        string
	Operation string // route, method or host, where the metrics distinguish them; may be empty
	Series    [CallMetrics]Series
}

// Node is one machine that pods of the application were on, and what others use of it.
type Node struct {
	Name   string
	Series [NodeMetrics]Series
}

// At is the instant that value i refers to: the end of its step.
func (h *History) At(i int) time.Time { return h.Start.Add(time.Duration(i) * h.Step) }

// Duration that the history covers.
func (h *History) Duration() time.Duration { return time.Duration(h.Steps) * h.Step }

// Service by its name, or nil.
func (h *History) Service(name string) *Service {
	for i := range h.Services {
		if h.Services[i].Name == name {
			return &h.Services[i]
		}
	}
	return nil
}

// Cut is the steps [a, b). It shares memory.
func (h *History) Cut(a, b int) *History {
	part := &History{Manifest: h.Manifest, Start: h.At(a), Step: h.Step, Steps: b - a}
	part.Services = append(part.Services, h.Services...)
	for i := range part.Services {
		part.Services[i].Series = cutAll(part.Services[i].Series, a, b)
	}
	part.Calls = append(part.Calls, h.Calls...)
	for i := range part.Calls {
		s := &part.Calls[i].Series
		for m := range s {
			s[m] = s[m].cut(a, b)
		}
	}
	part.Nodes = append(part.Nodes, h.Nodes...)
	for i := range part.Nodes {
		s := &part.Nodes[i].Series
		for m := range s {
			s[m] = s[m].cut(a, b)
		}
	}
	return part
}

func cutAll(all [ServiceMetrics]Series, a, b int) [ServiceMetrics]Series {
	for m := range all {
		all[m] = all[m].cut(a, b)
	}
	return all
}

func (s Series) cut(a, b int) Series {
	if s == nil {
		return nil
	}
	return s[a:b:b]
}

// Get is the value of a step, and whether it is present.
func (s Series) Get(i int) (value float64, present bool) {
	if s == nil {
		return math.NaN(), false
	}
	v := float64(s[i])
	return v, !math.IsNaN(v)
}

// Present counts the present values.
func (s Series) Present() int {
	n := 0
	for _, v := range s {
		if v == v {
			n++
		}
	}
	return n
}

// NewSeries is a series of absent values.
func NewSeries(steps int) Series {
	s := make(Series, steps)
	for i := range s {
		s[i] = float32(math.NaN())
	}
	return s
}
