package profile

import (
	"fmt"
	"math"
	"slices"
)

// MonitorConfig configures a monitor. The zero value is the default, whose false
// alarms were measured (docs/slosplit.md).
type MonitorConfig struct {
	// Threshold of the test; 0 = DefaultThreshold. A higher one gives fewer false
	// alarms and detects later.
	Threshold float64
	// Tolerance is the stretch, as a share, that does not count as a change: profiles
	// are piecewise linear, and routing, neighbours and bursts distort them slightly.
	// 0 = 0.05.
	Tolerance float64
	// Memory is how many windows back a change is searched; 0 = 30. Slower changes
	// are treated as normal.
	Memory int
}

// DefaultThreshold needs at least three windows. It was chosen on one set of
// seeds and tested on another.
const DefaultThreshold = 9

// WithDefaults sets defaults for zero fields.
func (c MonitorConfig) WithDefaults() MonitorConfig {
	if c.Threshold == 0 {
		c.Threshold = DefaultThreshold
	}
	if c.Tolerance == 0 {
		c.Tolerance = 0.05
	}
	if c.Memory == 0 {
		c.Memory = 30
	}
	return c
}

// Validate returns all errors.
func (c MonitorConfig) Validate() error {
	if !(c.Threshold >= 0) || !(c.Tolerance >= 0 && c.Tolerance < 1) || c.Memory < 0 {
		return fmt.Errorf("monitor: threshold %v, tolerance %v, memory %d: none may be below 0, and the tolerance must be below 1",
			c.Threshold, c.Tolerance, c.Memory)
	}
	return nil
}

// Monitor checks whether a service still matches its profile. Each window is
// compared with the curve at the window's own load, so that load may change
// freely, and is weighted by its visits. The test is a generalised likelihood
// ratio: of all times at which the stretch may have changed, it takes the one
// that explains the windows best, and alarms if that explains them far better
// than no change.
//
// It is not safe for concurrent use, has no clock and does no I/O.
type Monitor struct {
	config  MonitorConfig
	profile *Profile
	curve   *Curve

	recent []sight // the last windows, oldest first; a change is searched in them
	usual  belief  // of the windows before them
	spread spread

	old    *Profile // that of before the last change, while that is being refined
	oldOne *Curve
	factor float64 // of the last change
	since  []sight // the windows that it explains

	tally  Tally
	settle int // windows in which a queue may still drain
}

// sight is a window relative to the curve.
type sight struct {
	window   Window
	stretch  float64 // as its logarithm
	variance float64
	doubt    float64 // variance of the curve itself, which all windows at the load share
}

// belief is the estimated stretch, with its variance.
type belief struct{ mean, variance float64 }

// Tally counts what a monitor has processed.
type Tally struct {
	Windows int `json:"windows"` // that were compared
	Skipped int `json:"skipped"` // that could not be: nothing in them, or a load beyond the curve
	Changes int `json:"changes"` // that were detected, without refinements
}

const (
	// unsure is the possible error of a new profile, as a deviation of the stretch,
	// beyond the tolerance.
	unsure = 0.04
	// surest is the smallest possible deviation of a stretch: windows have common
	// errors.
	surest = 0.01
	// clip keeps an outlier from causing an alarm: no window counts for more than so
	// many deviations. With the default threshold two windows with a common burst are
	// not enough.
	clip = 3
	// drainMost is how many windows a queue may take to drain, or until the latency
	// is below drainedAt times that of the curve.
	drainMost = 5
	drainedAt = 1.2
	// refineLeast is the change of a latency that is worth reporting.
	refineLeast = 0.05
)

// refineAfter lists after how many windows a change is fitted again.
var refineAfter = []int{20, 60, 180}

// NewMonitor returns a monitor of a profile, which must have a curve.
func NewMonitor(p *Profile, c MonitorConfig) (*Monitor, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	m := &Monitor{config: c.WithDefaults(), spread: newSpread()}
	return m, m.Adopt(p)
}

// Adopt continues with another profile, measured or known. The estimated spread
// of windows is kept.
func (m *Monitor) Adopt(p *Profile) error {
	curve, err := p.Curve()
	if err != nil {
		return err
	}
	m.take(p, curve, belief{0, unsure * unsure})
	m.forget()
	return nil
}

// forget drops the last change: it cannot be refined further.
func (m *Monitor) forget() { m.old, m.oldOne, m.since = nil, nil, nil }

func (m *Monitor) take(p *Profile, curve *Curve, b belief) {
	m.profile, m.curve, m.usual = p, curve, b
	m.recent = m.recent[:0]
	m.spread.last = nil
}

// Profile returns the current profile.
func (m *Monitor) Profile() *Profile { return m.profile }

// Tally returns the counts.
func (m *Monitor) Tally() Tally { return m.tally }

// Observe takes the next window, and reports whether the profile changed. Windows
// with missing values must not be passed; one without visits, or with a load
// beyond the end of the curve, is skipped, and so are those after it in which the
// queue drains.
func (m *Monitor) Observe(w Window) (Change, bool) {
	if w.Size != (Size{}) && w.Size != m.profile.Size {
		return m.resized(w), true
	}
	if !w.usable() || m.drains(w) {
		m.tally.Skipped++
		return Change{}, false
	}
	m.tally.Windows++
	s := m.see(w)
	m.spread.add(s)
	m.recent = append(m.recent, s)
	if len(m.recent) > m.config.Memory {
		m.usual = m.usual.with(m.recent[0], m.spread.value())
		m.recent = append(m.recent[:0], m.recent[1:]...)
	}
	if m.old != nil {
		m.since = append(m.since, s)
	}
	if n := m.changed(); n > 0 {
		return m.jumped(n), true
	}
	if m.old != nil && slices.Contains(refineAfter, len(m.since)) {
		return m.refined()
	}
	return Change{}, false
}

