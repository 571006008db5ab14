package guard

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/loadline/loadline"
)

// Observed limits a reduction to what the observed load needs: a forecast alone does not
// justify removing capacity that is in use. It compares with the highest load in the
// last Window, not with the present load.
type Observed struct {
	Window    time.Duration
	MaxAge    time.Duration
	OfLimit   float64       // share of the CPU limit that may be in use afterwards
	OfRequest float64       // share of the CPU request, where there is no limit
	OfWorkers float64       // share of the workers that may be busy, where their number is known
	OfMemory  float64       // share of a replica's memory limit or request
	Settle    time.Duration // after becoming ready, for which a pod's CPU is start-up and not load

	clock clock
	peaks []loadPeaks // by service
}

type loadPeaks struct {
	rate peak // visits per second
	cpu  peak // cores of the service
	busy peak // visits in the service
	pod  peak // bytes of its largest pod

	// Since when every pass has measured enough of the service: a peak in a pass
	// that did not is not among the peaks.
	rateSince, cpuSince, busySince, podSince instant
	coverage                                 Coverage // at the last pass
}

// NewObserved returns the guard for a number of services.
func NewObserved(g Observed, services int) *Observed {
	g.peaks = make([]loadPeaks, services)
	return &g
}

// Name returns the name of the guard in records.
func (*Observed) Name() string { return "observed" }

// Watch records the load.
func (g *Observed) Watch(now time.Time, s loadline.Situation) {
	at := g.clock.advance(now)
	interrupted := g.clock.interrupted
	for i := range g.peaks {
		p := &g.peaks[i]
		o := observed(s, i)
		p.coverage = CoverageOf(o, now, g.MaxAge, g.Settle)
		c := &p.coverage
		var cpu, rate, busy, pod bool
		if o != nil {
			cpu, rate, busy, pod = g.see(now, at, o, p, float64(s.App.Services[i].Workers))
		}
		p.cpuSince.keep(at, !interrupted, cpu && c.CPU.Enough())
		p.rateSince.keep(at, !interrupted, rate && c.Requests.Complete() && c.CPU.Enough())
		p.busySince.keep(at, !interrupted, busy && c.Requests.Enough())
		p.podSince.keep(at, !interrupted, pod && c.Memory.Complete())
	}
}

// see adds what is measured to the peaks. Pods that are missing count as fully used:
// with all of their CPU limit, or without one as busy as the busiest; with all workers.
func (g *Observed) see(now time.Time, at time.Duration, o *loadline.ServiceObservation, p *loadPeaks,
	workers float64) (cpu, rate, busy, pod bool) {
	cores, cpu := coresUsed(o, now, g.MaxAge)
	if cpu {
		p.cpu.add(at, g.Window, cores+g.unseenCores(now, o, &p.coverage))
	}
	if rate = usable(o.Rate, now, g.MaxAge); rate {
		p.rate.add(at, g.Window, o.Rate.Value)
	}
	if busy = usable(o.Concurrency, now, g.MaxAge); busy {
		p.busy.add(at, g.Window, o.Concurrency.Value+float64(p.coverage.Requests.Missing())*workers)
	}
	for j := range o.Pods {
		if m := o.Pods[j].Memory; usable(m, now, g.MaxAge) {
			pod = true
			p.pod.add(at, g.Window, m.Value)
		}
	}
	return cpu, rate, busy, pod
}

// unseenCores is by how much pods that are missing may use more CPU than the mean, as
// which Complete has counted them.
func (g *Observed) unseenCores(now time.Time, o *loadline.ServiceObservation, c *Coverage) float64 {
	if c.CPU.Missing() == 0 {
		return 0
	}
	busiest, used := 0.0, 0.0
	for i := range o.Pods {
		if p := &o.Pods[i]; p.Phase == loadline.PodReady && usable(p.CPU, now, g.MaxAge) {
			busiest = max(busiest, p.CPU.Value)
			used += p.CPU.Value
		}
	}
	mean, more := used/float64(c.CPU.Measured), 0.0
	for i := range o.Pods {
		p := &o.Pods[i]
		if p.Phase == loadline.PodReady && !usable(p.CPU, now, g.MaxAge) && now.Sub(p.Ready) >= g.Settle+scrapedWithin {
			more += max(busiest, p.Size.CPULimit) - mean
		}
	}
	return more
}

// coresUsed by a service, by its own count or its pods'.
func coresUsed(o *loadline.ServiceObservation, now time.Time, maxAge time.Duration) (cores float64, known bool) {
	if usable(o.CPU, now, maxAge) {
		return o.CPU.Value, true
	}
	for i := range o.Pods {
		if usable(o.Pods[i].CPU, now, maxAge) {
			cores += o.Pods[i].CPU.Value
			known = true
		}
	}
	return cores, known
}

