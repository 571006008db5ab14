package fluid

import "math"

// cohort is a set of replicas of one service that are alike: same size, same backlog. Replicas
// that became ready at different times differ while a backlog lasts, since random routing does
// not balance it.
type cohort struct {
	pods     int
	limit    float64 // cores for visits
	ownLimit float64 // the same, by the pods' own limits alone
	quota    bool    // the limit is enforced by the kernel's quota, not as a speed
	curve    *curve
	lowered  float64 // cores by which crowded nodes lower the limit
	stretch  float64 // delay of a visit on a crowded node, over its CPU time
	delay    float64 // mean further delay there, in seconds
	risk     float64 // probability of it

	crowd   float64 // visits per replica, queued or on the CPU: the state
	in      float64 // arrivals per replica and second
	out     float64 // visits that leave the CPU, per replica and second
	spread  float64 // how far routing balances; see even
	inner   float64 // utilisation of visits with a worker, as if workers were unlimited
	load    float64 // utilisation at which the latency distribution is taken
	calling float64 // visits per replica that have done their CPU work and occupy a worker
	extra   float64 // part of the crowd that an overload has left, not random fluctuation
	queue   float64 // visits waiting for a worker, of the crowd
	top     float64 // throughput limit in visits per second
	stall   float64 // mean wait for a worker while others wait for calls
	odds    float64 // probability of such a wait
	trace   history

	perPod usage // since the start of the run, of a replica that was always in the cohort
}

// usage is what a replica has used.
type usage struct{ cpu, bytes, busy float64 } // core-seconds, byte-seconds, visit-seconds

// demand is the demand on a replica in a step.
type demand struct {
	rate     float64 // visits per second
	cpu      float64 // mean CPU seconds per visit
	factor   float64 // mean factor on the work, part of cpu
	hold     float64 // mean seconds that a worker is occupied after its CPU work
	cv       float64
	workers  float64
	depth    float64 // exponent of the probability that all workers are busy
	places   float64 // workers and backlog
	most     float64 // visits per second that the callees can take
	replicas float64 // among which routing chooses the better of two; 0 = random routing
	full     bool    // every worker that becomes free gets a held visit at once
}

// advance moves the crowd over h seconds and returns the visits refused.
//
// The service rate is that of a stationary station with the same crowd (pointwise stationary
// fluid flow): crowd' = rate - speed*load(crowd). Below saturation it converges to the
// stationary crowd, above it grows and drains linearly. The step is implicit, so steps much
// longer than the station's relaxation time are stable.
func (c *cohort) advance(d *demand, h float64) (refused float64) {
	speed := c.limit / d.cpu
	floor := d.cpu / min(1, c.limit)
	bound := d.workers / (floor + d.hold) // visits per second that the workers allow
	top := max(min(speed, bound, d.most), 1e-6*speed)
	c.top = top
	if d.full {
		c.stayFull(top, h)
		return 0
	}
	share := top / speed
	before := c.crowd
	beforeExtra := c.extra
	y := (before + h*d.rate) / top
	load := min(y/h, 0.999)
	for range 4 {
		s := c.meanScaled(d, load, share, top)
		z := s + h + y
		next := 2 * y / (z + math.Sqrt(max(z*z-4*h*y, 0)))
		moved := math.Abs(next - load)
		if load = next; moved <= 1e-5*(1-load) {
			break
		}
	}
	c.in = d.rate
	c.crowd = max(before+h*(d.rate-top*load), 0)
	if room := max(d.places-c.calling, d.workers*0.1); c.crowd > room {
		refused = min(c.crowd-room, h*d.rate) // visits inside stay, even if calls have taken their places
		c.crowd -= refused
	}
	c.out = max((before+h*d.rate-refused-c.crowd)/h, 0)
	c.split(d, load, top, share)
	c.queue = max(c.crowd+c.calling-d.workers, 0)
	c.queue = min(c.queue, c.crowd)
	if c.extra > 0 || c.trace.n > 0 {
		mid := (max(c.extra-c.queue, 0) + max(beforeExtra-c.queue, 0)) / 2
		c.trace.push(h, c.limit/max(mid, 1e-9), d.rate*h-refused, c.extra > 0)
	}
	return refused
}

