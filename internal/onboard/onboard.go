// Package onboard proposes LoadLines for a namespace that Loadline does not manage yet, from its
// workloads, their autoscalers and the recent past of their metrics. It reads and writes nothing.
//
// Reading order: onboard.go (what comes in and what comes out), propose.go (workloads to
// applications), group.go (which workloads are one application), objective.go (guessed
// objectives), service.go (bounds), monitor.go (what scrapes a workload), text.go (for people).
package onboard

import (
	"time"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/advice"
	"github.com/loadline/loadline/internal/history"
)

// Seen is what was read of a namespace.
type Seen struct {
	Namespace string
	Workloads advice.Workloads
	LoadLines []v1alpha1.LoadLine // that are there already
	Monitors  []advice.Object     // ServiceMonitors, PodMonitors, and the Services that the first select

	History *history.History // nil = nothing is measured
	Preset  string           // of the metrics
	Unseen  string           // why there is no history

	Resizable bool   // pods can be resized in place
	URL       string // of Prometheus, for LoadLines; "" = the class or the installation has it
}

// Proposal is what can be managed, and what cannot.
type Proposal struct {
	Namespace    string        `json:"namespace"`
	Preset       string        `json:"preset,omitempty"`
	Workloads    int           `json:"workloads"`
	Applications []Application `json:"applications"`
	LeftOut      []LeftOut     `json:"leftOut,omitempty"`
	// NotTakenOver are settings of autoscalers that have no counterpart in a LoadLine.
	NotTakenOver []string `json:"notTakenOver,omitempty"`
	Notes        []string `json:"notes,omitempty"`
}

// Application is one LoadLine.
type Application struct {
	Name     string             `json:"name"`
	Guesses  []Guess            `json:"guesses"`  // one for each objective
	Services []Service          `json:"services"` // in the order of the LoadLine
	Remarks  []string           `json:"remarks,omitempty"`
	LoadLine *v1alpha1.LoadLine `json:"loadLine"`
}

// Guess is an objective and the response times that it comes from.
type Guess struct {
	Service string        `json:"service"`
	Latency time.Duration `json:"latencyNs"`
	Typical time.Duration `json:"typicalNs"` // the median over time of the 99th percentile
	High    time.Duration `json:"highNs"`    // its 95th percentile over time
	Values  int           `json:"values"`    // that were measured
	Over    time.Duration `json:"overNs"`    // the time that they are from
}

// Service is where the settings of a service come from.
type Service struct {
	Name     string  `json:"name"`
	Workload string  `json:"workload"`
	Replicas int     `json:"replicas"` // today
	Min      int     `json:"min"`
	Max      int     `json:"max"`
	From     string  `json:"from"` // the autoscaler, or "guess"
	Rate     float64 `json:"requestsPerSecond"`
}

// LeftOut is a workload that is not proposed.
type LeftOut struct {
	Workload string `json:"workload"`
	Why      string `json:"why"`
	Do       string `json:"do,omitempty"`
}

// ServiceCount of all applications.
func (p *Proposal) ServiceCount() int {
	n := 0
	for i := range p.Applications {
		n += len(p.Applications[i].Services)
	}
	return n
}

// Documents are the LoadLines with their remarks as comments, ready to be written.
func (p *Proposal) Documents() []advice.Document {
	var all []advice.Document
	for i := range p.Applications {
		all = append(all, advice.Document{Comments: p.Applications[i].comments(), Object: p.Applications[i].LoadLine})
	}
	return all
}