// drains reports whether the load is or was beyond the end of the curve and its
// queue may not have drained: for a few windows, or until one is normal.
func (m *Monitor) drains(w Window) bool {
	if w.Load > m.curve.MaxLoad() {
		m.settle = drainMost
		return true
	}
	if m.settle > 0 && w.Latency > drainedAt*m.curve.At(w.Load) {
		m.settle--
		return true
	}
	m.settle = 0
	return false
}

func (m *Monitor) see(w Window) sight {
	steep := m.curve.slope(w.Load)
	off := m.profile.doubt(w.Load) / (1 + steep)
	return sight{w, m.curve.stretchAt(w.Load, w.Latency), noise(m.profile.Percentile, w.Visits, steep), off * off}
}

// with adds a window to the normal state.
func (b belief) with(s sight, spread float64) belief {
	variance := s.variance * spread
	far := clip * math.Sqrt(variance+b.variance)
	x := min(max(s.stretch, b.mean-far), b.mean+far)
	gain := b.variance / (b.variance + variance)
	return belief{b.mean + gain*(x-b.mean), max(b.variance*(1-gain), surest*surest)}
}

// changed is how many of the last windows no longer match; 0 if all do.
func (m *Monitor) changed() int {
	best, at := m.config.Threshold, 0
	tolerance := math.Log1p(m.config.Tolerance)
	spread := m.spread.value()
	weights, sum, doubt := 0.0, 0.0, 0.0
	for n := 1; n <= len(m.recent); n++ {
		s := &m.recent[len(m.recent)-n]
		variance := s.variance * spread
		far := clip*math.Sqrt(variance) + tolerance
		x := min(max(s.stretch-m.usual.mean, -far), far)
		weights += 1 / variance
		sum += x / variance
		doubt += s.doubt / variance
		off := max(0, math.Abs(sum/weights)-tolerance)
		if ratio := off * off / 2 / (1/weights + m.usual.variance + doubt/weights); ratio > best {
			best, at = ratio, n
		}
	}
	return at
}

// jumped continues with the curve of the last n windows.
func (m *Monitor) jumped(n int) Change {
	m.tally.Changes++
	m.since = slices.Clone(m.recent[len(m.recent)-n:])
	m.old, m.oldOne = m.profile, m.curve
	return m.refit(Jumped)
}

// refined fits the last change again, and reports whether that made a difference
// at any observed load.
func (m *Monitor) refined() (Change, bool) {
	before, windows := m.curve, m.since
	c := m.refit(Refined)
	if len(windows) >= refineAfter[len(refineAfter)-1] {
		m.forget()
	}
	for i := range windows {
		load := windows[i].window.Load
		if off := m.curve.At(load)/before.At(load) - 1; math.Abs(off) > refineLeast {
			return c, true
		}
	}
	return c, false
}

// refit the curve to the windows since the change.
func (m *Monitor) refit(kind ChangeKind) Change {
	log, deviation := fitStretch(m.oldOne, m.old.Percentile, m.since, m.spread.value())
	m.factor = math.Exp(log)
	p, curve := m.old.Stretch(m.factor, deviation), m.oldOne.stretch(m.factor)
	p.bend(curve, m.since, m.spread.value(), misfit(m.factor))
	if bent, err := p.Curve(); err == nil {
		curve = bent
	}
	windows := m.since
	m.take(p, curve, belief{0, max(deviation*deviation, surest*surest)})
	return Change{
		Service: p.Service, Kind: kind, At: windows[len(windows)-1].window.At, Since: windows[0].window.At, Windows: len(windows),
		Factor: m.factor, Error: m.factor * deviation, Profile: p,
	}
}

// fitStretch is the stretch of a curve that explains windows best, with its
// deviation: their weighted mean, with outliers clipped towards the median.
func fitStretch(curve *Curve, percentile float64, windows []sight, spread float64) (log, deviation float64) {
	each := make([]float64, len(windows))
	for i := range windows {
		each[i] = curve.stretchAt(windows[i].window.Load, windows[i].window.Latency)
	}
	middle := median(each)
	weights, sum := 0.0, 0.0
	for i := range windows {
		// The slope is that at the load which the curve had for this latency.
		w := &windows[i].window
		load := min(w.Load*math.Exp(middle), curve.MaxLoad())
		variance := noise(percentile, w.Visits, curve.slope(load)) * spread
		far := 3 * math.Sqrt(variance)
		weights += 1 / variance
		sum += min(max(each[i], middle-far), middle+far) / variance
	}
	return sum / weights, math.Sqrt(1 / weights)
}

// resized continues with the old curve scaled by the CPU, until a better one is
// adopted or the windows show otherwise.
func (m *Monitor) resized(w Window) Change {
	m.tally.Changes++
	k := 1.0
	if was, is := m.profile.Size.CPULimit, w.Size.CPULimit; was > 0 && is > 0 {
		k = was / is
	}
	// The error from waiting without CPU, workers and single threads is unknown: half
	// of the scaling is assumed.
	deviation := math.Abs(math.Log(k)) / 2
	p := m.profile.Stretch(k, deviation)
	p.Size = w.Size
	m.take(p, m.curve.stretch(k), belief{0, deviation*deviation + unsure*unsure})
	m.forget()
	m.settle = 1 // the next window may hold some of both
	return Change{Service: p.Service, Kind: Resized, At: w.At, Since: w.At, Factor: k, Error: k * deviation, Profile: p}
}
