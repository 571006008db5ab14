// Package fluid advances a whole application one step at a time in closed form. It is used for
// training, where the event engine would be too slow.
//
// Reading order: engine.go (the run), flow.go (visits down the call trees), station.go (one
// service's replicas over one step), hold.go (visits held while no replica is ready),
// holdback.go (callees that are full), history.go (delays of an overload), curve.go, clump.go
// and surface/ (latency by load, measured once), parts.go, combine.go and blender.go
// (distributions and their arithmetic), latency.go (distributions up the call trees), ending.go
// (how requests end), account.go and sample.go (latency accounting), pods.go and cohorts.go
// (pod lifecycle), crowded.go and chance.go (nodes with too few cores, always or now and then),
// start.go (start-ups that use CPU),
// memory.go (memory limits that are too small), calls.go (calls as
// callers measure them), read.go (exported metrics), program.go and service.go (the app laid
// out flat); steady.go (single services in their steady state, without an engine).
//
// Simplifications: replicas of a service that are alike share one state; parts of a request are
// correlated only as far as latency.go says; failed visits are as slow as successful ones.
package fluid

import (
	"math/rand/v2"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/fluid/surface"
)

// Engine is one simulated cluster. It is not safe for concurrent use.
type Engine struct {
	cfg   sim.Config
	app   *loadline.App
	step  time.Duration
	table *surface.Table
	p     *program
	noise []*rand.Rand // by kind; nil = mean arrivals
	rare  []*rand.Rand // by kind, for requests that are drawn one by one; nil = mean arrivals too
	swing *rand.Rand   // of the CPU in use; nil = its mean
	fate  *rand.Rand   // of replicas close to their memory limit

	now         time.Duration
	nextControl time.Duration
	drainAt     time.Duration // when the next draining pod is empty
	startAt     time.Duration // when the next start-up that uses CPU ends
	disturbed   int           // disturbances applied so far
	meter       *sim.Meter
	cp          *sim.ControlPlane

	services    []service
	holders     []int // services that hold visits
	kinds       []kind
	pods        []pod // by slot
	starts      []start
	nodes       []machine
	nodeUsed    []float64 // by node: core-seconds of deleted pods and of others
	crowdable   int       // nodes whose limits exceed their cores
	short       bool      // some node was short of cores in the last step
	sharesMoved bool      // shares of nodes must be computed again

	nodeFlow
	latencyState
	calls      callsMade
	clumpSums  []clumpSum     // by service
	perRequest [][]visitCount // by kind and service

	replicasChanged bool // since clumps were set

	unsettled bool          // some service has a backlog or is about to get one
	unrest    bool          // the same, for the step being computed
	settledAt time.Duration // the last instant without a backlog
	warming   bool          // what is flushed was before the end of the warm-up
}

// nodeFlow is what flows through the nodes of the call trees.
type nodeFlow struct {
	flow     []float64 // visits that arrive in this step
	taken    []float64 // of them, admitted by the service
	pop      []float64 // visits queued or on the CPU
	okay     []float64 // share that succeeds
	inflight []float64 // requests in it and below
	growth   []float64 // change of that per second
	nodeProb []float64 // visits per visit of the caller
}

// latencyState has the current distributions, and how many visits were served with them without
// having been counted yet.
type latencyState struct {
	own        []dist    // by profile
	ownTail    []float64 // by profile: the part of own that is watched for changes
	ownDirty   []bool
	ownPending []float64

	whole      []dist // by shape
	wholeDirty []bool
	wholePend  []float64
	usualTop   []float64 // by shape: the slowest part when there was no backlog
	inCalls    []float64 // by shape: mean seconds in calls

	callProb []float64 // by stage call: probability that it is made
	allDirty bool
	blend    *blender
	mixing   *blender // for mixtures whose components need blend
	spare    [2]dist
	fresh    dist
}

