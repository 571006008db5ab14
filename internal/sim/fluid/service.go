package fluid

import (
	"math"

	"github.com/loadline/loadline"
)

// service is the engine's state of one service.
type service struct {
	cohorts   []cohort
	profiles  []int32
	factors   []float64 // of the profiles, on the work
	lastCurve []*curve  // of the profiles: the curve that their distribution was taken from
	weights   []float64 // of the versions
	index     int
	position  int     // in program.order
	alike     float64 // how far visits that met stay together; see kinship
	work      work
	curves    map[curveKey]*curve

	cpuFactor  float64 // from version changes
	contention float64 // see loadline.Service
	clump      clump

	ready    int
	lost     int // replicas on lost nodes that calls are still routed to
	workers  float64
	depth    float64 // see demand
	places   float64
	idle     float64 // cores per ready replica
	base     float64 // bytes per ready replica
	perVisit float64 // bytes
	doom     float64 // kills for lack of memory that are due, as far as expected
	fate     float64 // at which one happens

	crowd           float64 // visits queued or on the CPU, all replicas, draining ones included
	draining        float64 // of them, in draining replicas
	refused         float64 // share of the step's visits
	luck            float64 // CPU time that the step's visits need, over its mean
	lastIn, lastOut float64 // visits per second in the last step
	callers         []int32 // services that call it
	hold            float64 // mean seconds of a visit after its CPU work
	inside          float64 // visits in the service

	busySeconds, queueSeconds, cpuSeconds float64

	latency, own account

	held holding
}

// curveKey identifies a size: limits within 1 % share a curve.
type curveKey struct {
	step     int
	quota    bool
	size, cv int // of the clump
}

const maxCohorts = 4

func newService(s *loadline.Service, index int) service {
	out := service{
		index:   index,
		cohorts: make([]cohort, 0, maxCohorts),
		curves:  map[curveKey]*curve{},
		workers: max(float64(s.Workers), 1), places: max(float64(s.Workers+s.Backlog), 1),
		idle: s.IdleCPU, base: float64(s.Memory.Base), perVisit: float64(s.Memory.PerRequest),
		cpuFactor: 1, clump: alone, luck: 1, contention: s.Contention,
		latency: newAccount(), own: newAccount(),
	}
	for _, v := range s.Versions {
		out.weights = append(out.weights, v.Weight)
	}
	out.depth = math.Sqrt(2*(out.workers+1)) - 1
	out.setWork(s)
	return out
}

// setWork computes the demand of visits from the versions that run.
func (s *service) setWork(spec *loadline.Service) {
	cpu, wait := moments(spec.CPU), moments(spec.Wait)
	w := work{exponential: spec.CPU.Shape == loadline.Exponential}
	sum, cpu1, cpu2, wait1, wait2 := 0.0, 0.0, 0.0, 0.0, 0.0
	for i := range s.weights {
		v, share := &spec.Versions[i], s.weights[i]
		sum += share
		cpu1 += share * v.CPU
		cpu2 += share * v.CPU * v.CPU
		wait1 += share * v.Wait
		wait2 += share * v.Wait * v.Wait
	}
	if sum == 0 {
		sum, cpu1, cpu2, wait1, wait2 = 1, 1, 1, 1, 1
	}
	w.cpu = max(cpu.mean*cpu1/sum*s.cpuFactor, 1e-9)
	w.wait = wait.mean * wait1 / sum
	w.cpuCV = mixedCV(cpu.cv, cpu1/sum, cpu2/sum)
	w.waitCV = mixedCV(wait.cv, wait1/sum, wait2/sum)
	s.work = w
	s.alike = min(0.3/math.Pow(max(w.cpuCV, 0.1), 1.3), 1)
	clear(s.curves)
}

type meanCV struct{ mean, cv float64 }

func moments(d loadline.Dist) meanCV {
	if d.Shape == loadline.Exponential {
		return meanCV{d.Mean.Seconds(), 1}
	}
	return meanCV{d.Mean.Seconds(), d.CV}
}

// mixedCV is the coefficient of variation of a time with the given one, multiplied by a random
// factor.
func mixedCV(cv, factor, factor2 float64) float64 {
	if factor == 0 {
		return 0
	}
	return math.Sqrt(max((1+cv*cv)*factor2/(factor*factor)-1, 0))
}

// versionShare is the share of visits whose version is in the set.
func (s *service) versionShare(set uint64) float64 {
	if set == 0 || len(s.weights) == 0 {
		return 1
	}
	in, all := 0.0, 0.0
	for i, w := range s.weights {
		all += w
		if set>>i&1 == 1 {
			in += w
		}
	}
	if all == 0 {
		return 1
	}
	return in / all
}

// curveFor finds or makes the curve of a limit.
func (e *Engine) curveFor(s *service, limit float64, quota bool) *curve {
	key := curveKey{step: int(math.Round(math.Log(limit) * 100)), quota: quota}
	cl := alone
	if quota {
		cl, key.size, key.cv = s.clump.rounded()
	}
	c := s.curves[key]
	if c == nil {
		c = newCurve(e.table, e.blend, s.work, cl, math.Exp(float64(key.step)/100), quota, s.factors)
		s.curves[key] = c
	}
	return c
}

// setProbabilities computes the probability of each call from versions and brownout.
func (e *Engine) setProbabilities() {
	alloc := e.allocation()
	changed := false
	for i := range e.p.nodes {
		n := &e.p.nodes[i]
		p := n.prob * n.times
		if n.parent >= 0 {
			p *= e.services[e.p.nodes[n.parent].service].versionShare(n.versions)
		}
		if n.optional && alloc != nil && alloc[n.service].Brownout {
			p = 0
		}
		changed = changed || p != e.nodeProb[i]
		e.nodeProb[i] = p
	}
	for i := range e.p.calls {
		c := &e.p.calls[i]
		p := c.prob * e.services[c.caller].versionShare(c.versions)
		if c.optional && alloc != nil && alloc[c.service].Brownout {
			p = 0
		}
		if p != e.callProb[i] {
			e.callProb[i] = p
			e.allDirty = true
		}
	}
	if changed {
		e.countVisits()
	}
}

func (e *Engine) allocation() []loadline.Allocation {
	if e.cp == nil {
		return nil
	}
	return e.cp.Allocation()
}
