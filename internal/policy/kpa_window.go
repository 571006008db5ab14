package policy

import "time"

// kpaMemory is the state of one autoscaler. It is lost at a restart, for which start
// compensates as the original does.
type kpaMemory struct {
	started   bool
	readings  []reading // oldest first, of the stable window
	wants     []stamped // of the down-delay
	panicAt   time.Time // of the last breach; zero = no panic
	panicPods int       // the most that was wanted in this panic
	idleSince time.Time
	atZero    bool // its desired number of pods was 0
}

// start begins in panic mode if there are pods: without a history an autoscaler would scale
// down on its first reading.
func (m *kpaMemory) start(now time.Time, ready int) {
	if m.started {
		return
	}
	m.started = true
	if ready > 1 {
		m.panicAt, m.panicPods = now, ready
	}
}

// record adds a reading, and drops those older than the window.
func (m *kpaMemory) record(now time.Time, value float64, window time.Duration) {
	m.readings = append(youngerThan(m.readings, now.Add(-window)), reading{now, value})
}

// average of the readings within a window. There is at least the one just recorded.
func (m *kpaMemory) average(now time.Time, window time.Duration) float64 {
	sum, n := 0.0, 0
	for i := len(m.readings) - 1; i >= 0 && m.readings[i].at.After(now.Add(-window)); i-- {
		sum += m.readings[i].value
		n++
	}
	return sum / float64(n)
}

// judge begins, prolongs or ends panic mode: it ends once the surge is in the stable window.
func (m *kpaMemory) judge(now time.Time, breached bool, window time.Duration) {
	switch {
	case breached:
		m.panicAt = now
	case m.panicking() && m.panicAt.Add(window).Before(now):
		m.panicAt, m.panicPods = time.Time{}, 0
	}
}

func (m *kpaMemory) panicking() bool { return !m.panicAt.IsZero() }

// neverLess is the most that was wanted in this panic.
func (m *kpaMemory) neverLess(pods int) int {
	m.panicPods = max(m.panicPods, pods)
	return m.panicPods
}

// delay is the most that was wanted within a time.
func (m *kpaMemory) delay(now time.Time, wanted int, within time.Duration) int {
	m.wants = append(forget(m.wants, now.Add(-within)), stamped{now, wanted})
	most := wanted
	for _, w := range m.wants {
		most = max(most, w.n)
	}
	return most
}
