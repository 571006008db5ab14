package msars

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/policy/drpc"
)

// live is a situation as measured in a cluster: whole visits only, and no machines.
func live(app *loadline.App) loadline.Situation {
	s := calm(app)
	clear(s.Window[0].Nodes)
	for i := range s.Window[0].Services {
		o := &s.Window[0].Services[i]
		o.Latency, o.Own = o.Own, loadline.Latency{}
		for j := range o.Pods {
			o.Pods[j].Node = -1
		}
	}
	return s
}

func TestWithoutMachinesAllReplicasAreOnOne(t *testing.T) {
	app := shop()
	see := func(s loadline.Situation) []float32 {
		p := policy(t, single(t, app, drpc.Action{}), app)
		seen, absent, err := splitAndObserve(p.steering, noon, s)
		if err != nil || absent != "" {
			t.Fatalf("%s, %v", absent, err)
		}
		return p.steering.Fill(seen, nil)
	}
	s := live(app)
	dark := see(s)
	// The same replicas on a measured machine: 80 visits at 10 ms, and the memory of six
	// replicas.
	s.Window[0].Nodes[0] = loadline.NodeObservation{CPU: seen(0.8), Memory: seen(6 * 192 << 20)}
	for i := range s.Window[0].Services {
		for j := range s.Window[0].Services[i].Pods {
			s.Window[0].Services[i].Pods[j].Node = 0
		}
	}
	if lit := see(s); !slices.Equal(dark, lit) {
		t.Errorf("%v, with a machine %v", dark, lit)
	}
	for i := range s.Window[0].Services {
		s.Window[0].Services[i].Pods = nil // nothing runs: no machine is known
	}
	if got := machines(s.Now(), nil); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

// TestServicesWithoutCallsAreMonitoredByWholeVisits, which is all that a cluster measures; services
// with calls are not monitored.
func TestServicesWithoutCallsAreMonitoredByWholeVisits(t *testing.T) {
	app := shop()
	p := policy(t, single(t, app, drpc.Action{}), app)
	s := live(app)
	windows := 0
	pass := func(times int) {
		for range times {
			now, s := later(s, windows)
			if _, err := decide(p, now, s); err != nil {
				t.Fatal(err)
			}
			windows++
		}
	}
	for i := range s.Window[0].Services { // many visits, so that every window is significant
		o := &s.Window[0].Services[i]
		o.Rate.Value *= 1.5
		o.Latency.P99.Value = fits(&app.Services[i], o.Rate.Value/2)
	}
	s.Window[0].Services[0].Latency.P99.Value *= 5 // with its calls
	pass(20)
	if divisions, _ := p.Divider().Divisions(); divisions != 1 || p.watch.monitors[0].Tally().Windows != 0 ||
		p.watch.monitors[1].Tally().Windows == 0 {
		t.Fatalf("%d divisions, front %+v, cart %+v", divisions, p.watch.monitors[0].Tally(), p.watch.monitors[1].Tally())
	}
	o := &s.Window[0].Services[1] // a release of the cart: visits take twice the work
	o.Latency.P99.Value = 2 * fits(&app.Services[1], o.Rate.Value)
	pass(10)
	if why, _ := p.Divider().Why(); !strings.Contains(why, "the profile of cart changed") || math.Abs(p.divider.work[1]-2) > 0.3 {
		t.Errorf("%q: a visit takes %.2f times the work, want 2", why, p.divider.work[1])
	}
}
