package profile

import (
	"fmt"
	"math"
	"slices"
)

// MonitorConfig is how a monitor judges. The zero value is the default, whose false
// alarms were measured (docs/slosplit.md).
type MonitorConfig struct {
	// Threshold of the test; 0 = DefaultThreshold. A higher one gives fewer false
	// alarms and notices later.
	Threshold float64
	// Tolerance is the stretch, as a share, that is no change: profiles are straight
	// between points, and routing, neighbours and bursts bend them a little. 0 = 0.05.
	Tolerance float64
	// Memory is how many windows back a change is looked for; 0 = 30. What changes
	// more slowly than that is taken for the way the service is.
	Memory int
}

// DefaultThreshold takes three windows at the least. It was chosen on one set of seeds
// and tried on another.
const DefaultThreshold = 9

// WithDefaults fills in what is zero.
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

// Validate says what is wrong.
func (c MonitorConfig) Validate() error {
	if !(c.Threshold >= 0) || !(c.Tolerance >= 0 && c.Tolerance < 1) || c.Memory < 0 {
		return fmt.Errorf("monitor: threshold %v, tolerance %v, memory %d: none may be below 0, and the tolerance must be below 1", c.Threshold, c.Tolerance, c.Memory)
	}
	return nil
}

// Monitor watches whether a service still has its profile. Each window is compared
// with the curve at the window's own load, so that load may change as it likes, and
// weighs as much as its visits tell. The test is a generalised likelihood ratio: of
// all instants at which the stretch may have changed, it takes the one that explains
// the windows best, and alarms if that explains them far better than no change.
//
// It is for one goroutine, has no clock and does no I/O.
type Monitor struct {
	config  MonitorConfig
	profile *Profile
	curve   *Curve

	recent []sight // the last windows, oldest first; a change is looked for in them
	usual  belief  // of the windows before them
	spread spread

	old    *Profile // that of before the last change, while that is being refined
	oldOne *Curve
	factor float64 // of the last change
	since  []sight // the windows that it explains

	tally  Tally
	settle int // windows in which a queue may still drain
}

// sight is a window in terms of the curve.
type sight struct {
	window   Window
	stretch  float64 // as its logarithm
	variance float64
	doubt    float64 // variance of the curve itself, which all windows at the load share
}

// belief is what the stretch is taken to be, with its variance.
type belief struct{ mean, variance float64 }

// Tally is what a monitor has been through.
type Tally struct {
	Windows int `json:"windows"` // that were compared
	Skipped int `json:"skipped"` // that could not be: nothing in them, or a load beyond the curve
	Changes int `json:"changes"` // that were noticed, refinements apart
}

const (
	// unsure is how far a new profile may be off, as a deviation of the stretch,
	// beyond the tolerance.
	unsure = 0.04
	// surest is how well a stretch can ever be known: windows share their faults.
	surest = 0.01
	// clip keeps a strange window from being an alarm: no window counts as further
	// away than so many deviations. With the default threshold not even two that a
	// burst has in common are one.
	clip = 3
	// drainMost windows a queue may take to drain, or until the latency is below
	// drainedAt times that of the curve.
	drainMost = 5
	drainedAt = 1.2
	// refineLeast is the change of a latency that is worth telling.
	refineLeast = 0.05
)

// refineAfter so many windows a change is fitted again.
var refineAfter = []int{20, 60, 180}

// NewMonitor begins to watch. The profile must have a curve.
func NewMonitor(p *Profile, c MonitorConfig) (*Monitor, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	m := &Monitor{config: c.WithDefaults(), spread: newSpread()}
	return m, m.Adopt(p)
}

// Adopt goes on with another profile, that somebody measured or knew of. What was
// learned of the spread of windows is kept.
func (m *Monitor) Adopt(p *Profile) error {
	curve, err := p.Curve()
	if err != nil {
		return err
	}
	m.take(p, curve, belief{0, unsure * unsure})
	m.forget()
	return nil
}

// forget the last change: there is nothing more to learn of it.
func (m *Monitor) forget() { m.old, m.oldOne, m.since = nil, nil, nil }

func (m *Monitor) take(p *Profile, curve *Curve, b belief) {
	m.profile, m.curve, m.usual = p, curve, b
	m.recent = m.recent[:0]
	m.spread.last = nil
}

// Profile that holds now, by all that is known.
func (m *Monitor) Profile() *Profile { return m.profile }

// Tally of what it has been through.
func (m *Monitor) Tally() Tally { return m.tally }

// Observe takes the next window, and says if the profile changed. A window in which
// something was not measured is not to be given; one without visits, or with a load
// beyond the end of the curve, is skipped, and so are those after that in which the
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

// drains says that the load is or was beyond the end of the curve, and that the queue
// of then is not gone: there are a few windows for it, or until one looks as it should.
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

// with takes a window into what is usual.
func (b belief) with(s sight, spread float64) belief {
	variance := s.variance * spread
	far := clip * math.Sqrt(variance+b.variance)
	x := min(max(s.stretch, b.mean-far), b.mean+far)
	gain := b.variance / (b.variance + variance)
	return belief{b.mean + gain*(x-b.mean), max(b.variance*(1-gain), surest*surest)}
}

// changed is how many of the last windows no longer fit; 0 if all do.
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

// jumped begins with the curve of the last n windows.
func (m *Monitor) jumped(n int) Change {
	m.tally.Changes++
	m.since = slices.Clone(m.recent[len(m.recent)-n:])
	m.old, m.oldOne = m.profile, m.curve
	return m.refit(Jumped)
}

// refined fits the last change again, and tells if that made a difference at any load
// that was seen.
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

// fitStretch is the stretch of a curve that explains windows best, with its deviation:
// their mean by what they tell, those far from the median drawn nearer.
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

// resized goes on with the old curve as the CPU would stretch it, until somebody
// adopts a better one or the windows tell otherwise.
func (m *Monitor) resized(w Window) Change {
	m.tally.Changes++
	k := 1.0
	if was, is := m.profile.Size.CPULimit, w.Size.CPULimit; was > 0 && is > 0 {
		k = was / is
	}
	// By how much waiting without CPU, workers and single threads make this wrong is
	// not known: half of it.
	deviation := math.Abs(math.Log(k)) / 2
	p := m.profile.Stretch(k, deviation)
	p.Size = w.Size
	m.take(p, m.curve.stretch(k), belief{0, deviation*deviation + unsure*unsure})
	m.forget()
	m.settle = 1 // the next window may hold some of both
	return Change{Service: p.Service, Kind: Resized, At: w.At, Since: w.At, Factor: k, Error: k * deviation, Profile: p}
}
