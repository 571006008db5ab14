package policy

import (
	"fmt"
	"math"
	"time"

	"github.com/loadline/loadline"
)

// captain keeps one service's share of throttled periods near a target.
type captain struct {
	target float64
	margin float64 // standard deviations of usage above its peak

	usage      []reading // cores of each pod, of the last captainMemory
	throttleAt time.Time
	now        time.Time

	sinceCut  int     // decisions since the last cut, up to recentCut
	beforeCut float64 // cores
}

const (
	captainMemory = 5 * time.Second // 50 samples of 100 ms in the original
	captainMargin = 3.0             // to start with
	recentCut     = 2               // decisions
	upAt          = 3.0             // times the target, above which the limit rises
	cutAt         = 0.9             // usage must be below this share of the limit for a cut
	cutMost       = 0.5             // of the limit, at once
)

func newCaptain(target float64) captain {
	return captain{target: target, margin: captainMargin, sinceCut: recentCut}
}

// note adds a second's usage of every ready pod, and reports whether there was any.
func (c *captain) note(now time.Time, pods []loadline.PodObservation) bool {
	c.usage = youngerThan(c.usage, now.Add(-captainMemory))
	c.now = now
	fresh := false
	for i := range pods {
		if pods[i].Phase == loadline.PodReady && pods[i].CPU.Present() {
			c.usage = append(c.usage, reading{now, pods[i].CPU.Value})
			fresh = true
		}
	}
	return fresh
}

// decide is one second of the captain: revert a harmful cut, or else raise, cut or hold.
func (c *captain) decide(limit, throttled float64) (float64, string) {
	if throttled > 0 {
		c.throttleAt = c.now
	}
	saw := fmt.Sprintf("throttled in %.0f %% of periods, target %.0f %%", 100*throttled, 100*c.target)
	if throttled > upAt*c.target && c.sinceCut < recentCut {
		c.sinceCut = recentCut
		c.margin += throttled - c.target
		return 2*c.beforeCut - limit, saw + ": the last cut of the CPU limit is reverted"
	}
	c.sinceCut = min(c.sinceCut+1, recentCut)
	c.margin = max(0, c.margin+throttled-c.target)
	if throttled > upAt*c.target {
		more := throttled - upAt*c.target
		return limit * (1 + more), saw + fmt.Sprintf(": the CPU limit rises by %.0f %%", 100*more)
	}
	mean, deviation := c.spread()
	wanted := c.peak(limit, mean, deviation) + c.margin*deviation
	if wanted > cutAt*limit {
		return limit, saw + fmt.Sprintf(": kept, CPU use with its margin is %.3g cores", wanted)
	}
	c.beforeCut, c.sinceCut = limit, 0
	return max(cutMost*limit, wanted), saw + fmt.Sprintf(": the CPU limit is cut, use with its margin is %.3g cores", wanted)
}

const (
	// samplesPerReading is how many samples of 100 ms a reading of 1 s averages.
	samplesPerReading = 10
	// peakOf50 is the mean of the largest of 50 normal deviates.
	peakOf50 = 2.25
)

// spread is the mean of usage and the standard deviation of 100 ms samples: that of 1 s means
// is smaller by the root of 10 if samples are independent.
func (c *captain) spread() (mean, deviation float64) {
	n := float64(len(c.usage))
	for _, u := range c.usage {
		mean += u.value / n
	}
	if n < 2 {
		return mean, mean
	}
	sum := 0.0
	for _, u := range c.usage {
		sum += (u.value - mean) * (u.value - mean)
	}
	return mean, math.Sqrt(samplesPerReading * sum / (n - 1))
}

// peak is an estimate of the largest of the last 50 samples of 100 ms. A throttled period used
// all of the limit; without one, the peak is about that of 50 normal deviates.
func (c *captain) peak(limit, mean, deviation float64) float64 {
	if c.throttleAt.After(c.now.Add(-captainMemory)) {
		return limit
	}
	return mean + peakOf50*deviation
}
