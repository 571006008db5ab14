package portfolio

import (
	"math"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/outlook"
)

// DefaultWindow is how long an application is compared with its twin before it counts as the same
// again; a third of it suffices to find that it differs.
const DefaultWindow = 30 * time.Minute

// slots of a window: samples are taken at most so many times in it.
const slots = 30

// Measure is what is compared.
type Measure string

// Measures, in the order in which they name a drift.
const (
	CPU     Measure = "cpu"     // of a visit
	Visits  Measure = "visits"  // of a request: the mix and the call graph
	Latency Measure = "latency" // of a visit without its calls, at the utilisation that there is
	Load    Measure = "load"    // over the highest that was judged; of the application
)

var measures = []Measure{CPU, Visits, Latency}

// Config of a Monitor.
type Config struct {
	App    *loadline.App // the twin
	Judged *Judged       // nil = it is not known on what the deployment was judged
	Window time.Duration // 0 = DefaultWindow
	Period time.Duration // between observations
}

// Monitor compares what is observed with the twin, service by service. It has no clock and does no
// I/O, and is for one goroutine.
type Monitor struct {
	app      *loadline.App
	judged   *Judged
	topology *formulation.Topology
	twin     *outlook.Twin
	every    time.Duration // between samples
	count    int           // of samples in a window

	last     time.Time
	services []watched
	load     series // over the peak
	expected []float64
}

// watched is one service.
type watched struct {
	of       map[Measure]*series
	release  string    // hash of the template; "" = not known
	released time.Time // when another one than before was first observed, and is not compared yet
	since    time.Time // of the last such release, compared or not; zero = none
	cpu      float64   // seconds of a visit by the twin
}

// NewMonitor of an application.
func NewMonitor(c Config) *Monitor {
	if c.Window <= 0 {
		c.Window = DefaultWindow
	}
	every := max(c.Window/slots, c.Period)
	m := &Monitor{
		app: c.App, judged: c.Judged, topology: formulation.NewTopology(c.App), twin: &outlook.Twin{App: c.App}, every: every,
		count: max(int(c.Window/max(every, 1)), leastSamples), services: make([]watched, len(c.App.Services)),
		expected: make([]float64, len(c.App.Services)),
	}
	for i := range m.services {
		name := c.App.Services[i].Name
		m.services[i].cpu = m.topology.Services[i].CPU
		m.services[i].of = map[Measure]*series{
			CPU:     newSeries(m.count, tolerance(c.Judged.cpuError(name), leastCPU)),
			Visits:  newSeries(m.count, leastVisits),
			Latency: newSeries(m.count, tolerance(c.Judged.p99Error(), leastLatency)),
		}
	}
	m.load = *newSeries(m.count, leastLoad)
	m.load.upOnly = true
	return m
}

// How far a measure may be from the twin's, as a share, whatever the twin's own error. A deviation
// counts beyond three times that error.
const (
	leastCPU     = 0.25
	leastVisits  = 0.25
	leastLatency = 0.5
	leastLoad    = 0.1
	errorsApart  = 3
	unstated     = 2 // times the least, where the error is not known
)

func tolerance(twinError, least float64) float64 {
	if math.IsNaN(twinError) {
		return unstated * least
	}
	return max(least, errorsApart*twinError)
}

func (j *Judged) p99Error() float64 {
	if j == nil {
		return math.NaN()
	}
	return float64(j.P99Error)
}

// Workload is what runs of a service.
type Workload struct {
	Release    string // hash of its template; "" = not known
	RollingOut bool   // pods of two releases may run
}

// Observe takes what was observed, the allocation by then, and what runs. It reports whether that
// may have changed the result: between two samples only releases do.
func (m *Monitor) Observe(o *loadline.Observation, allocation []loadline.Allocation, runs []Workload) bool {
	released := m.noteReleases(o.At, runs)
	if !m.last.IsZero() && o.At.Sub(m.last) < m.every-m.every/10 {
		return released
	}
	m.last = o.At
	m.expect(o)
	for i := range m.services {
		w := &m.services[i]
		w.of[Visits].add(o.At, m.visitRatio(i, o))
		if runs[i].RollingOut {
			w.of[CPU].add(o.At, absent)
			w.of[Latency].add(o.At, absent)
			continue
		}
		w.of[CPU].add(o.At, m.cpuRatio(i, &o.Services[i]))
		w.of[Latency].add(o.At, m.latencyRatio(i, &o.Services[i], allocation[i]))
		if !w.released.IsZero() && w.of[CPU].judged() {
			w.released = time.Time{} // compared since
		}
	}
	m.load.add(o.At, m.loadRatio(o))
	return true
}

// noteReleases drops what was observed of services before a release.
func (m *Monitor) noteReleases(at time.Time, runs []Workload) (released bool) {
	for i := range m.services {
		w, release := &m.services[i], runs[i].Release
		if release == "" || release == w.release {
			continue
		}
		if w.release != "" {
			w.released, w.since, released = at, at, true
			for _, s := range w.of {
				s.forget()
			}
		}
		w.release = release
	}
	return released
}

// Restarted takes the state of a service that another process has published: the release by then,
// when it was released, and deviations, which hold until they are compared again.
func (m *Monitor) Restarted(service, release string, released time.Time, found []Finding) {
	i := m.app.ServiceIndex(service)
	if i < 0 {
		return
	}
	w := &m.services[i]
	w.release, w.released, w.since = release, released, released
	for _, f := range found {
		if s := w.of[f.Measure]; s != nil {
			s.resume(f)
		}
	}
}

// RestartedLoad is Restarted of the load beyond the judged one.
func (m *Monitor) RestartedLoad(f Finding) { m.load.resume(f) }

// Release of a service, and when it was first observed if it was released since the monitor began
// and is not compared yet.
func (m *Monitor) Release(service int) (hash string, released time.Time) {
	return m.services[service].release, m.services[service].released
}

// Ratio of a measure of a service to the twin's in the last third of a window; NaN = it is not
// known.
func (m *Monitor) Ratio(service int, of Measure) float64 { return m.services[service].of[of].recent() }

// Corrected is the twin with the CPU of a visit as it is observed, where that deviates, and how many
// services that are.
func (m *Monitor) Corrected() (app *loadline.App, corrected int) {
	with := *m.app
	with.Services = append([]loadline.Service(nil), m.app.Services...)
	for i := range with.Services {
		if s := m.services[i].of[CPU]; s.active && s.ratio > 0 {
			with.Services[i].CPU.Mean = time.Duration(float64(with.Services[i].CPU.Mean) * s.ratio)
			corrected++
		}
	}
	return &with, corrected
}