// New makes a cluster with the app's initial replicas, all ready. It advances in steps of the
// given length, and in shorter ones where an event falls in between.
func New(cfg sim.Config, step time.Duration) *Engine {
	cfg = cfg.WithDefaults()
	app := cfg.App
	p := compile(app)
	e := &Engine{
		cfg: cfg, app: app, step: max(step, time.Millisecond), table: surface.Embedded(), p: p,
		meter: sim.NewMeter(app, cfg.WarmUp), drainAt: sim.Never, startAt: sim.Never,
		nodeFlow: newNodeFlow(len(p.nodes)), latencyState: newLatencyState(p), calls: newCallsMade(p),
		clumpSums: make([]clumpSum, len(app.Services)), fate: sim.Stream(cfg.Seed, sim.StreamDemand, 1),
	}
	for i := range app.Services {
		e.services = append(e.services, newService(&app.Services[i], i))
		e.services[i].fate = e.fate.ExpFloat64()
		if app.Services[i].Hold > 0 {
			e.holders = append(e.holders, i)
			e.services[i].held = newHolding(app, cfg, i)
		}
	}
	callers := p.callersOf(len(app.Services))
	for pos, i := range p.order {
		e.services[i].position = pos
		e.services[i].callers = callers[i]
	}
	for i, pr := range p.profiles {
		s := &e.services[pr.service]
		s.profiles = append(s.profiles, int32(i))
		s.factors = append(s.factors, pr.work)
		s.lastCurve = append(s.lastCurve, nil)
	}
	for k := range app.Kinds {
		e.kinds = append(e.kinds, newKind(&app.Kinds[k]))
		e.perRequest = append(e.perRequest, make([]visitCount, len(app.Services)))
	}
	if len(e.holders) > 0 {
		e.drawRare()
	}
	e.setProbabilities()
	e.cp = sim.NewControlPlane(cfg, e.meter, e)
	e.cp.Start()
	e.nextControl = e.cp.Next()
	return e
}

func newNodeFlow(n int) nodeFlow {
	f := nodeFlow{
		flow: make([]float64, n), taken: make([]float64, n), pop: make([]float64, n), okay: make([]float64, n),
		inflight: make([]float64, n), growth: make([]float64, n), nodeProb: make([]float64, n),
	}
	for i := range f.okay {
		f.okay[i] = 1
	}
	return f
}

func newLatencyState(p *program) latencyState {
	profiles, shapes := len(p.profiles), len(p.shapes)
	return latencyState{
		own: make([]dist, profiles), ownTail: make([]float64, profiles),
		ownDirty: make([]bool, profiles), ownPending: make([]float64, profiles),
		whole: make([]dist, shapes), wholeDirty: make([]bool, shapes), wholePend: make([]float64, shapes),
		usualTop: make([]float64, shapes), inCalls: make([]float64, shapes),
		callProb: make([]float64, len(p.calls)), blend: newBlender(), mixing: newBlender(),
	}
}

// drawRare makes the arrivals of rare kinds whole requests. As a continuous flow they would
// never stop, and no service would ever be idle; this matters only where services scale to zero
// when idle.
func (e *Engine) drawRare() {
	for k := range e.kinds {
		e.rare = append(e.rare, sim.Stream(e.cfg.Seed, sim.StreamArrivals, uint64(k)))
	}
}

// AddNoise makes arrivals Poisson counts instead of their means, drawn from the
// seed of the run. Call it before the first step.
func (e *Engine) AddNoise() {
	for k := range e.kinds {
		e.noise = append(e.noise, sim.Stream(e.cfg.Seed, sim.StreamArrivals, uint64(k)))
	}
}

// AddUsageNoise makes the CPU in use fluctuate as the numbers of requests and their demands do,
// drawn from the seed of the run. Queues keep their mean flow: the surface has their
// fluctuations. An autoscaler that scales out on the highest of several readings acts on these
// fluctuations. Call it before the first step.
func (e *Engine) AddUsageNoise() { e.swing = sim.Stream(e.cfg.Seed, sim.StreamDemand, 0) }

// ControlPlane holds the pods.
func (e *Engine) ControlPlane() *sim.ControlPlane { return e.cp }

// Meter is what has been measured so far. Its counts are always up to date, the
// latencies of kinds after this call, and the exporters' histograms after
// Finish.
func (e *Engine) Meter() *sim.Meter {
	e.flushAll()
	return e.meter
}

// Apply accepts a plan.
func (e *Engine) Apply(p loadline.Plan) {
	e.cp.Apply(p, e.now)
	e.wakeHolders()
	e.nextControl = e.cp.Next()
	e.setProbabilities()
}

// AdvanceTo simulates until t.
func (e *Engine) AdvanceTo(t time.Duration) {
	for {
		e.happen()
		if e.now >= t {
			return
		}
		next := min(t, e.now+e.step, e.nextControl, e.nextDisturbance(), e.drainAt, e.startAt)
		if e.cfg.WarmUp > e.now {
			next = min(next, e.cfg.WarmUp)
		}
		e.advance(next)
	}
}

