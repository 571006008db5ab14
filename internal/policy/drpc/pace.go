package drpc

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/loadline/loadline"
)

// Pace is how often a student may decide. The paper sets each student's period by hand and
// names that as a weakness; here it depends on how fast the load of the service changes.
type Pace struct {
	Least     time.Duration `json:"least_ns"`  // the shortest period; all are multiples of it
	Most      time.Duration `json:"most_ns"`   // the longest
	Tolerance float64       `json:"tolerance"` // share by which the load may change between two decisions
}

// DefaultPace is from ten seconds to a minute.
func DefaultPace() Pace {
	return Pace{Least: 10 * time.Second, Most: time.Minute, Tolerance: 0.05}
}

// Validate reports every fault at once.
func (p Pace) Validate() error {
	var faults []error
	if p.Least < time.Second {
		faults = append(faults, fmt.Errorf("drpc: the shortest period is %v, must be at least 1s", p.Least))
	}
	if p.Most < p.Least {
		faults = append(faults, fmt.Errorf("drpc: the longest period is %v, must be at least the shortest, %v", p.Most, p.Least))
	}
	if !(p.Tolerance > 0 && p.Tolerance <= 1) {
		faults = append(faults, fmt.Errorf("drpc: the tolerance is %v, must be above 0 and at most 1", p.Tolerance))
	}
	return errors.Join(faults...)
}

// pacer chooses one student's periods.
type pacer struct {
	rate  loadline.Sample // at the last decision
	speed float64         // relative change of the load per second, smoothed
	due   time.Time
	every time.Duration // the last period chosen
}

// speedKept is the weight of the previous speed in the smoothing.
const speedKept = 0.6

// isDue reports whether it is time to decide; half a beat early counts, since beats need not
// fall on the instant.
func (p *pacer) isDue(now time.Time, pace Pace) bool {
	return p.due.IsZero() || !now.Add(pace.Least/2).Before(p.due)
}

// decided chooses the next decision time. Rates are counts over a window, so that a part of
// every change is random: the mean difference of two counts is deducted. A forecast change
// counts like an actual one. A student whose service is late decides again after the shortest
// period; one that has just changed something, when the window covers the effect.
func (p *pacer) decided(now time.Time, pace Pace, rate loadline.Sample, ahead float64, within, window time.Duration, changed, late bool) {
	if rate.Present() {
		if p.rate.Present() && rate.At.After(p.rate.At) {
			seconds := rate.At.Sub(p.rate.At).Seconds()
			counts := min(rate.Value, p.rate.Value) * window.Seconds()
			rng := 0.0
			if counts > 0 {
				rng = math.Sqrt(2 / counts)
			}
			change := max(0, change(p.rate.Value, rate.Value)-rng)
			p.speed = speedKept*p.speed + (1-speedKept)*change/seconds
		}
		p.rate = rate
	}
	speed := p.speed
	if rate.Present() && within > 0 {
		speed = max(speed, change(rate.Value, ahead)/within.Seconds())
	}
	p.every = pace.Most
	if speed > 0 {
		p.every = time.Duration(min(pace.Most.Seconds(), pace.Tolerance/speed) * float64(time.Second))
	}
	if changed {
		p.every = min(p.every, max(window, pace.Least))
	}
	if late {
		p.every = pace.Least
	}
	// Whole beats: decisions happen only then.
	beats := max(1, (p.every+pace.Least/2)/pace.Least)
	p.every = min(beats*pace.Least, max(pace.Most/pace.Least, 1)*pace.Least)
	p.due = now.Add(p.every)
}

// change from one rate to another, as the logarithm of their ratio.
func change(from, to float64) float64 {
	const little = 0.1 // visits per second; too few to scale for
	return math.Abs(math.Log((max(to, 0) + little) / (max(from, 0) + little)))
}
