package drpc

import (
	"fmt"
	"math"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/formulation"
)

// Locals is the number of features of a student, Axes that of its actions.
const (
	Locals = 5
	Axes   = 3
)

// LocalFeatures are the inputs of a student: requests, forecast requests,
// CPU, memory and tail latency, as in the authors' code, and as ratios.
var LocalFeatures = [Locals]string{"load", "load_ahead", "cpu", "memory_request", "latency_p99"}

// Local is the observation of a student, squashed.
type Local [Locals]float32

// Action is an agent's action on one deployment, each from -1 to 1.
type Action [Axes]float32

// The axes of an action, in the order of Algorithm 2.
const (
	AxisCPU = iota
	AxisMemory
	AxisHorizontal
)

// AxisNames in that order.
var AxisNames = [Axes]string{"cpu", "memory", "horizontal"}

// Shape is the layout of the global state for a teacher.
type Shape string

const (
	// Shared is one row for each service: its own state, and all the others' and the
	// machines' in a few figures. One network serves all rows.
	Shared Shape = "shared"
	// Plain is everything side by side for one network, as printed.
	Plain Shape = "plain"
)

// Shapes lists all shapes, the default first.
func Shapes() []Shape { return []Shape{Shared, Plain} }

// besides is the number of features per service that only the teacher has.
const besides = 3

var besideFeatures = [besides]string{"fill", "size", "starting"}

// Of a row of the shared shape: the share of requests that visit the service (known in
// advance), the mean over services of the students' features, the largest load and latency, and
// mean, least and largest utilisation of the machines by resource. Whether the service is
// optional is not included: from the few that are, a teacher learns that removing the last
// replica is bad, and adds one in any state.
const (
	known   = 1
	commons = Locals + 2 + 2*3
)

// Encoder turns situations into the observations of students and teacher. It is for one
// goroutine.
type Encoder struct {
	App      *loadline.App
	Topology *formulation.Topology

	local, more *formulation.FeatureSet
	passing     []float32 // share of requests that visit a service
	values      []float32
	view        View
	order       byName
}

// NewEncoder makes an encoder for an application.
func NewEncoder(app *loadline.App) (*Encoder, error) {
	local, err := formulation.NewFeatureSet(LocalFeatures[:]...)
	if err != nil {
		return nil, fmt.Errorf("drpc: %w", err)
	}
	more, err := formulation.NewFeatureSet(besideFeatures[:]...)
	if err != nil {
		return nil, fmt.Errorf("drpc: %w", err)
	}
	e := &Encoder{App: app, Topology: formulation.NewTopology(app), local: local, more: more, order: orderOf(app),
		passing: make([]float32, len(app.Services))}
	all := 0.0
	for _, k := range app.Kinds {
		all += k.Share
	}
	for i := range e.passing {
		for k, visits := range e.Topology.Services[i].Visits {
			if all > 0 {
				e.passing[i] += float32(min(visits, 1) * app.Kinds[k].Share / all)
			}
		}
	}
	return e, nil
}

// UseShares sets the services' parts of the SLO instead of proportional ones; nil
// changes nothing.
func (e *Encoder) UseShares(by *formulation.Shares) { e.Topology = e.Topology.With(by) }

// squash compresses ratios and keeps their order.
func squash(v float32) float32 { return float32(math.Log2(1 + max(0, float64(v)))) }

// Local fills in the observation of a student. If a feature was not measured it returns
// its name, and no decision is possible.
func (e *Encoder) Local(s loadline.Situation, service int, into *Local) (absent string) {
	e.values, absent = e.local.Append(e.Topology, s, service, e.values[:0])
	if absent != "" {
		return absent
	}
	for i, v := range e.values {
		into[i] = squash(v)
	}
	return ""
}

// Width is the length of a teacher's observation.
func (e *Encoder) Width(shape Shape) int {
	n := len(e.App.Services)
	if shape == Plain {
		return n*Locals + 2*len(e.App.Nodes)
	}
	return n * (Locals + besides + known + commons)
}

// Parts that a teacher's networks may share.
func (e *Encoder) Parts(shape Shape) int {
	if shape == Plain {
		return 1
	}
	return len(e.App.Services)
}

// Global appends a teacher's observation.
func (e *Encoder) Global(shape Shape, s loadline.Situation, locals []Local, into []float32) []float32 {
	e.Observe(s, locals, &e.view)
	return e.Encode(shape, &e.view, into)
}

func unsquash(v float32) float64 { return math.Exp2(float64(v)) - 1 }
