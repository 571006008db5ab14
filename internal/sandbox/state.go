package sandbox

import "github.com/loadline/loadline/internal/result"

// About is what does not change while a sandbox runs.
type About struct {
	App      string     `json:"app"`
	Services []string   `json:"services"`
	Kinds    []Kind     `json:"kinds"`
	Usual    float64    `json:"usual"` // requests per second
	Patterns []Pattern  `json:"patterns"`
	Sides    []string   `json:"sides"` // what scales each
	Currency string     `json:"currency"`
	Node     string     `json:"node"` // type of the nodes
	Price    float64    `json:"price"`
	Slow     string     `json:"slow"`    // service that a slow version is shipped of
	Factors  [2]float64 `json:"factors"` // that the load can be dragged to
	Speed    int        `json:"speed"`
	Seed     uint64     `json:"seed"`
}

// Kind of request with its objective.
type Kind struct {
	Name       string  `json:"name"`
	Percentile float64 `json:"percentile"`
	Seconds    float64 `json:"seconds"`
}

// State is both sides at one instant, and what has happened since the last state.
type State struct {
	At      float64 `json:"at"`   // seconds
	Load    float64 `json:"load"` // requests per second, as dialled
	Factor  float64 `json:"factor"`
	Pattern string  `json:"pattern"`
	Faults  Faults  `json:"faults"`
	Ended   bool    `json:"ended,omitempty"` // it cannot be advanced further
	Sides   [2]Side `json:"sides"`
}

// Faults that last until they are undone.
type Faults struct {
	Blind     bool `json:"blind"`     // no metrics
	Neighbour bool `json:"neighbour"` // neighbours are awake
	Slow      bool `json:"slow"`      // a slow version runs
}

// Side is one cluster.
type Side struct {
	Bill     float64       `json:"bill"`     // since the sandbox was opened
	PerHour  float64       `json:"per_hour"` // over the last minute
	Requests float64       `json:"requests"` // since the sandbox was opened
	Over     result.Number `json:"over"`     // share of them over their SLO or failed
	Rung     string        `json:"rung,omitempty"`
	Nodes    []Node        `json:"nodes"`
	Pending  []Pod         `json:"pending,omitempty"` // pods without a node
	Services []Service     `json:"services"`
	Samples  []Sample      `json:"samples,omitempty"`
	Events   []Event       `json:"events,omitempty"`
}

// Node is one machine.
type Node struct {
	Slot   int     `json:"slot"`
	Name   string  `json:"name"`
	State  string  `json:"state"`
	Cores  float64 `json:"cores"`
	Free   float64 `json:"free"`   // cores that pods may still request
	Others float64 `json:"others"` // cores that neighbours and the system want
	Pods   []Pod   `json:"pods,omitempty"`
}

// Pod is [ID, service, phase, requested millicores].
type Pod [4]int64

// Service of one side.
type Service struct {
	Desired int           `json:"desired"`
	Ready   int           `json:"ready"`
	Request float64       `json:"request"` // cores of each pod
	Use     result.Number `json:"use"`     // of all requests of ready pods
}

// Sample is one point of the charts.
type Sample struct {
	At      float64       `json:"t"`
	Load    float64       `json:"load"`    // requests per second that arrived
	Worst   result.Number `json:"p"`       // latency at the SLO's percentile over the SLO's, the worst kind
	Kind    int           `json:"k"`       // that kind
	Over    result.Number `json:"over"`    // share of requests over their SLO
	Ready   int           `json:"ready"`   // pods
	Nodes   int           `json:"nodes"`   // that are paid for
	PerHour result.Number `json:"money"`   // over the last minute; absent before there is one
	Cores   float64       `json:"request"` // of all pods on nodes
}

// Event is a line of the feed.
type Event struct {
	At      float64  `json:"t"`
	Type    string   `json:"type"` // decision, hold, rung, node
	Text    string   `json:"text"`
	Changes []Change `json:"changes,omitempty"`
}

// Change of one service by a decision.
type Change struct {
	Service string   `json:"service"`
	Text    string   `json:"text"`
	Why     string   `json:"why,omitempty"`
	Guards  []string `json:"guards,omitempty"`
}
