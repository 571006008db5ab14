package nodestudy

import (
	"fmt"
	"math"
	"time"

	"github.com/loadline/loadline/internal/sim"
)

// watch looks for what a run measures besides requests and CPU.
func (p *play) watch(now time.Duration) {
	switch p.run.Extra {
	case NewPods:
		p.watchShares(now)
	case Resizes:
		p.watchResizes(now)
	}
}

// ShareFigure is the share that new pods get in a window of ShareWindows.
func ShareFigure(window int) string {
	from := time.Duration(0)
	if window > 0 {
		from = ShareWindows[window-1]
	}
	return fmt.Sprintf("%s_%.0f_%.0f", NewShare, from.Seconds(), ShareWindows[window].Seconds())
}

func (p *play) watchShares(now time.Duration) {
	if p.next == 0 || p.window == len(ShareWindows) {
		return
	}
	since := now - p.run.Changes[0].At
	if p.window == 0 && since == tick {
		p.shares = p.work() // just after the change
	}
	if since < ShareWindows[p.window] {
		return
	}
	last := p.shares
	p.shares = p.work()
	p.out[Figure{p.run.App.Services[0].Name, ShareFigure(p.window)}] = (p.shares[0] - last[0]) / (p.shares[1] - last[1])
	p.window++
}

// work is the CPU that new pods and all pods have used.
func (p *play) work() (sum [2]float64) {
	p.engine.Read(&p.reading)
	for _, pod := range p.reading.Services[0].Pods {
		sum[1] += pod.CPUSeconds
		if pod.ID > p.oldPods {
			sum[0] += pod.CPUSeconds
		}
	}
	return sum
}

// watchResizes notes when the first service's pod has the limit that was asked for last.
func (p *play) watchResizes(now time.Duration) {
	since, waits := p.waiting[0]
	cp := p.engine.ControlPlane()
	if slots := cp.Slots(0); waits && cp.Pod(slots[0]).Size.CPULimit == cp.Allocation()[0].Size.CPULimit {
		p.delays = append(p.delays, now-since)
		delete(p.waiting, 0)
	}
}

// starts of the pods that the first change added. What has not started with the run is left out.
func (p *play) starts(service string) {
	cp := p.engine.ControlPlane()
	var took []time.Duration
	for _, slot := range cp.Slots(0) {
		if pod := cp.Pod(slot); pod.ID > p.oldPods && pod.Ready != sim.Never {
			took = append(took, pod.Ready-p.run.Changes[0].At)
		}
	}
	p.out[Figure{service, ReadyMean}], p.out[Figure{service, ReadyMax}] = meanAndMax(took)
}

// meanAndMax in seconds; NaN without any.
func meanAndMax(of []time.Duration) (mean, most float64) {
	mean = math.NaN()
	if len(of) > 0 {
		sum := 0.0
		for _, d := range of {
			sum += d.Seconds()
			most = max(most, d.Seconds())
		}
		return sum / float64(len(of)), most
	}
	return mean, math.NaN()
}