// stayFull is a step in which the crowd is constant: each visit that leaves is replaced by a
// held one, so none queues here.
func (c *cohort) stayFull(top, h float64) {
	c.in, c.out = top, top
	c.extra = max(c.crowd-max(c.limit, 1), 0)
	c.queue, c.stall, c.odds, c.load, c.inner, c.spread = 0, 0, 0, 0, 0, 0
	c.trace.push(h, c.limit/max(c.extra, 1e-9), top*h, c.extra > 0)
}

// meanScaled is the mean sojourn times 1-load, on the CPU and in the queue for a worker. It
// also sets what the distribution is made from: the utilisation at which to read the surface,
// and the wait for a worker.
func (c *cohort) meanScaled(d *demand, load, share, top float64) float64 {
	on, spread := even(load*share, d.replicas)
	c.spread = spread * load * load // a single visit has nothing to balance
	inner := on
	c.stall, c.odds = 0, 0
	if held := load * top * d.hold; share < 0.999 || held > 0.5*d.workers || c.quota {
		c.waitForHeld(d, load*top)
	} else if free := d.workers - held; free*(1-on) < 8 {
		inner = c.waitForBusy(d, on, free)
	}
	low, frac := between(inner)
	c.inner = inner
	s := d.factor * c.curve.meanAt(low, frac) / max(1-inner, 1e-12)
	return (s + c.stall + c.stretch*d.cpu + c.delay) * (1 - load)
}

// waitForHeld is the wait for workers that do not slow each other down, because they wait for
// calls or because each has a core until the quota is exhausted: many servers with one queue,
// by Sakasegawa's approximation.
func (c *cohort) waitForHeld(d *demand, out float64) {
	alone := d.cpu
	if !c.quota {
		alone /= min(1, c.limit)
	}
	used := min(out*(alone+d.hold)/d.workers, 1)
	if d.depth*(1-used) > 8 {
		return
	}
	c.odds = math.Pow(used, d.depth)
	c.stall = c.odds * (d.cpu + d.hold) / d.workers * (1 + d.cv*d.cv) / 2 / max(1-used, 1e-6)
}

// waitForBusy is the wait for workers that share the CPU, and the utilisation at which
// unlimited sharing would give the remaining sojourn of visits with a worker. With one worker
// it is the Pollaczek-Khinchine formula, with many it vanishes, and for exponential demand the
// sum equals that of processor sharing.
func (c *cohort) waitForBusy(d *demand, on, workers float64) (inner float64) {
	depth := max(workers, 1)
	if c.limit > 1 {
		depth = max(workers-c.limit, 0) + math.Sqrt(2*(c.limit+1)) - 1
	}
	c.odds = math.Pow(on, depth)
	if c.odds < 1e-3 || c.odds > 1-1e-9 {
		c.odds = 0
		return on
	}
	c.stall = c.odds * d.cpu / c.limit * (1 + d.cv*d.cv) / 2 / max(1-on, 1e-9)
	return max(1-(1-on)/(1-c.odds), 0)
}

// split separates the crowd due to random fluctuation (described by the surface) from the
// backlog of an overload (deterministic).
func (c *cohort) split(d *demand, load, top, share float64) {
	offered := d.rate / top
	most := offered
	if offered > steadyLoad {
		most = max(2*steadyLoad-offered, 0.7)
	}
	steady := min(load, most)
	s := c.meanScaled(d, steady, share, top)
	c.load = c.inner
	usual := top * steady * s / (1 - steady)
	c.extra = c.crowd - usual
	if c.extra < 0.02*usual+0.01 {
		c.extra = 0
	}
}

// steadyLoad is the utilisation up to which a station is assumed to reach its stationary state;
// above it a backlog builds up.
const steadyLoad = 0.97

// even is the utilisation of a randomly routed station with the same sojourns as one whose
// visits go to the better of two replicas drawn at random. With many replicas the k-th place in
// a queue is reached with probability load^(2^k-1) (Mitzenmacher). With few, both draws may be
// the same one, and near saturation all fill up together; that part is calibrated against the
// event engine. spread says how far it applies, from 0 (random) to 1.
func even(load, replicas float64) (as, spread float64) {
	if replicas < 2 || load <= 0 {
		return load, 0
	}
	sum, p := 0.0, load
	for range 8 {
		sum += p
		p = p * p * load
	}
	many := 1 - load/sum
	spread = (1 - 1/replicas) / (1 + 0.17/(max(1-load, 1e-9)*replicas))
	return load - spread*(load-many), spread
}
