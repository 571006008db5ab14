package drpc

import (
	"fmt"
	"math"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/env"
)

// Locals is the number of features of a student, Axes that of its actions.
const (
	Locals = 5
	Axes   = 3
)

// LocalFeatures are what a student sees: requests, requests that are expected,
// CPU, memory and tail latency, as in the authors' code, and as ratios.
var LocalFeatures = [Locals]string{"load", "load_ahead", "cpu", "memory_request", "latency_p99"}

// Local is what a student sees of its deployment, squashed.
type Local [Locals]float32

// Action is what an agent wants of one deployment, each from -1 to 1.
type Action [Axes]float32

// The axes of an action, in the order of Algorithm 2.
const (
	AxisCPU = iota
	AxisMemory
	AxisHorizontal
)

// AxisNames in that order.
var AxisNames = [Axes]string{"cpu", "memory", "horizontal"}

// Shape is how the state of the whole is laid out for a teacher.
type Shape string

const (
	// Shared is one row for each service: its own state, and all the others' and the
	// machines' in a few figures. One network serves all rows.
	Shared Shape = "shared"
	// Plain is everything side by side for one network, as printed.
	Plain Shape = "plain"
)

// Shapes that are known, the default first.
func Shapes() []Shape { return []Shape{Shared, Plain} }

// besides are the features of a service that the teacher sees and students do not.
var besides = []string{"fill", "size", "starting"}

// Of a row of the shared shape: what is known of the service beforehand (the share
// of requests that pass it, whether it may brown out, and whether it has), the mean over services
// of what students see, the largest load and latency, and mean, least and largest
// utilisation of the machines by resource.
const (
	known   = 3
	commons = Locals + 2 + 2*3
)

// Eyes turn situations into what students and teacher see. They are for one
// goroutine.
type Eyes struct {
	App    *loadline.App
	Ground *env.Ground

	local, more *env.Sight
	passing     []float32 // share of requests that pass a service
	optional    []bool    // every call to the service may be dropped
	values      []float32
}

// NewEyes looks at an application.
func NewEyes(app *loadline.App) (*Eyes, error) {
	local, err := env.NewSight(LocalFeatures[:]...)
	if err != nil {
		return nil, fmt.Errorf("drpc: %w", err)
	}
	more, err := env.NewSight(besides...)
	if err != nil {
		return nil, fmt.Errorf("drpc: %w", err)
	}
	e := &Eyes{App: app, Ground: env.NewGround(app), local: local, more: more, optional: mayBrownOut(app), passing: make([]float32, len(app.Services))}
	all := 0.0
	for _, k := range app.Kinds {
		all += k.Share
	}
	for i := range e.passing {
		for k, visits := range e.Ground.Services[i].Visits {
			if all > 0 {
				e.passing[i] += float32(min(visits, 1) * app.Kinds[k].Share / all)
			}
		}
	}
	return e, nil
}

// mayBrownOut are the services of which every call may be dropped.
func mayBrownOut(app *loadline.App) []bool {
	called, needed := make([]bool, len(app.Services)), make([]bool, len(app.Services))
	var walk func(c *loadline.Call)
	walk = func(c *loadline.Call) {
		called[c.Service] = true
		needed[c.Service] = needed[c.Service] || !c.Optional
		for _, stage := range c.Stages {
			for i := range stage {
				walk(&stage[i])
			}
		}
	}
	for k := range app.Kinds {
		walk(&app.Kinds[k].Root)
	}
	for i := range called {
		called[i] = called[i] && !needed[i]
	}
	return called
}

// squash makes ratios small without losing which of two large ones is larger.
func squash(v float32) float32 { return float32(math.Log2(1 + max(0, float64(v)))) }

// Local is what a student sees. If something was not measured, its name comes
// back and nothing can be decided.
func (e *Eyes) Local(s loadline.Situation, service int, into *Local) (absent string) {
	e.values, absent = e.local.See(e.Ground, s, service, e.values[:0])
	if absent != "" {
		return absent
	}
	for i, v := range e.values {
		into[i] = squash(v)
	}
	return ""
}

// Width is the number of values of what a teacher sees.
func (e *Eyes) Width(shape Shape) int {
	n := len(e.App.Services)
	if shape == Plain {
		return n*Locals + 2*len(e.App.Nodes)
	}
	return n * (Locals + len(besides) + known + commons)
}

// Parts that a teacher's networks may share.
func (e *Eyes) Parts(shape Shape) int {
	if shape == Plain {
		return 1
	}
	return len(e.App.Services)
}

// Whole is what a teacher sees: all students' states, the machines, and, in the
// shared shape, what it knows of each service besides.
func (e *Eyes) Whole(shape Shape, s loadline.Situation, locals []Local, into []float32) []float32 {
	if shape == Plain {
		for i := range locals {
			into = append(into, locals[i][:]...)
		}
		for k := range e.App.Nodes {
			cpu, memory, _ := utilisation(s.Now(), k)
			into = append(into, float32(cpu), float32(memory))
		}
		return into
	}
	common := e.common(s, locals)
	for i := range locals {
		into = append(into, locals[i][:]...)
		// Those of the allocation are always there.
		e.values, _ = e.more.See(e.Ground, s, i, e.values[:0])
		into = append(into, e.values...)
		into = append(into, e.passing[i], flag(e.optional[i]), flag(s.InFlight[i].Brownout))
		into = append(into, common[:]...)
	}
	return into
}

func flag(b bool) float32 {
	if b {
		return 1
	}
	return 0
}

func (e *Eyes) common(s loadline.Situation, locals []Local) (c [commons]float32) {
	for i := range locals {
		for j, v := range locals[i] {
			c[j] += v / float32(len(locals))
		}
		c[Locals] = max(c[Locals], locals[i][0])
		c[Locals+1] = max(c[Locals+1], locals[i][Locals-1])
	}
	machines := c[Locals+2:]
	count := 0
	for k := range e.App.Nodes {
		cpu, memory, ok := utilisation(s.Now(), k)
		if !ok {
			continue
		}
		for r, u := range [2]float32{float32(cpu), float32(memory)} {
			of := machines[3*r:]
			if count == 0 {
				of[1], of[2] = u, u
			}
			of[0] += u
			of[1], of[2] = min(of[1], u), max(of[2], u)
		}
		count++
	}
	if count > 0 {
		machines[0] /= float32(count)
		machines[3] /= float32(count)
	}
	return c
}

func unsquash(v float32) float64 { return math.Exp2(float64(v)) - 1 }
