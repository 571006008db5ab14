package fluid

import "github.com/loadline/loadline/internal/sim"

// account collects the latencies of one service, or of one kind, between readings and over the
// run.
type account struct {
	first  dist    // the first distribution since the last reading: mostly the only one
	weight float64 // requests since then
	mixed  bool    // there were more; all of them are merged in since
	since  *blender

	run   *blender // up to the last reading
	total float64  // requests in it

	count, sum float64 // requests and their seconds, from the start
}

func newAccount() account { return account{since: newBlender(), run: newBlender()} }

func (a *account) add(d *dist, n float64) {
	a.count += n
	a.sum += n * d.mean
	if a.weight == 0 {
		a.first, a.weight = *d, n
		return
	}
	if !a.mixed {
		a.since.add(&a.first, a.weight)
		a.mixed = true
	}
	a.since.add(d, n)
	a.weight += n
}

// close returns the distribution since the last reading and resets it; nil = nothing ended.
func (a *account) close() *dist {
	if a.weight <= 0 {
		return nil
	}
	if a.mixed {
		a.since.cut(&a.first, a.weight)
	}
	a.run.add(&a.first, a.weight)
	a.total += a.weight
	a.weight, a.mixed = 0, false
	return &a.first
}

// read converts the collected latencies to a reading; slo is the depth of the SLO's percentile,
// 0 = no SLO.
func (a *account) read(out *sim.LatencyReading, slo float64) {
	out.Histogram = nil
	out.Count, out.SumSeconds = a.count, a.sum
	out.P50, out.P90, out.P95, out.P99, out.AtSLO = nan, nan, nan, nan, nan
	d := a.close()
	if d == nil {
		return
	}
	out.P50, out.P90, out.P95, out.P99 = d.at(depth50), d.at(depth90), d.at(depth95), d.at(depth99)
	if slo > 0 {
		out.AtSLO = d.at(slo)
	}
}

// finish adds the whole run to a histogram.
func (a *account) finish(h *sim.Histogram) {
	a.close()
	if a.total <= 0 {
		return
	}
	var d dist
	a.run.cut(&d, a.total)
	for _, s := range samples {
		h.AddN(int64(d.sample(s)*1e9), a.total*s.weight)
	}
	a.total = 0
}

// flushOwn counts the visits that were served with a profile's distribution until now.
func (e *Engine) flushOwn(profile int32) {
	if n := e.ownPending[profile]; n > 0 {
		e.services[e.p.profiles[profile].service].own.add(&e.own[profile], n)
		e.ownPending[profile] = 0
	}
}

// flushShape counts the visits that were served with a call tree's distribution until now.
func (e *Engine) flushShape(shape int) {
	if n := e.wholePend[shape]; n > 0 {
		e.services[e.p.shapes[shape].service].latency.add(&e.whole[shape], n)
		e.wholePend[shape] = 0
	}
	e.flushCalls(shape)
}

// flushKind counts the requests that were served with a kind's distribution until now, without
// those that timed out.
func (e *Engine) flushKind(k int) {
	kd := &e.kinds[k]
	n := kd.pending
	if n <= 0 {
		return
	}
	kd.pending = 0
	d := &e.whole[e.p.nodes[e.p.roots[k]].shape]
	kd.latency.add(d, n)
	if e.now < e.meter.WarmUp || e.warming {
		return
	}
	within := 1.0
	if kd.late > 0 {
		within = 0
		for _, s := range samples {
			if d.sample(s) <= kd.timeout {
				within += s.weight
			}
		}
	}
	h := e.meter.Kinds[k].Latency
	for _, s := range samples {
		if v := d.sample(s); v <= kd.timeout {
			h.AddN(int64(v*1e9), n*s.weight/within)
		}
	}
}

// flushAll counts everything that is pending.
func (e *Engine) flushAll() {
	for i := range e.own {
		e.flushOwn(int32(i))
	}
	for i := range e.whole {
		e.flushShape(i)
	}
	for k := range e.kinds {
		e.flushKind(k)
	}
}
