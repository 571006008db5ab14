package msars

import (
	"math"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/profile"
)

// watch is the paper's service monitor: it notices when a service no longer fits its
// profile, and informs the divider. Changed sizes are not reported: the divider knows
// them.
type watch struct {
	divider  *Divider
	monitors []*profile.Monitor // by service; nil = not watched
	callers  []bool             // by service: visits to it make calls
	window   time.Duration
	last     time.Time // end of the last window
}

// newWatch watches every service of which a profile is needed, at the highest
// percentile.
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

// alone is a service as its profile knows it, without its calls. A cluster measures
// only whole visits; without calls, that is the same.
func (w *watch) alone(o *loadline.ServiceObservation, service int) *loadline.ServiceObservation {
	if o.Own != (loadline.Latency{}) || w.callers[service] {
		return o
	}
	own := *o
	own.Own = o.Latency
	return &own
}

// observe what was measured, unless it overlaps with what was seen before. Windows in
// which something is missing are left out, as are those of sizes that nothing is known
// of.
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

// minWorkChange is how much of a visit's work must have changed: what is refined by
// less needs no other split.
const minWorkChange = 0.05

// report the divider how much work a visit takes, over what the profiles in the library
// were measured with.
func (w *watch) report(service int, c profile.Change) {
	measured := w.divider.library.Profile(service, loadline.Size(c.Profile.Size), c.Profile.Percentile)
	work := measured.Points[0].Load / c.Profile.Points[0].Load
	if math.Abs(math.Log(work/w.divider.work[service])) > minWorkChange {
		w.divider.Released(service, work)
	}
}
