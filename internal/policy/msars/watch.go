package msars

import (
	"math"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/profile"
)

// watch is the paper's service monitor: it detects when a service no longer matches its
// profile, and informs the divider. Changed sizes are not reported: the divider has them.
type watch struct {
	divider  *Divider
	monitors []*profile.Monitor // by service; nil = not monitored
	callers  []bool             // by service: visits to it make calls
	window   time.Duration
	last     time.Time // end of the last window
}

// newWatch monitors every service that needs a profile, at the highest percentile.
func newWatch(d *Divider, window time.Duration) (*watch, error) {
	w := &watch{divider: d, monitors: make([]*profile.Monitor, len(d.app.Services)), callers: callers(d.app), window: window}
	if d.way == None {
		return w, nil
	}
	needed := Needed(d.app)
	slices.SortFunc(needed, func(a, b Need) int { return int(math.Copysign(1, b.Percentile-a.Percentile)) })
	for _, n := range needed {
		if w.monitors[n.Service] != nil {
			continue
		}
		m, err := profile.NewMonitor(d.profile(n.Service, n.Percentile), profile.MonitorConfig{})
		if err != nil {
			return nil, err
		}
		w.monitors[n.Service] = m
	}
	return w, nil
}

// callers are the services whose visits call others.
func callers(app *loadline.App) []bool {
	some := make([]bool, len(app.Services))
	unloaded := formulation.Unloaded{App: app}
	var walk func(c *loadline.Call)
	walk = func(c *loadline.Call) {
		for _, stage := range c.Stages {
			for i := range stage {
				if unloaded.Made(&stage[i], c.Service) > 0 {
					some[c.Service] = true
					walk(&stage[i])
				}
			}
		}
	}
	for k := range app.Kinds {
		walk(&app.Kinds[k].Root)
	}
	return some
}

// alone is a service's observation without its calls, like its profile. A cluster measures only
// whole visits; without calls, that is the same.
func (w *watch) alone(o *loadline.ServiceObservation, service int) *loadline.ServiceObservation {
	if o.Own != (loadline.Latency{}) || w.callers[service] {
		return o
	}
	own := *o
	own.Own = o.Latency
	return &own
}

// observe adds a measurement, unless it overlaps with the last one. Windows with missing data
// are skipped, as are those of sizes without a profile.
func (w *watch) observe(o *loadline.Observation) {
	if !w.last.IsZero() && o.At.Sub(w.last) < w.window {
		return
	}
	w.last = o.At
	for i, m := range w.monitors {
		if m == nil {
			continue
		}
		percentile := m.Profile().Percentile
		seen, usable := profile.Seen(w.alone(&o.Services[i], i), o.At, w.window, percentile)
		if !usable {
			continue
		}
		if seen.Size != m.Profile().Size {
			p := w.divider.profileAt(i, loadline.Size(seen.Size), percentile)
			if p == nil || m.Adopt(p) != nil {
				continue
			}
		}
		if change, changed := m.Observe(seen); changed {
			w.report(i, change)
		}
	}
}

// minWorkChange is how much the work of a visit must change: smaller refinements need no new
// split.
const minWorkChange = 0.05

// report tells the divider the work of a visit relative to what the library's profiles were
// measured with.
func (w *watch) report(service int, c profile.Change) {
	measured := w.divider.library.Profile(service, loadline.Size(c.Profile.Size), c.Profile.Percentile)
	work := measured.Points[0].Load / c.Profile.Points[0].Load
	if math.Abs(math.Log(work/w.divider.work[service])) > minWorkChange {
		w.divider.Released(service, work)
	}
}
