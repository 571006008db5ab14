package loadline

import (
	"fmt"
	"slices"
	"time"
)

// MetricState is the state of a metric in one observation.
type MetricState string

// States of a metric.
const (
	MetricPresent MetricState = "present"
	MetricStale   MetricState = "stale" // the newest sample is too old to be used
	MetricAbsent  MetricState = "absent"
)

// Diagnosis is the state of one metric in one observation and, unless it is
// present, the reason and the remedy. Conditions, explain and doctor print it in
// the words of String.
type Diagnosis struct {
	Scope  Scope  `json:"scope,omitempty"`  // empty = all scopes
	Metric string `json:"metric,omitempty"` // empty = every metric
	// Names are the services or kinds of requests that have this state; pods go by
	// their service. None = all.
	Names  []string    `json:"names,omitempty"`
	State  MetricState `json:"state"`
	Since  time.Time   `json:"since,omitzero"` // time of the newest sample of a stale metric
	Why    string      `json:"why,omitempty"`
	Remedy string      `json:"remedy,omitempty"`
}

// String states the metric, its state and the reason.
func (d Diagnosis) String() string {
	text := "every metric"
	if d.Metric != "" {
		text = string(d.Scope) + " " + d.Metric
	}
	if n := len(d.Names); n > 0 {
		text += " of " + d.Names[0]
		if n > 1 {
			text += fmt.Sprintf(" and %d more", n-1)
		}
	}
	text += " is " + string(d.State)
	if d.Why != "" {
		text += ": " + d.Why
	}
	return text
}

// Concerns reports whether the diagnosis applies to a service or to a kind of request. One that
// applies to all applies to each.
func (d *Diagnosis) Concerns(scope Scope, name string) bool {
	switch {
	case d.Scope == "":
		return true
	case d.Scope != scope && !(d.Scope == OfPod && scope == OfService):
		return false
	}
	return len(d.Names) == 0 || slices.Contains(d.Names, name)
}
