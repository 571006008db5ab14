package msars

import (
	"math"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/policy/drpc"
)

func steering(t *testing.T, app *loadline.App, of Division) *Steering {
	t.Helper()
	d, err := NewDivider(app, of, window)
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewSteering(app, d, drpc.DefaultSteps(), drpc.PrintedReward())
	if err != nil {
		t.Fatal(err)
	}
	w.Begin()
	return w
}

// splitAndObserve is what a pass of the loop does before the agent decides.
func splitAndObserve(w *Steering, now time.Time, s loadline.Situation) (seen loadline.Situation, absent string, err error) {
	if s.PartialSLO, err = w.Split(now, s); err != nil {
		return s, "", err
	}
	return s, w.Observe(s), nil
}

func TestTheRewardIsOfTheParts(t *testing.T) {
	app := shop()
	w := steering(t, app, Division{Way: "parslo", Profiles: profiles(app)})
	s := calm(app)
	see := func() drpc.Score {
		t.Helper()
		seen, absent, err := splitAndObserve(w, noon, s)
		if err != nil || absent != "" {
			t.Fatalf("%q, %v", absent, err)
		}
		score, known := w.Score(seen)
		if !known {
			t.Fatal("not known")
		}
		return score
	}
	if score := see(); score.QoS != 1 || math.Abs(score.Reward-1/score.Util) > 1e-12 {
		t.Errorf("all parts are kept: %+v", score)
	}
	// The cart takes twice its part, though its users' SLO is met: half of the requests visit
	// it.
	s.Window[0].Services[1].Own.P99.Value = 2 * w.divider.Parts()[1].Own
	if score := see(); math.Abs(score.QoS-(math.Exp(-1)+1)/2) > 1e-6 {
		t.Errorf("the cart is late: %+v", score)
	}
	// Failed visits do not count as fast.
	s.Window[0].Services[1].Own.P99.Value = 0
	s.Window[0].Services[1].Errors.Value = 1
	if score := see(); math.Abs(score.QoS-0.5) > 1e-6 {
		t.Errorf("the cart fails: %+v", score)
	}
}

func TestWithoutASplitTheRewardIsDRPCs(t *testing.T) {
	app := shop()
	w := steering(t, app, Division{Way: None})
	s := calm(app)
	s.Window[0].Services[1].Own.P99.Value = 3
	s.Window[0].Kinds[0].AtSLO.Value = 0.9
	seen, _, err := splitAndObserve(w, noon, s)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := w.Score(seen)
	want, _ := drpc.PrintedReward().Of(app, s.Now())
	if got != want || got.QoS >= 1 {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestTheStateHoldsThePartAndWhatItNeeds(t *testing.T) {
	app := shop()
	w := steering(t, app, Division{Way: "parslo", Profiles: profiles(app)})
	s, _, err := splitAndObserve(w, noon, calm(app))
	if err != nil {
		t.Fatal(err)
	}
	rows := w.Fill(s, nil)
	if len(rows) != w.Width() {
		t.Fatalf("%d values, want %d", len(rows), w.Width())
	}
	width := w.encoder.width()
	for i, p := range w.divider.Parts() {
		row := rows[i*width:][:width]
		over := s.Now().Services[i].Own.P99.Value / p.Own
		load, _ := p.curve.LoadAt(p.Own)
		for _, f := range []struct {
			name      string
			got, want float64
		}{
			{"latency over the part", float64(row[drpc.Locals-1]), math.Log2(1 + over)},
			{"partial_slo", float64(row[width-3]), p.Own / p.Whole},
			{"need", float64(row[width-2]), math.Log2(1 + s.Now().Services[i].Rate.Value/load/2)},
			{"floor", float64(row[width-1]), 0.5},
		} {
			if math.Abs(f.got-f.want) > 1e-5 {
				t.Errorf("%s of %s is %v, want %v", f.name, app.Services[i].Name, f.got, f.want)
			}
		}
	}
}
