package msars

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/slosplit"
)

func divided(t *testing.T, app *loadline.App, of Division, s loadline.Situation) *Divider {
	t.Helper()
	d, err := NewDivider(app, of, window)
	if err != nil {
		t.Fatal(err)
	}
	if anew, err := d.Update(noon, s.Now(), s.InFlight); err != nil || anew != (of.Way != None) {
		t.Fatalf("first: %v, %v", anew, err)
	}
	return d
}

func TestPartsSumToTheSLO(t *testing.T) {
	app := shop()
	s := calm(app)
	d := divided(t, app, Division{Way: "parslo", Profiles: profiles(app), Factors: map[string]float64{"buy": 1.2}}, s)
	parts := d.Parts()
	for i, p := range parts {
		if !p.Kept || p.Percentile != 99 || p.Own <= 0 || p.WithCalls < p.Own || p.curve == nil {
			t.Errorf("%s: %+v", app.Services[i].Name, p)
		}
	}
	// The front end is on both paths and gets the tighter of its shares.
	if buy, find := parts[0].Own+parts[1].Own, parts[0].Own+parts[2].Own; buy > 1.2*0.6+1e-9 || find > 0.5+1e-9 || max(buy/0.72,
		find/0.5) < 0.999 {
		t.Errorf("%v of 720ms for buy, %v of 500ms for find", buy, find)
	}
	if why, at := d.Why(); why != "it is the first" || !at.Equal(noon) {
		t.Errorf("%q at %v", why, at)
	}
}

func TestOnlyWhatChangesIsDividedAnew(t *testing.T) {
	app := shop()
	s := calm(app)
	d := divided(t, app, Division{Way: "parslo", Profiles: profiles(app)}, s)
	first := d.Parts()[1].Own
	for _, step := range []struct {
		name   string
		change func(s *loadline.Situation)
		anew   bool
		chains int // computed
		why    string
	}{
		{"nothing", func(*loadline.Situation) {}, false, 0, ""},
		{"a little more load", func(s *loadline.Situation) { s.Window[0].Kinds[0].Rate.Value = 23 }, false, 0, ""},
		{"more memory", func(s *loadline.Situation) { s.InFlight[1].Size.MemoryLimit *= 2 }, false, 0, ""},
		{"a larger cart", func(s *loadline.Situation) { s.InFlight[1].Size.CPULimit = 0.8 }, true, 1,
			"cart was resized from 0.5 to 0.8 cores"},
		{"the cart as it was", func(s *loadline.Situation) { s.InFlight[1].Size.CPULimit = 0.5 }, true, 0,
			"cart was resized from 0.8 to 0.5 cores"},
		{"a slower search", func(*loadline.Situation) { d.Released(2, 1.5) }, true, 1,
			"the profile of search changed, a visit takes 1.50 times the work"},
		{"much more load", func(s *loadline.Situation) { s.Window[0].Kinds[1].Rate.Value = 40 }, true, 2,
			"find went from 20 to 40 requests/s"},
		{"a rate that is not known", func(s *loadline.Situation) { s.Window[0].Kinds[1].Rate = loadline.Sample{} }, false, 0, ""},
	} {
		_, before := d.Divisions()
		step.change(&s)
		anew, err := d.Update(noon.Add(time.Minute), s.Now(), s.InFlight)
		_, after := d.Divisions()
		why, _ := d.Why()
		if err != nil || anew != step.anew || after-before != step.chains || anew && why != step.why {
			t.Errorf("%s: anew %v, %d chains, %q, %v", step.name, anew, after-before, why, err)
		}
		if step.name == "a larger cart" && !(d.Parts()[1].Own < first) {
			t.Errorf("a larger cart may take %v of before %v", d.Parts()[1].Own, first)
		}
	}
}

func TestWhatCannotBeKeptIsStillDivided(t *testing.T) {
	app := shop()
	app.Kinds[0].SLO.Latency = 50 * time.Millisecond
	d := divided(t, app, Division{Way: "parslo", Profiles: profiles(app)}, calm(app))
	p := d.Parts()
	if p[0].Kept || math.Abs(p[0].Own+p[1].Own-0.05) > 1e-9 || !strings.Contains(p[0].Reason, "not to be had") {
		t.Errorf("%+v", p)
	}
}

func TestWithoutASplitEverybodyIsHeldToTheTightestSLO(t *testing.T) {
	app := shop()
	d := divided(t, app, Division{Way: None}, calm(app))
	want := []float64{0.5, 0.6, 0.5}
	for i, p := range d.Parts() {
		if p.Own != 0 || p.WithCalls != want[i] || p.Whole != want[i] {
			t.Errorf("%s: %+v", app.Services[i].Name, p)
		}
	}
}

func TestWithoutAnyRateNothingIsDivided(t *testing.T) {
	app := shop()
	d, err := NewDivider(app, Division{Way: "parslo", Profiles: profiles(app)}, window)
	if err != nil {
		t.Fatal(err)
	}
	s := calm(app)
	for k := range s.Window[0].Kinds {
		s.Window[0].Kinds[k].Rate = loadline.Sample{}
	}
	s.Window[0].Services[0].Rate = loadline.Sample{}
	if _, err := d.Update(noon, s.Now(), s.InFlight); !errors.Is(err, loadline.ErrNoData) || !strings.Contains(err.Error(),
		"no request of buy was counted, nor what front is asked") {
		t.Errorf("%v", err)
	}
}

func TestDividersThatCannotBeMadeSayWhy(t *testing.T) {
	app := shop()
	for _, c := range []struct {
		name string
		of   Division
		want string
	}{
		{"a way that is misspelt", Division{Way: "parslow", Profiles: profiles(app)}, `did you mean "parslo"`},
		{"no profiles", Division{Way: "parslo"}, "measure them with loadline profile"},
		{"no network", Division{Way: "gcn", Profiles: profiles(app)}, "loadline slo train --way gcn"},
	} {
		if _, err := NewDivider(app, c.of, window); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func BenchmarkDivideAnew(b *testing.B) {
	app := shop()
	s := calm(app)
	d, err := NewDivider(app, Division{Way: "parslo", Profiles: profiles(app)}, window)
	if err != nil {
		b.Fatal(err)
	}
	d.split = slosplit.NewCache(lenient{slosplit.Parslo{}})
	for i := range b.N {
		s.InFlight[1].Size.CPULimit = 0.5 + 0.001*float64(i%500)
		if _, err := d.Update(noon, s.Now(), s.InFlight); err != nil {
			b.Fatal(err)
		}
	}
}
