package fluid

import (
	"math"

	"github.com/loadline/loadline/internal/sim"
)

// Read fills r with the metrics exported now. Latencies are quantiles of the time since the
// last call.
func (e *Engine) Read(r *sim.Reading) {
	e.flushAll()
	r.At = e.now
	r.Resize(len(e.services), len(e.kinds), len(e.nodes))
	for i := range r.Nodes {
		r.Nodes[i] = sim.NodeReading{CPUSeconds: e.nodeUsed[i]}
	}
	for slot := range e.pods {
		if p := &e.pods[slot]; p.id != 0 && p.node >= 0 {
			u := p.used
			if p.cohort >= 0 {
				u = e.usageOf(slot)
			}
			r.Nodes[p.node].CPUSeconds += u.cpu
		}
	}
	for i := range e.services {
		e.readService(i, r)
	}
	for k := range e.kinds {
		m, out := &e.meter.Kinds[k], &r.Kinds[k]
		out.Arrived, out.Ended, out.Failed, out.Over = m.Arrived, m.ExportedEnded, m.Failed, m.ExportedOver
		e.kinds[k].latency.read(&out.Latency, e.kinds[k].atSLO)
	}
	r.Calls = append(r.Calls[:0], e.calls.made...)
}

func (e *Engine) readService(i int, r *sim.Reading) {
	s, m, out := &e.services[i], &e.meter.Services[i], &r.Services[i]
	m.BusySeconds, m.QueueSeconds, m.CPUSeconds = s.busySeconds, s.queueSeconds, s.cpuSeconds
	memory := 0.0
	out.Pods = out.Pods[:0]
	for _, slot := range e.cp.Slots(i) {
		pod := sim.PodReading{Slot: slot, ID: e.cp.Pod(slot).ID}
		if slot < len(e.pods) && e.pods[slot].id == pod.ID {
			e.readPod(s, &pod, r)
		}
		memory += pod.MemoryBytes
		out.Pods = append(out.Pods, pod)
	}
	out.Meter(m, s.held.seconds, memory)
	s.latency.read(&out.Latency, 0)
	s.own.read(&out.Own, 0)
}

func (e *Engine) readPod(s *service, pod *sim.PodReading, r *sim.Reading) {
	u := e.usageOf(pod.Slot)
	pod.CPUSeconds, pod.BusySeconds = u.cpu, u.busy
	pod.MemoryBytes = e.PodMemory(pod.Slot)
	if n := e.cp.Pod(pod.Slot).Node; n >= 0 {
		r.Nodes[n].MemoryBytes += pod.MemoryBytes
	}
}

// countPeriods counts quota periods: those in which a replica ran, and those in which it was
// throttled. It does not run in a period if it is empty at the beginning and no visit arrives
// before the end. After the last period with work the kernel counts one more. In an overload
// every period is throttled.
func (c *cohort) countPeriods(m *sim.ServiceMeter, together, h float64) {
	period := sim.QuotaPeriod.Seconds()
	active := 1 - math.Exp(-c.in*period/together-c.crowd)
	low, frac := between(c.load)
	cut := c.curve.throttled[low] + frac*(c.curve.throttled[low+1]-c.curve.throttled[low])
	cut = min(max(cut, 0), 1)
	if c.crowd > 0 {
		cut += (1 - cut) * c.extra / c.crowd
	}
	n := h / period * active * float64(c.pods)
	m.Periods += n * (2 - active)
	m.ThrottledPeriods += n * cut
	// In a throttled period the visits on the CPU ran at one core each.
	atWork := max(c.crowd-c.queue, 1, c.limit)
	m.ThrottledSeconds += n * cut * period * (1 - c.limit/atWork)
}
