// Package event follows every request through every service: the reference that
// evaluations rest on.
//
// Reading order: engine.go (the run), requests.go (arrivals and time-outs), clients.go (retries
// and users who wait for their replies), visit.go (one call at one service), connections.go
// (keep-alive), hold.go (visits held while no replica is ready), replica.go (CPU sharing),
// node.go (cores shared by replicas and others), others.go (neighbours), kubelet.go (pod
// lifecycle), read.go (exported metrics),
// queue.go and tree.go (data structures).
//
// Time is in whole nanoseconds. All future events are in one heap; ties are broken by the order
// of scheduling. After warm-up nothing allocates: visits, jobs and heap entries live in slices
// that grow only with the largest number of concurrent requests.
package event

import (
	"math/rand/v2"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
)

// Engine is one simulated cluster. It is not safe for concurrent use.
type Engine struct {
	cfg          sim.Config
	app          *loadline.App
	quota        bool
	leastRequest bool
	live         bool // the load may change during the run

	now   int64
	queue queue
	meter *sim.Meter
	cp    *sim.ControlPlane

	calls    []call
	made     []sim.CallReading // by edge
	services []service
	holders  []int32 // services that hold requests
	sources  []source
	replicas []replica // by pod slot
	nodes    []node

	visits    []visit
	freeVisit int32

	deadlines   []deadlines
	connections *connections // nil = each request is routed anew
	users       []user
	freeUser    int32
	kindBudgets []budget
	jitter      []*rand.Rand // by called service

	nextControl int64        // when the control plane is next due
	cpDirty     bool         // nextControl may have changed
	disturbed   int          // disturbances applied so far
	phase       []*rand.Rand // by service
	events      uint64
}

// service is what all replicas of a service share.
type service struct {
	cpu, wait  sim.Sampler
	waits      bool
	cpuFactor  []float64 // by version
	waitFactor []float64
	weights    []float64 // cumulative shares of the versions
	workers    int32
	backlog    int32
	contention float64 // see loadline.Service
	hold       int32   // requests that may be held
	ready      []int32 // slots

	rng, calls, routing *rand.Rand
	budget              budget // of retries of its calls

	inside, queued  int32
	busyNs, queueNs float64 // integrals
	busyAt, queueAt int64
	held            holding
	cpuNs           float64 // all pods of the run
}

// New makes a cluster with the app's initial replicas, all ready.
func New(cfg sim.Config) *Engine {
	cfg = cfg.WithDefaults()
	app := cfg.App
	e := &Engine{
		cfg: cfg, app: app,
		quota:        cfg.CPU == sim.Quota,
		leastRequest: app.Routing == loadline.RouteLeastRequest,
		meter:        sim.NewMeter(app, cfg.WarmUp),
		freeVisit:    none,
		freeUser:     none,
		phase:        sim.TenantStreams(app, cfg.Seed, sim.StreamPhase),
		jitter:       sim.TenantStreams(app, cfg.Seed, sim.StreamClients),
	}
	_, e.live = cfg.Load.(sim.Live)
	var roots []int32
	edges := sim.Edges(app)
	e.calls, roots, e.deadlines = compile(app, edges)
	e.connections = newConnections(app, edges)
	e.made = make([]sim.CallReading, len(edges))
	for t, tenant := range app.TenantRanges() {
		seed := sim.TenantSeed(cfg.Seed, t)
		for own := range tenant.Services {
			i := tenant.FirstService + own
			e.services = append(e.services, newService(&app.Services[i], seed, uint64(own)))
			if app.Services[i].Hold > 0 {
				e.holders = append(e.holders, int32(i))
			}
		}
	}
	e.cp = sim.NewControlPlane(cfg, e.meter, e)
	e.cp.Start()
	e.nextControl = int64(e.cp.Next())
	for t, tenant := range app.TenantRanges() {
		seed := sim.TenantSeed(cfg.Seed, t)
		for own := range tenant.Kinds {
			e.addSource(tenant.FirstKind+own, seed, uint64(own), roots)
		}
	}
	return e
}

// addSource begins the arrivals of a kind of request, with the streams of its number.
func (e *Engine) addSource(k int, seed, number uint64, roots []int32) {
	kind := &e.app.Kinds[k]
	src := source{
		rng:   sim.Stream(seed, sim.StreamArrivals, number),
		root:  roots[k],
		users: newUsers(kind.Users, seed, number),
	}
	src.keeps = src.users != nil || kind.Retries.Attempts > 0
	e.sources = append(e.sources, src)
	e.kindBudgets = append(e.kindBudgets, newBudget(kind.RetryBudget))
	if src.users != nil {
		e.beginSessions(int32(k))
	}
	e.scheduleArrival(int32(k))
}

