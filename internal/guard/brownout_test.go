package guard_test

import (
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/guard"
)

// dimmer is a fixture with two more services, both optional: ads, which are cheap to
// do without, and tips, which are not.
func dimmer(t *testing.T) (*fixture, *loadline.App) {
	t.Helper()
	sc := newFixture()
	app := webApp()
	for name, price := range map[string]float64{"tips": 0.5, "ads": 0.1} {
		app.Services = append(app.Services, loadline.Service{Name: name, Replicas: 2, OptionalPrice: price,
			Bounds: loadline.Bounds{MaxReplicas: 4}})
		sc.Allocation = append(sc.Allocation, loadline.Allocation{Replicas: 2})
		sc.InFlight = append(sc.InFlight, loadline.Allocation{Replicas: 2})
	}
	sc.App = app
	return sc, app
}

// dim passes some time at a share of requests over the SLO and returns which
// services are off then.
func (sc *fixture) dim(g *guard.Brownout, over float64, span time.Duration) (off []string) {
	for range int(span / (15 * time.Second)) {
		sc.later(15 * time.Second)
		sc.observe(100, 5, over)
		g.Watch(sc.now, sc.Situation)
		for i := range sc.App.Services {
			got, _ := g.Check(sc.now, sc.Situation, i, loadline.Setting{})
			sc.InFlight[i] = sc.InFlight[i].With(got)
		}
	}
	for _, name := range []string{"ads", "tips"} {
		if sc.InFlight[sc.App.ServiceIndex(name)].Brownout {
			off = append(off, name)
		}
	}
	return off
}

func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("off: %v, want %v", got, want)
		return
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("off: %v, want %v", got, want)
		}
	}
}

func newDimmer(app *loadline.App) *guard.Brownout {
	return guard.NewBrownout(guard.Brownout{Window: time.Minute, Rate: 10, MinOver: 10, Recovered: 1, Recovery: 5 * time.Minute}, app,
		[]string{"tips", "ads"}, maxAge)
}

func TestBrownoutOneAtATimeAndBack(t *testing.T) {
	sc, app := dimmer(t)
	g := newDimmer(app)
	same(t, sc.dim(g, 0.005, 5*time.Minute))                   // the SLO is kept
	same(t, sc.dim(g, 0.05, 5*time.Minute))                    // five times too fast is not yet need
	same(t, sc.dim(g, 0.4, time.Minute), "ads")                // the cheapest first
	same(t, sc.dim(g, 0.4, time.Minute), "ads", "tips")        // it did not help enough
	same(t, sc.dim(g, 0, 4*time.Minute), "ads", "tips")        // not before it has lasted
	same(t, sc.dim(g, 0, 2*time.Minute+30*time.Second), "ads") // the dearest first
	same(t, sc.dim(g, 0.03, 10*time.Minute), "ads")            // still burning a little: stays
	same(t, sc.dim(g, 0, 7*time.Minute))
}

func TestBrownoutWaitsWhileNothingIsMeasured(t *testing.T) {
	sc, app := dimmer(t)
	g := newDimmer(app)
	same(t, sc.dim(g, 0.4, 2*time.Minute), "ads", "tips")
	for range 60 {
		sc.later(15 * time.Second)
		sc.blind()
		g.Watch(sc.now, sc.Situation)
	}
	same(t, sc.dim(g, 0, time.Minute), "ads", "tips")
}

func TestBrownoutGoesOnAfterARestart(t *testing.T) {
	sc, app := dimmer(t)
	tips := app.ServiceIndex("tips")
	sc.InFlight[tips].Brownout = true
	g := newDimmer(app)
	same(t, sc.dim(g, 0, 4*time.Minute), "tips")
	same(t, sc.dim(g, 0.4, 2*time.Minute), "ads", "tips")
}

func TestBrownoutIsLeftToAPolicyThatSpeaksOfIt(t *testing.T) {
	sc, app := dimmer(t)
	g := newDimmer(app)
	sc.dim(g, 0.4, time.Minute)
	want := loadline.Setting{Brownout: loadline.Some(false)}
	if got, why := g.Check(sc.now, sc.Situation, app.ServiceIndex("ads"), want); got != want || why != "" {
		t.Errorf("made %+v of %+v: %s", got, want, why)
	}
}
