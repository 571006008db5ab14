package policy

import (
	"fmt"
	"math"
	"time"
)

// The histogram of the hybrid policy: idle times of up to four hours, in bins of a minute.
const (
	histogramBin   = time.Minute
	histogramRange = 4 * time.Hour
	histogramBins  = int(histogramRange / histogramBin)

	// mostBeyond of the idle times above the range are remembered.
	mostBeyond = 200
)

type idleHistogram struct {
	bins  [histogramBins]float64
	total float64
}

func (h *idleHistogram) add(idle time.Duration) {
	h.bins[int(idle/histogramBin)]++
	h.total++
}

// variation is the coefficient of variation of the bins: 0 when all idle times are equally frequent,
// and large when they are concentrated.
func (h *idleHistogram) variation() float64 {
	mean := h.total / float64(histogramBins)
	if mean == 0 {
		return 0
	}
	sum := 0.0
	for _, n := range h.bins {
		sum += (n - mean) * (n - mean)
	}
	return math.Sqrt(sum/float64(histogramBins)) / mean
}

// percentile of the idle times: the lower end of its bin, or the upper one.
func (h *idleHistogram) percentile(p float64, upper bool) time.Duration {
	rank, below := p/100*h.total, 0.0
	for i, n := range h.bins {
		if below += n; below >= rank && n > 0 {
			if upper {
				i++
			}
			return time.Duration(i) * histogramBin
		}
	}
	return histogramRange
}

// hybridMemory is what is known of one service.
type hybridMemory struct {
	histogram idleHistogram
	beyond    []float64 // idle times above the range, in minutes, latest last
	count     int       // of all idle times
	lastBusy  time.Time // zero = it was never seen so
	windows   windows
	windowed  int // count as of windows
}

// used notes that requests are in flight. The time since they last were is an idle time, if there was a
// tick without any.
func (m *hybridMemory) used(now time.Time) {
	if idle := now.Sub(m.lastBusy); !m.lastBusy.IsZero() && idle > kpaTick {
		if idle < histogramRange {
			m.histogram.add(idle)
		} else {
			m.beyond = append(m.beyond, idle.Minutes())
			if len(m.beyond) > mostBeyond {
				m.beyond = append(m.beyond[:0], m.beyond[1:]...)
				m.count--
			}
		}
		m.count++
	}
	m.lastBusy = now
}

// idle is whether the last pod is kept, or one started, after an idle time.
func (m *hybridMemory) idle(now time.Time, w windows) (int, string, bool) {
	if m.lastBusy.IsZero() {
		m.lastBusy = now // the time before is unknown
	}
	been := now.Sub(m.lastBusy)
	switch {
	case been < w.prewarm:
		return 0, fmt.Sprintf("idle for %v: none is needed before %v, %s", been, w.prewarm.Round(time.Second), w.why), true
	case been < w.prewarm+w.keep:
		return 1, fmt.Sprintf("idle for %v: 1 replica until %v, %s", been, (w.prewarm + w.keep).Round(time.Second), w.why), true
	}
	return 0, fmt.Sprintf("idle for %v, more than %v: scaled to zero, %s", been, (w.prewarm + w.keep).Round(time.Second), w.why), true
}
