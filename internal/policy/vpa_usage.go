package policy

import (
	"time"

	"github.com/loadline/loadline"
)

// vpaUsage is the recommender's data of one service: all its pods share the histograms.
type vpaUsage struct {
	cpu, memory decayingHistogram
	first, last time.Time // of the CPU samples
	samples     int       // of CPU
	pods        map[int64]*podPeak
	restarts    loadline.Sample
	quickOOM    bool // a pod was killed soon after its start, and a reaction is due
}

// podPeak is one pod's part: memory counts once per interval, by its peak.
type podPeak struct {
	lastCPU     time.Time
	intervalEnd time.Time
	usage, oom  float64 // the interval's peaks, bytes: measured, and estimated from kills
}

const (
	peakInterval = 24 * time.Hour
	// leastWeight of a CPU sample: samples are weighted by the pod's request, so that after a
	// raise the time before counts for less.
	leastWeight = 0.1 // cores
	quickOOM    = 10 * time.Minute
)

func newVPAUsage(halfLife time.Duration) vpaUsage {
	return vpaUsage{
		cpu:    newDecayingHistogram(0.01, 1000, halfLife),
		memory: newDecayingHistogram(1e7, 1e12, halfLife),
		pods:   map[int64]*podPeak{},
	}
}

// feed adds an observation and reports whether it contained anything new.
func (u *vpaUsage) feed(now time.Time, seen *loadline.ServiceObservation, bump vpaBump) bool {
	fresh := false
	alive := make(map[int64]*podPeak, len(seen.Pods))
	for i := range seen.Pods {
		pod := &seen.Pods[i]
		known := u.pods[pod.ID]
		if known == nil {
			known = &podPeak{}
		}
		alive[pod.ID] = known
		if pod.CPU.Present() && pod.CPU.At.After(known.lastCPU) {
			known.lastCPU = pod.CPU.At
			u.addCPU(pod.CPU, pod.Size.CPURequest)
			fresh = true
		}
		if pod.Memory.Present() {
			u.addPeak(known, pod.Memory.Value, pod.Memory.At, false)
		}
	}
	u.pods = alive
	u.noteRestarts(now, seen, bump)
	return fresh
}

func (u *vpaUsage) addCPU(sample loadline.Sample, request float64) {
	u.cpu.add(sample.Value, max(request, leastWeight), sample.At)
	if u.first.IsZero() {
		u.first = sample.At
	}
	if sample.At.After(u.last) {
		u.last = sample.At
	}
	u.samples++
}

// addPeak counts a pod's memory if it is the largest of the interval so far; the one counted
// before is removed.
func (u *vpaUsage) addPeak(pod *podPeak, bytes float64, at time.Time, oom bool) {
	if pod.intervalEnd.IsZero() {
		pod.intervalEnd = at
	}
	before := max(pod.usage, pod.oom)
	if at.Before(pod.intervalEnd) {
		if bytes <= before {
			return
		}
		u.memory.takeBack(before, 1, pod.intervalEnd)
	} else {
		shift := at.Sub(pod.intervalEnd).Truncate(peakInterval) + peakInterval
		pod.intervalEnd = pod.intervalEnd.Add(shift)
		pod.usage, pod.oom = 0, 0
	}
	u.memory.add(bytes, 1, pod.intervalEnd)
	if oom {
		pod.oom = bytes
	} else {
		pod.usage = bytes
	}
}

// vpaBump is how much more memory a killed pod is assumed to have needed: the larger of the
// two.
type vpaBump struct {
	ratio float64
	least float64 // bytes
}

// noteRestarts turns kills into memory samples.
func (u *vpaUsage) noteRestarts(now time.Time, seen *loadline.ServiceObservation, bump vpaBump) {
	if !seen.Restarts.Present() {
		return
	}
	killed := u.restarts.Present() && seen.Restarts.Value > u.restarts.Value
	u.restarts = seen.Restarts
	if !killed || len(seen.Pods) == 0 {
		return
	}
	pod := &seen.Pods[0]
	for i := range seen.Pods {
		if seen.Pods[i].Phase == loadline.PodStarting && !seen.Pods[i].Ready.IsZero() {
			pod = &seen.Pods[i] // it was ready before: this is the one that restarts
		}
	}
	known := u.pods[pod.ID]
	needed := max(float64(pod.Size.MemoryRequest), known.usage)
	u.addPeak(known, max(needed*bump.ratio, needed+bump.least), now, true)
	u.quickOOM = u.quickOOM || !pod.Ready.IsZero() && now.Sub(pod.Ready) < quickOOM
}