func newService(s *loadline.Service, seed, i uint64) service {
	out := service{
		cpu:     sim.NewSampler(s.CPU),
		wait:    sim.NewSampler(s.Wait),
		waits:   s.Wait.Mean > 0,
		workers: int32(s.Workers),
		backlog: int32(s.Backlog),
		hold:    int32(s.Hold),
		held:    holding{head: none, tail: none},
		rng:     sim.Stream(seed, sim.StreamDemand, i),
		calls:   sim.Stream(seed, sim.StreamCalls, i),
		routing: sim.Stream(seed, sim.StreamRouting, i),
		budget:  newBudget(s.RetryBudget),

		contention: s.Contention,
	}
	if len(s.Versions) == 0 {
		out.cpuFactor, out.waitFactor = []float64{1}, []float64{1}
	}
	weights := make([]float64, 0, len(s.Versions))
	for _, v := range s.Versions {
		out.cpuFactor = append(out.cpuFactor, v.CPU)
		out.waitFactor = append(out.waitFactor, v.Wait)
		weights = append(weights, v.Weight)
	}
	out.setWeights(weights)
	return out
}

func (s *service) setWeights(weights []float64) {
	s.weights = s.weights[:0]
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	seen := 0.0
	for _, w := range weights {
		seen += w / sum
		s.weights = append(s.weights, seen)
	}
}

func (s *service) drawVersion() uint8 {
	if len(s.weights) < 2 {
		return 0
	}
	u := s.calls.Float64()
	for i, w := range s.weights {
		if u < w {
			return uint8(i)
		}
	}
	return uint8(len(s.weights) - 1)
}

// count changes the number of visits in a service and updates its integral.
func (s *service) count(now int64, by int32) {
	s.busyNs += float64(s.inside) * float64(now-s.busyAt)
	s.busyAt = now
	s.inside += by
}

func (s *service) countQueue(now int64, by int32) {
	s.queueNs += float64(s.queued) * float64(now-s.queueAt)
	s.queueAt = now
	s.queued += by
}

func (r *replica) count(now int64, by int32) {
	r.busyNs += float64(r.inside) * float64(now-r.busyAt)
	r.busyAt = now
	r.inside += by
}

func (e *Engine) time() time.Duration { return time.Duration(e.now) }

// Meter is what has been measured so far.
func (e *Engine) Meter() *sim.Meter { return e.meter }

// ControlPlane holds the pods.
func (e *Engine) ControlPlane() *sim.ControlPlane { return e.cp }

// Events is the number of events processed: each arrival at a service, end of CPU work, end of a
// waiting time, and arrival and end of a neighbour's burst.
func (e *Engine) Events() uint64 { return e.events }

// Apply accepts a plan.
func (e *Engine) Apply(p loadline.Plan) {
	e.cp.Apply(p, e.time())
	e.serveHolders()
	e.nextControl = int64(e.cp.Next())
}

// AdvanceTo simulates until t, events at t included.
func (e *Engine) AdvanceTo(t time.Duration) {
	end := int64(t)
	for {
		next := never
		if len(e.queue.heap) > 0 {
			next = e.queue.heap[0].at
		}
		if at := min(e.nextControl, e.nextDisturbance()); at <= next {
			if at > end {
				break
			}
			e.control(at)
			continue
		}
		if next > end {
			break
		}
		e.now = next
		e.happen()
		if e.cpDirty {
			e.serveHolders()
			e.nextControl = int64(e.cp.Next())
			e.cpDirty = false
		}
	}
	e.now = max(e.now, end)
}

// happen processes the first event of the queue.
func (e *Engine) happen() {
	top := e.queue.heap[0]
	switch top.kind { // timers move themselves
	case cpuTimer:
		e.cpuEvent(top.id)
		return
	case nodeTimer:
		e.burstEvent(top.id)
		return
	}
	e.queue.pop()
	switch top.kind {
	case arrival:
		e.arrive(top.id)
	case rateOver:
		e.scheduleArrival(top.id)
	case waitOver:
		e.waitDone(top.id)
	case giveUp:
		e.timeOut(top.id)
	case backoffOver:
		e.backoffDone(top.id)
	case thinkOver:
		e.send(e.users[top.id].kind, top.id)
	}
}

// control runs the control plane and applies disturbances that are due.
func (e *Engine) control(at int64) {
	e.now = at
	if e.nextDisturbance() <= at {
		e.disturb(e.cfg.Disturbances[e.disturbed])
		e.disturbed++
	}
	e.runControl()
}

// runControl lets the control plane act now.
func (e *Engine) runControl() {
	e.cp.Run(e.time())
	e.serveHolders()
	e.nextControl = int64(e.cp.Next())
	e.cpDirty = false
}

// Disturb makes a disturbance happen now.
func (e *Engine) Disturb(d sim.Disturbance) {
	e.disturb(d)
	e.runControl()
}

func (e *Engine) nextDisturbance() int64 {
	if e.disturbed == len(e.cfg.Disturbances) {
		return never
	}
	return int64(e.cfg.Disturbances[e.disturbed].At)
}

func (e *Engine) disturb(d sim.Disturbance) {
	if d.LoseNode != nil {
		e.cp.LoseNode(*d.LoseNode, e.time())
	}
	if d.NeighbourUse != nil {
		e.cp.SetNeighbourUse(*d.NeighbourUse, e.time())
	}
	if c := d.Version; c != nil {
		s := &e.services[c.Service]
		if c.Weights != nil {
			s.setWeights(c.Weights)
		}
		if c.CPUFactor != 0 {
			for i := range s.cpuFactor {
				s.cpuFactor[i] *= c.CPUFactor
			}
		}
	}
}
