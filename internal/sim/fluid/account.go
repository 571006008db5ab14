package fluid

import "github.com/loadline/loadline/internal/sim"

// account collects the latencies of one service, or of one kind, since the last
// reading.
type account struct {
	since  *blender
	weight float64
	count  float64 // since the start of the run
	sum    float64 // seconds, since the start of the run
}

func newAccount() account { return account{since: newBlender()} }

func (a *account) add(d *dist, n float64) {
	a.since.add(d, n)
	a.weight += n
	a.count += n
	a.sum += n * d.mean
}

// read turns what was collected into a reading, counts it in the meter and
// begins anew.
func (a *account) read(out *sim.LatencyReading, slo float64, h *sim.Histogram) {
	out.Histogram = nil
	out.Count, out.SumSeconds = a.count, a.sum
	a.countIn(h)
	if a.weight <= 0 {
		out.P50, out.P90, out.P95, out.P99, out.AtSLO = nan, nan, nan, nan, nan
		return
	}
	var d dist
	a.since.cut(&d, a.weight)
	a.weight = 0
	out.P50, out.P90, out.P95, out.P99 = d.at(depth50), d.at(depth90), d.at(depth95), d.at(depth99)
	out.AtSLO = nan
	if slo > 0 {
		out.AtSLO = d.at(slo)
	}
}

// flushOwn counts the visits that had a profile's distribution until now.
func (e *Engine) flushOwn(profile int32) {
	n := e.ownPending[profile]
	if n <= 0 {
		return
	}
	e.ownPending[profile] = 0
	i := e.p.profiles[profile].service
	e.services[i].own.add(&e.own[profile], n)
}

func (e *Engine) flushShape(shape int) {
	n := e.wholePend[shape]
	if n <= 0 {
		return
	}
	e.wholePend[shape] = 0
	i := e.p.shapes[shape].service
	e.services[i].latency.add(&e.whole[shape], n)
}

// countIn adds what was collected to a histogram of exporter resolution.
func (a *account) countIn(h *sim.Histogram) {
	for i := a.since.lo; i <= a.since.hi; i++ {
		if c := &a.since.bins[i]; c.weight > 0 {
			h.AddN(int64(c.sum/c.weight*1e9), c.weight)
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
