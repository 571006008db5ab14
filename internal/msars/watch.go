package msars

import (
	"math"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/profile"
)

// watch is the paper's service monitor: it notices when a service no longer fits its
// profile, and tells the divider. Other sizes are no news to it: the divider knows.
type watch struct {
	divider  *Divider
	monitors []*profile.Monitor // by service; nil = not watched
	window   time.Duration
	last     time.Time // end of the last window
}

// newWatch watches every service of which a profile is needed, at the highest
// percentile.
func newWatch(d *Divider, window time.Duration) (*watch, error) {
	w := &watch{divider: d, monitors: make([]*profile.Monitor, len(d.app.Services)), window: window}
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
		seen, usable := profile.Seen(&o.Services[i], o.At, w.window, percentile)
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
			w.tell(i, change)
		}
	}
}

// worthTelling is how much of a visit's work must have changed: what is refined by
// less needs no other split.
const worthTelling = 0.05

// tell the divider how much work a visit takes, over what the profiles in the library
// were measured with.
func (w *watch) tell(service int, c profile.Change) {
	measured := w.divider.library.Profile(service, loadline.Size(c.Profile.Size), c.Profile.Percentile)
	work := measured.Points[0].Load / c.Profile.Points[0].Load
	if math.Abs(math.Log(work/w.divider.work[service])) > worthTelling {
		w.divider.Released(service, work)
	}
}