// Check first drops reductions of sizes that would be too small, then raises the replicas
// to what the load needs, at most to the present number.
func (g *Observed) Check(_ time.Time, s loadline.Situation, service int, want loadline.Setting) (loadline.Setting, string) {
	is := &s.InFlight[service]
	if !reduces(&want, is) {
		return want, ""
	}
	var why reasons
	g.holdMemory(is, service, &want, &why)
	g.holdCPU(s, service, &want, &why)
	return want, strings.Join(why, "; ")
}

// holdMemory keeps the memory of a replica above the usage of the largest pod, which would
// be killed otherwise.
func (g *Observed) holdMemory(is *loadline.Allocation, service int, want *loadline.Setting, why *reasons) {
	for _, a := range []axis{memoryRequest, memoryLimit} {
		if !a.reduces(want, is) {
			continue
		}
		used, known := g.peaks[service].pod.get(g.clock.at, g.Window)
		v, _ := a.wanted(want)
		switch {
		case !known:
			*why = append(*why, fmt.Sprintf("%v stays: what its pods use is not measured", a))
			a.unset(want)
		case !g.filled(g.peaks[service].podSince):
			*why = append(*why, fmt.Sprintf("%v stays: %s", a, g.notFilled(g.peaks[service].podSince, "memory", g.peaks[service].coverage.Memory)))
			a.unset(want)
		case v*g.OfMemory < used:
			*why = append(*why, fmt.Sprintf("%v stays: a pod has used %.0f MiB, which is over %.0f%% of %.0f MiB", a, used/(1<<20),
				100*g.OfMemory, v/(1<<20)))
			a.unset(want)
		}
	}
}

// holdCPU keeps the total CPU and workers of all replicas above the observed usage.
func (g *Observed) holdCPU(s loadline.Situation, service int, want *loadline.Setting, why *reasons) {
	is := &s.InFlight[service]
	if !replicas.reduces(want, is) && !cpuLimit.reduces(want, is) && !cpuRequest.reduces(want, is) {
		return
	}
	cores, knownCPU := g.peaks[service].cpu.get(g.clock.at, g.Window)
	busy, knownBusy := g.peaks[service].busy.get(g.clock.at, g.Window)
	workers := float64(s.App.Services[service].Workers) * g.OfWorkers
	byWorkers := workers > 0 && knownBusy
	next := is.With(*want)
	p := &g.peaks[service]
	if rate, known := p.rate.get(g.clock.at, g.Window); next.Replicas == 0 && known && rate == 0 && g.filled(p.rateSince) {
		return // no requests: its CPU usage is not load
	}
	room := g.roomPerReplica(next.Size)
	byCPU := room > 0 && knownCPU
	if !byCPU && !byWorkers {
		*want = withoutReductions(*want, is)
		*why = append(*why, "not reduced: there is no measured CPU with a request or limit to compare it with, nor busy workers of a "+
			"known number")
		return
	}
	gap := ""
	switch {
	case byCPU && !g.filled(p.cpuSince):
		gap = g.notFilled(p.cpuSince, "CPU", p.coverage.CPU)
	case byWorkers && !g.filled(p.busySince):
		gap = g.notFilled(p.busySince, "requests", p.coverage.Requests)
	}
	if gap != "" {
		*want = withoutReductions(*want, is)
		*why = append(*why, "not reduced: "+gap)
		return
	}
	if byCPU && cores > float64(next.Replicas)*room && next.Size != is.Size {
		for _, a := range []axis{cpuRequest, cpuLimit} {
			if a.reduces(want, is) {
				a.unset(want)
				*why = append(*why, fmt.Sprintf("%v stays: %.3g cores have been in use", a, cores))
			}
		}
		next = is.With(*want)
		room = g.roomPerReplica(next.Size)
	}
	need := 0.0
	if byCPU {
		need = math.Ceil(cores / room)
	}
	if byWorkers {
		need = max(need, math.Ceil(busy/workers))
	}
	if need = min(need, float64(is.Replicas)); float64(next.Replicas) < need {
		*why = append(*why, fmt.Sprintf("%d replicas are too few for the load of the last %v (%.3g cores, %.3g concurrent visits): %.0f",
			next.Replicas, g.Window, cores, busy, need))
		replicas.set(want, need)
	}
}

// filled reports whether the window has been measured without a gap.
func (g *Observed) filled(since instant) bool { return since.reaches(g.clock.at, g.Window) }

// notFilled is why it has not been.
func (g *Observed) notFilled(since instant, what string, c Count) string {
	if !since.set {
		return fmt.Sprintf("its %s is not measured completely: %v ready pods", what, c)
	}
	return fmt.Sprintf("its %s must be measured for %v without a gap, and has been for %v", what, g.Window, g.clock.at-since.at)
}

// roomPerReplica is the CPU that a replica may be observed to use.
func (g *Observed) roomPerReplica(size loadline.Size) float64 {
	if size.CPULimit > 0 {
		return size.CPULimit * g.OfLimit
	}
	return size.CPURequest * g.OfRequest
}

// Decided implements loop.Watcher.
func (*Observed) Decided(time.Time, loadline.Situation, loadline.Plan) {}
