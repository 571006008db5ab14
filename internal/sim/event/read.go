package event

import (
	"github.com/loadline/loadline/internal/sim"
)

// Read fills r with the metrics exported now.
func (e *Engine) Read(r *sim.Reading) {
	r.At = e.time()
	r.Resize(len(e.services), len(e.sources), len(e.nodes))
	for i := range r.Nodes {
		r.Nodes[i].MemoryBytes = float64(e.cp.Nodes()[i].Others.Memory)
	}
	for i := range e.services {
		e.readService(i, r)
	}
	for i := range e.nodes {
		e.syncOthers(&e.nodes[i])
		r.Nodes[i].CPUSeconds = e.nodes[i].cpuNs / 1e9
	}
	for k := range e.sources {
		m := &e.meter.Kinds[k]
		out := &r.Kinds[k]
		// Each attempt is a request to an exporter.
		out.Arrived, out.Ended, out.Failed, out.Over = m.Arrived+m.Retried, m.ExportedEnded, m.Failed+m.Retried, m.ExportedOver
		readLatency(&out.Latency, m.Exported)
	}
	r.Calls = append(r.Calls[:0], e.made...)
}

func (e *Engine) readService(i int, r *sim.Reading) {
	s, m, out := &e.services[i], &e.meter.Services[i], &r.Services[i]
	s.count(e.now, 0)
	s.countQueue(e.now, 0)
	s.held.add(e.now, 0)
	m.BusySeconds, m.QueueSeconds = s.busyNs/1e9, s.queueNs/1e9
	memory := 0.0
	out.Pods = out.Pods[:0]
	for _, slot := range e.cp.Slots(i) {
		pod := sim.PodReading{Slot: slot, ID: e.cp.Pod(slot).ID}
		if slot < len(e.replicas) && e.replicas[slot].podID == pod.ID {
			e.readPod(&pod, slot, r)
		}
		memory += pod.MemoryBytes
		out.Pods = append(out.Pods, pod)
	}
	m.CPUSeconds = s.cpuNs / 1e9 // after the pods are up to date
	out.Meter(m, s.held.ns/1e9, memory)
	readLatency(&out.Latency, m.Latency)
	readLatency(&out.Own, m.Own)
}

func (e *Engine) readPod(pod *sim.PodReading, slot int, r *sim.Reading) {
	p := &e.replicas[slot]
	pod.CPUSeconds, _ = e.PodUsage(slot, e.time())
	pod.BusySeconds = p.busyNs / 1e9
	pod.MemoryBytes = e.PodMemory(slot)
	if p.node >= 0 {
		n := &r.Nodes[p.node]
		n.MemoryBytes += pod.MemoryBytes
	}
}

func readLatency(out *sim.LatencyReading, h *sim.Histogram) {
	if out.Histogram == nil {
		out.Histogram = sim.NewHistogram(sim.ExporterBits)
	}
	out.Histogram.CopyFrom(h)
	out.Count = h.Count()
	out.SumSeconds = h.Sum() / 1e9
}

// Finish closes the accounts at the end of a run: the cost of pods up to now and the last
// window.
func (e *Engine) Finish() {
	e.cp.Settle(e.time())
	e.meter.Finish()
	var r sim.Reading
	e.Read(&r)
}

var _ sim.Engine = (*Engine)(nil)
