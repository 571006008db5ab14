package twin

import (
	"math"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/fluid"
)

// trial simulates response times: one service by itself, with callees that take as long as
// measured. So each service is fitted independently of errors in the others.
type trial struct {
	p       *past
	g       *graph
	service int
	m       *model
	points  []point
	callees []int
	clumped bool // a request visits the service several times
}

// guess is the parameters of a trial.
type guess struct {
	cpuCV        float64
	wait, waitCV float64 // seconds
	workers      int
	parallel     bool // calls are parallel
}

// answer is the response time at one point.
type answer struct {
	mean      float64
	quantiles [4]float64
}

// trialStep is the engine's step. Its steps are implicit, so long ones converge; it shortens
// them itself where a queue builds up.
const trialStep = 2 * time.Minute

// run returns the response times at all points.
func (t *trial) run(gs guess) []answer {
	out := make([]answer, len(t.points))
	if len(t.callees) == 0 && !t.clumped && t.m.demand.work == nil && t.p.options.Routing == loadline.RouteRandom {
		t.climb(gs, out)
		return out
	}
	for i := range t.points {
		t.one(gs, &t.points[i], &out[i])
	}
	return out
}

// climb runs all points in sequence in one engine, the lowest first. With random routing one
// replica represents all.
func (t *trial) climb(gs guess, out []answer) {
	load := make(stairs, len(t.points))
	for i := range load {
		load[i] = t.points[i].rate
	}
	app := &loadline.App{
		Services: []loadline.Service{t.station(gs, 1)},
		Kinds:    []loadline.Kind{{Name: "k", Share: 1, Root: visit(0)}},
	}
	e := fluid.New(sim.Config{App: app, Load: load, CPU: t.p.options.CPU}, trialStep)
	var before, after sim.Reading
	for i := range load {
		e.AdvanceTo(time.Duration(3*i+2) * trialStep)
		e.Read(&before)
		start := before.Services[0].Latency
		e.AdvanceTo(time.Duration(3*i+3) * trialStep)
		e.Read(&after)
		out[i] = answerOf(start, after.Services[0].Latency)
	}
}

// stairs is a load of one kind that stays at each level for three trial steps.
type stairs []float64

func (s stairs) Rate(_ int, t time.Duration) (float64, time.Duration) {
	i := int(t / (3 * trialStep))
	if i >= len(s) {
		return 0, sim.Never
	}
	return s[i], time.Duration(i+1) * 3 * trialStep
}

// one runs a service with its callers and callees at one point.
func (t *trial) one(gs guess, pt *point, out *answer) {
	replicas := 1.0
	if t.p.options.Routing != loadline.RouteRandom {
		replicas = pt.replicas
	}
	app := &loadline.App{Services: []loadline.Service{t.station(gs, int(replicas))}, Routing: t.p.options.Routing}
	stubs := make([]loadline.Call, len(t.callees))
	for i, c := range pt.callees {
		stubs[i] = visit(len(app.Services))
		app.Services = append(app.Services, others(c.mean, c.cv))
		if c.odds > 0 {
			stall := visit(len(app.Services))
			stall.Probability = c.odds
			stubs[i].Stages = [][]loadline.Call{{stall}}
			app.Services = append(app.Services, others(c.stall, 0.4))
		}
	}
	var load flat
	sum := 0.0
	for k := range t.g.kinds {
		if !(pt.kinds[k] > 0) {
			continue
		}
		root := t.called(gs, k, stubs)
		visits := t.g.kinds[k].visits[t.service]
		if t.g.kinds[k].to != t.service {
			root = t.asked(app, pt, k, root)
		}
		app.Kinds = append(app.Kinds, loadline.Kind{Name: t.g.kinds[k].name, Share: 1, Root: root})
		load = append(load, pt.kinds[k]/visits)
		sum += pt.kinds[k]
	}
	// The kinds need not sum to the service's rate; its own count is more precise.
	for k := range load {
		load[k] *= replicas * pt.rate / sum
	}
	e := fluid.New(sim.Config{App: app, Load: load, CPU: t.p.options.CPU}, trialStep)
	var r sim.Reading
	e.AdvanceTo(2 * trialStep)
	e.Read(&r)
	start := r.Services[0].Latency
	e.AdvanceTo(3 * trialStep)
	e.Read(&r)
	*out = answerOf(start, r.Services[0].Latency)
}

// called is one visit to the service with its calls to stubs.
func (t *trial) called(gs guess, k int, stubs []loadline.Call) loadline.Call {
	root := visit(0)
	if t.m.demand.work != nil {
		root.Work = t.m.demand.work[k]
	}
	for _, c := range t.g.kinds[k].calls[t.service] {
		root.Stages = append(root.Stages, repeated(stubs[indexOf(t.callees, c.service)], 1, c.ratio)...)
	}
	if gs.parallel {
		root.Stages = sideBySide(root.Stages)
	}
	return root
}

