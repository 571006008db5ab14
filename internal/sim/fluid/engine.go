// Package fluid advances a whole application one step at a time in closed
// form: a cluster for training, where the event engine would be too slow.
//
// Reading order: engine.go (the run), flow.go (visits down the call trees),
// station.go (one service's replicas over one step), history.go (delays of an
// overload), curve.go and surface/ (latency by load, measured once), parts.go
// and combine.go (distributions and their arithmetic), latency.go (distributions
// up the call trees), ending.go (what becomes of requests), pods.go (pods come
// and go), crowded.go (nodes that are too small), read.go (what exporters show),
// program.go (the app laid out flat).
//
// What it leaves out: replicas of a service that are alike share one state;
// parts of a request are independent of each other; failed visits are as slow
// as good ones; contention on a node counts by means, not by chance.
package fluid

import (
	"math"
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

	now         time.Duration
	nextControl time.Duration
	disturbed   int
	meter       *sim.Meter
	cp          *sim.ControlPlane

	services []service
	pods     []pod // by slot
	nodes    []machine
	kinds    []kind

	flow     []float64 // by node: visits that come in this step
	pop      []float64 // by node: visits before or on the CPU
	okay     []float64 // by node: share that ends well
	inflight []float64 // by node: requests in it and below
	nodeProb []float64 // by node: visits per visit of the caller
	callProb []float64 // by stage call: that it is made

	own         []dist    // by profile
	ownLoad     []float64 // by profile: where own was taken; -1 = nowhere
	ownDirty    []bool
	ownPending  []float64 // by profile: visits not yet counted with own
	whole       []dist    // by shape
	wholeDirty  []bool
	wholePend   []float64
	allDirty    bool
	blend       *blender
	mixing      *blender // for mixtures whose ingredients need blend
	spare       [2]dist
	warming     bool      // what is flushed belongs to the time before the warm-up's end
	nodeUsed    []float64 // core-seconds of pods that are gone
	unsettled   bool      // some service has a backlog or is about to get one
	drainAt     time.Duration
	noise       []*rand.Rand // by kind; nil = the mean flow
	unsetRates  bool
	crowdedNode bool // some node's limits exceed its cores
}

// New makes a cluster with the app's initial replicas, all ready. It advances
// by the given step, and by less where something happens in between.
func New(cfg sim.Config, step time.Duration) *Engine {
	cfg = cfg.WithDefaults()
	app := cfg.App
	e := &Engine{
		cfg: cfg, app: app, step: max(step, time.Millisecond), table: surface.Embedded(), p: compile(app),
		meter: sim.NewMeter(app, cfg.WarmUp), blend: newBlender(), mixing: newBlender(), nodeUsed: make([]float64, len(app.Nodes)), drainAt: sim.Never, unsetRates: true,
	}
	p := e.p
	n := len(p.nodes)
	e.flow, e.pop, e.okay = make([]float64, n), make([]float64, n), make([]float64, n)
	e.inflight, e.nodeProb = make([]float64, n), make([]float64, n)
	e.callProb = make([]float64, len(p.calls))
	e.own, e.ownLoad = make([]dist, len(p.profiles)), make([]float64, len(p.profiles))
	e.ownDirty, e.ownPending = make([]bool, len(p.profiles)), make([]float64, len(p.profiles))
	e.whole, e.wholeDirty = make([]dist, len(p.shapes)), make([]bool, len(p.shapes))
	e.wholePend = make([]float64, len(p.shapes))
	for i := range e.okay {
		e.okay[i] = 1
	}
	for i := range app.Services {
		e.services = append(e.services, newService(&app.Services[i], i))
	}
	for i, pr := range p.profiles {
		s := &e.services[pr.service]
		s.profiles = append(s.profiles, int32(i))
		s.factors = append(s.factors, pr.work)
		s.lastCurve = append(s.lastCurve, nil)
		e.ownLoad[i] = math.Inf(1)
	}
	for k := range app.Kinds {
		e.kinds = append(e.kinds, newKind(&app.Kinds[k]))
	}
	e.nodes = make([]machine, len(app.Nodes))
	e.setProbabilities()
	e.cp = sim.NewControlPlane(cfg, e.meter, e)
	e.cp.Start()
	e.nextControl = e.cp.Next()
	return e
}

// AddNoise makes arrivals Poisson counts instead of their means, drawn from the
// seed of the run. Call it before the first step.
func (e *Engine) AddNoise() {
	for k := range e.kinds {
		e.noise = append(e.noise, sim.Stream(e.cfg.Seed, sim.StreamArrivals, uint64(k)))
	}
}

// ControlPlane holds the pods.
func (e *Engine) ControlPlane() *sim.ControlPlane { return e.cp }

// Meter is what has been measured so far. Its counts are always up to date, the
// latencies of kinds after this call, and the exporters' histograms after Read
// and Finish.
func (e *Engine) Meter() *sim.Meter {
	e.flushAll()
	return e.meter
}

// Apply hands over a plan.
func (e *Engine) Apply(p loadline.Plan) {
	e.cp.Apply(p, e.now)
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
		next := min(t, e.now+e.step, e.nextControl, e.nextDisturbance(), e.drainAt)
		if e.cfg.WarmUp > e.now {
			next = min(next, e.cfg.WarmUp)
		}
		e.advance(next)
	}
}

// happen lets everything that is due happen: disturbances, pods, drained ones.
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
	if acted || e.nextControl <= e.now {
		e.cp.Run(e.now)
		e.nextControl = e.cp.Next()
	}
	if e.now == e.cfg.WarmUp && e.now > 0 {
		e.warming = true // what was counted so far stays out of the results
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

func (e *Engine) disturb(d sim.Disturbance) {
	if d.LoseNode != nil {
		e.cp.LoseNode(*d.LoseNode, e.now)
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
	}
}

// finer is how many times shorter a step is while a backlog grows or drains:
// delays then change within a step, and the share over the SLO with them.
const finer = 8

// advance goes to next, in shorter steps where things are not settled.
func (e *Engine) advance(next time.Duration) {
	for e.now < next {
		h := next - e.now
		if jump := e.setRates(e.now, h); jump || e.unsettled {
			if fine := max(e.step/finer, time.Second); h > fine {
				h = fine
				e.setRates(e.now, h)
			}
		}
		e.advanceBy(h)
		e.now += h
		e.checkMemory()
		if e.nextControl <= e.now || e.drainAt <= e.now {
			return
		}
	}
}

// advanceBy is one step: everything of it, in order.
func (e *Engine) advanceBy(h time.Duration) {
	seconds := h.Seconds()
	if e.crowdedNode {
		e.shareNodes()
	}
	e.flowDown(seconds)
	e.latencies()
	e.endRequests(e.now+h/2, seconds)
	e.mergeCohorts()
}

// Finish counts what is still open at the end of a run.
func (e *Engine) Finish() {
	e.flushAll()
	e.cp.Settle(e.now)
	e.meter.Finish()
	for k := range e.kinds {
		e.kinds[k].latency.countIn(e.meter.Kinds[k].Exported)
	}
	for i := range e.services {
		s, m := &e.services[i], &e.meter.Services[i]
		m.BusySeconds, m.QueueSeconds, m.CPUSeconds = s.busySeconds, s.queueSeconds, s.cpuSeconds
		s.latency.countIn(m.Latency)
		s.own.countIn(m.Own)
	}
}

var _ sim.Engine = (*Engine)(nil)
