package guard

import (
	"fmt"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/calendar"
)

// Scheduled is least replicas of a service by the calendar.
type Scheduled struct {
	Name     string // for reasons; may be empty
	Window   calendar.Window
	Replicas int
}

// Calendar keeps least replicas while a window is open, whatever a policy proposes and on every rung. It
// comes after the guards that limit how fast a service grows, since its time was chosen by a person, and
// before Clamp, which holds it to the upper bound. A service that is browned out stays so.
type Calendar struct {
	by [][]Scheduled // by service
}

// NewCalendar returns the guard for windows by the names of services.
func NewCalendar(by map[string][]Scheduled, app *loadline.App) Calendar {
	g := Calendar{by: make([][]Scheduled, len(app.Services))}
	for i := range app.Services {
		g.by[i] = by[app.Services[i].Name]
	}
	return g
}

// Name returns the name of the guard in records.
func (Calendar) Name() string { return "calendar" }

// Check raises the replicas to those of the window that is open, the largest of several.
func (g Calendar) Check(now time.Time, s loadline.Situation, service int, want loadline.Setting) (loadline.Setting, string) {
	if len(g.by[service]) == 0 || s.InFlight[service].Brownout || want.Brownout.Set && want.Brownout.Value {
		return want, ""
	}
	least, why := 0, ""
	for i := range g.by[service] {
		w := &g.by[service][i]
		if w.Replicas <= least {
			continue
		}
		if open, until := w.Window.Open(now); open {
			least, why = w.Replicas, fmt.Sprintf("at least %s until %s by the schedule", loadline.DescribeReplicas(w.Replicas),
				until.Format("2006-01-02 15:04 MST"))
			if w.Name != "" {
				why += " " + w.Name
			}
		}
	}
	if want.Replicas.Or(s.InFlight[service].Replicas) >= least {
		return want, ""
	}
	want.Replicas = loadline.Some(least)
	return want, why
}