// repeated are the stages that make ratio calls by each of the callers. If there is at most one
// caller, its calls are sequential.
func repeated(call loadline.Call, callers, ratio float64) (stages [][]loadline.Call) {
	share := 1.0
	if callers < 1 {
		share = round(callers, 4)
	} else {
		ratio *= callers
	}
	whole, rest := times(ratio)
	if whole > 0 {
		c := call
		c.Times, c.Probability = whole, share
		stages = append(stages, []loadline.Call{c})
	}
	if rest > 0 {
		c := call
		c.Probability = share * rest
		stages = append(stages, []loadline.Call{c})
	}
	return stages
}

// asked is the call tree of a kind of request with only the visits to the service under
// trial in it; one substitute service stands for all its callers and takes the rest of the
// request's time. Visits of one request arrive together, and meet the kernel's quota
// together.
func (t *trial) asked(app *loadline.App, pt *point, k int, call loadline.Call) loadline.Call {
	kd := &t.g.kinds[k]
	root := visit(len(app.Services))
	for caller := range kd.calls {
		for _, c := range kd.calls[caller] {
			if c.service == t.service {
				root.Stages = append(root.Stages, repeated(call, kd.visits[caller], c.ratio)...)
			}
		}
	}
	inside := kd.visits[t.service] * pt.mean
	rest := t.p.kindTimes[k] - inside
	if !(rest > 0) {
		rest = 0.1 * max(inside, 0.001)
	}
	app.Services = append(app.Services, others(rest, 1))
	return root
}

// flat is a constant load, by kind.
type flat []float64

func (f flat) Rate(kind int, _ time.Duration) (float64, time.Duration) { return f[kind], sim.Never }

func indexOf(list []int, v int) int {
	for i, x := range list {
		if x == v {
			return i
		}
	}
	return -1
}

func answerOf(before, after sim.LatencyReading) answer {
	return answer{
		mean:      (after.SumSeconds - before.SumSeconds) / (after.Count - before.Count),
		quantiles: [4]float64{after.P50, after.P90, after.P95, after.P99},
	}
}

// station is the service with a guess, with the given replicas.
func (t *trial) station(gs guess, replicas int) loadline.Service {
	return loadline.Service{
		Name: "it", CPU: loadline.Dist{Mean: max(seconds(t.m.demand.perVisit), 1), CV: gs.cpuCV},
		Wait:    loadline.Dist{Mean: seconds(gs.wait), CV: gs.waitCV},
		IdleCPU: t.m.demand.idle, Workers: gs.workers, Backlog: max(gs.workers, 1000), Replicas: replicas,
		Size: loadline.Size{CPURequest: t.m.size.CPURequest, CPULimit: t.m.size.CPULimit},
	}
}

// others takes the place of all other services: a given response time and unlimited capacity.
func others(mean, cv float64) loadline.Service {
	const plenty = 1 << 20
	return loadline.Service{
		Name: "others", CPU: loadline.Dist{Mean: 1}, Wait: loadline.Dist{Mean: seconds(mean), CV: cv},
		Workers: plenty, Backlog: plenty, Replicas: 1, Size: loadline.Size{CPURequest: 1},
	}
}

// Weights of the measures in the misfit: mean, p50, p90, p95, p99. Objectives are stated for
// the mean and the tail, the others show the shape. For a service with callees the shape is
// mostly theirs, over all kinds of requests, while its mean is exact: times add up.
var (
	leafWeights   = [5]float64{4, 1, 0.5, 1, 2}
	callerWeights = [5]float64{6, 0.25, 0.25, 0.25, 0.5}
)

// misfit is the mean relative error of a guess; large errors count linearly, not squared.
func (t *trial) misfit(gs guess) float64 {
	weights := &leafWeights
	if len(t.callees) > 0 {
		weights = &callerWeights
	}
	sum, weight := 0.0, 0.0
	for i, a := range t.run(gs) {
		pt := &t.points[i]
		got := [5]float64{a.mean, a.quantiles[0], a.quantiles[1], a.quantiles[2], a.quantiles[3]}
		seen := [5]float64{pt.mean, pt.quantiles[0], pt.quantiles[1], pt.quantiles[2], pt.quantiles[3]}
		for k := range got {
			if !(seen[k] > 0) {
				continue
			}
			w := pt.weight * weights[k]
			off := 3.0 // no result at all
			if got[k] > 0 {
				off = min(math.Abs(math.Log(got[k]/seen[k])), 3)
			}
			// Nearly quadratic when small, so that the optimum is smooth.
			sum += w * (math.Sqrt(off*off+0.0025) - 0.05)
			weight += w
		}
	}
	// Between guesses that fit equally, the one closest to the usual variation of 1.
	unusual := math.Log(gs.cpuCV)*math.Log(gs.cpuCV) + math.Log(gs.waitCV)*math.Log(gs.waitCV)
	pull := usualPull
	if t.clumped {
		pull = clumpedPull
	}
	return sum/max(weight, 1e-9) + pull*unusual
}

// usualPull is the improvement that an unusual variation must bring, as a share of misfit. For
// visits in clumps under a quota the fluid engine is less precise, and a variation fitted to
// its errors would be wrong in the event engine.
const (
	usualPull   = 0.001
	clumpedPull = 0.02
)