// happen processes everything that is due: disturbances, pod changes, drained pods.
func (e *Engine) happen() {
	acted := false
	for e.nextDisturbance() <= e.now {
		e.disturb(e.cfg.Disturbances[e.disturbed])
		e.disturbed++
		acted = true
	}
	if e.drainAt <= e.now {
		e.endDrains()
		acted = true
	}
	if e.startAt <= e.now {
		e.endStarts()
		acted = true
	}
	if acted || e.nextControl <= e.now {
		e.cp.Run(e.now)
		e.nextControl = e.cp.Next()
	}
	if e.now == e.cfg.WarmUp && e.now > 0 {
		e.warming = true // requests counted so far are not part of the results
		e.flushAll()
		e.warming = false
	}
}

func (e *Engine) nextDisturbance() time.Duration {
	if e.disturbed == len(e.cfg.Disturbances) {
		return sim.Never
	}
	return e.cfg.Disturbances[e.disturbed].At
}

// Disturb makes a disturbance happen now.
func (e *Engine) Disturb(d sim.Disturbance) {
	e.disturb(d)
	e.cp.Run(e.now)
	e.nextControl = e.cp.Next()
}

func (e *Engine) disturb(d sim.Disturbance) {
	if d.LoseNode != nil {
		e.cp.LoseNode(*d.LoseNode, e.now)
	}
	if d.NeighbourUse != nil {
		e.cp.SetNeighbourUse(*d.NeighbourUse, e.now)
	}
	if c := d.Version; c != nil {
		s := &e.services[c.Service]
		if c.Weights != nil {
			copy(s.weights, c.Weights)
		}
		if c.CPUFactor != 0 {
			s.cpuFactor *= c.CPUFactor
		}
		s.setWork(&e.app.Services[c.Service])
		for i := range s.cohorts {
			s.cohorts[i].curve = e.curveFor(s, s.cohorts[i].limit, s.cohorts[i].quota)
		}
		e.setProbabilities()
		e.countVisits()
	}
}

// finer is how many times shorter a step is while a backlog grows or drains: delays then change
// within a step, and so does the share over the SLO.
const finer = 8

// advance simulates until next, in shorter steps while a backlog changes.
func (e *Engine) advance(next time.Duration) {
	for e.now < next {
		h := next - e.now
		if jump := e.setRates(e.now, h); jump || e.unsettled {
			e.unsettled = true
			if fine := max(e.step/finer, time.Second); h > fine {
				h = fine
				e.setRates(e.now, h)
			}
		}
		if len(e.holders) > 0 {
			if fine := e.holdStep(); h > fine {
				h = max(fine, 1)
				e.setRates(e.now, h)
			}
		}
		e.setClumps()
		e.advanceBy(h)
		e.now += h
		e.checkMemory(h.Seconds())
		if e.nextControl <= e.now || e.drainAt <= e.now || e.startAt <= e.now {
			return
		}
		if len(e.holders) > 0 {
			next = min(next, e.nextControl) // a service may have been woken meanwhile
		}
	}
}

// advanceBy computes one step.
func (e *Engine) advanceBy(h time.Duration) {
	seconds := h.Seconds()
	if e.crowdable > 0 || e.sharesMoved {
		e.shareNodes()
	}
	for n := range e.nodes {
		e.nodeUsed[n] += e.nodes[n].others * seconds
	}
	if len(e.starts) > 0 {
		e.advanceStarts(seconds)
	}
	e.flowDown(seconds)
	e.latencies()
	e.endRequests(e.now+h/2, seconds)
	e.settleHeld()
	e.mergeCohorts()
}

// Finish closes the accounts at the end of a run.
func (e *Engine) Finish() {
	e.flushAll()
	e.cp.Settle(e.now)
	e.meter.Finish()
	for k := range e.kinds {
		e.kinds[k].latency.finish(e.meter.Kinds[k].Exported)
	}
	for i := range e.services {
		s, m := &e.services[i], &e.meter.Services[i]
		m.BusySeconds, m.QueueSeconds, m.CPUSeconds = s.busySeconds, s.queueSeconds, s.cpuSeconds
		s.latency.finish(m.Latency)
		s.own.finish(m.Own)
	}
}

var _ sim.Engine = (*Engine)(nil)
