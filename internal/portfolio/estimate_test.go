package portfolio

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/policy"
)

func at(t time.Time, rates ...float64) *loadline.Observation {
	o := &loadline.Observation{At: t}
	for _, r := range rates {
		k := loadline.KindObservation{}
		if !math.IsNaN(r) {
			k.Rate = loadline.Sample{Value: r, At: t}
		}
		o.Kinds = append(o.Kinds, k)
	}
	return o
}

// TestTheLoadOfTheLastDay: means of minutes, back to a gap that is too long to be bridged.
func TestTheLoadOfTheLastDay(t *testing.T) {
	r := NewLoadRecord(1)
	if r.Last(time.Hour) != nil {
		t.Error("nothing was observed")
	}
	now := noon
	feed := func(span time.Duration, rate float64) {
		for end := now.Add(span); now.Before(end); now = now.Add(15 * time.Second) {
			r.Observe(at(now, rate))
		}
	}
	feed(26*time.Hour, 50)
	if l := r.Last(loadSpan); l.Duration() != 24*time.Hour || l.Mean() != 50 || !l.From.Equal(now.Add(-24*time.Hour-time.Minute)) {
		t.Errorf("%v from %v, mean %v", l.Duration(), l.From, l.Mean())
	}
	feed(2*time.Minute, math.NaN())
	feed(10*time.Minute+15*time.Second, 80)
	l := r.Last(20 * time.Minute)
	if rate, until := l.Rate(0, l.Duration()-11*time.Minute); rate != 50 || until != l.Duration()-10*time.Minute {
		t.Errorf("two minutes without data: %v until %v", rate, until)
	}
	if rate, _ := l.Rate(0, l.Duration()-time.Second); l.Duration() != 20*time.Minute || rate != 80 {
		t.Errorf("%v, %v at the end", l.Duration(), rate)
	}
	feed(10*time.Minute, math.NaN())
	feed(30*time.Minute+15*time.Second, 20)
	if l := r.Last(loadSpan); l.Duration() != 30*time.Minute || l.Mean() != 20 {
		t.Errorf("after a long gap: %v, mean %v", l.Duration(), l.Mean())
	}
	now = now.Add(48 * time.Hour)
	feed(2*time.Minute, 10)
	if l := r.Last(loadSpan); l.Duration() > 2*time.Minute || l.Mean() != 10 {
		t.Errorf("after two days: %v, mean %v", l.Duration(), l.Mean())
	}
}

func question(t *testing.T, app string, rps float64, span time.Duration) Question {
	t.Helper()
	m, err := apps.Load(app)
	if err != nil {
		t.Fatal(err)
	}
	shares := 0.0
	for k := range m.App.Kinds {
		shares += m.App.Kinds[k].Share
	}
	r := NewLoadRecord(len(m.App.Kinds))
	for now := noon; now.Before(noon.Add(span + time.Minute)); now = now.Add(15 * time.Second) {
		rates := make([]float64, len(m.App.Kinds))
		for k := range rates {
			rates[k] = rps * (1 + 0.5*math.Sin(2*math.Pi*now.Sub(noon).Hours()/6)) * m.App.Kinds[k].Share / shares
		}
		r.Observe(at(now, rates...))
	}
	return Question{App: m.App, Load: r.Last(loadSpan), Guard: guard.Defaults(), Axes: []string{guard.Horizontal}, Interval: 15 * time.Second}
}

func ask(t *testing.T, q Question, label, spec, fallback string) Estimate {
	t.Helper()
	e, err := q.Ask(context.Background(), Candidate{Deployment: Deployment{Label: label, Policy: spec, Fallback: fallback}})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestTheRunnerUpIsEstimated: a rule with half of the utilisation costs about twice as much, what
// cannot scale violates the SLO, and a policy may be given instead of its notation.
func TestTheRunnerUpIsEstimated(t *testing.T) {
	q := question(t, "single", 300, 4*time.Hour)
	tight, loose := ask(t, q, "tight", "hpa:target=60", ""), ask(t, q, "loose", "hpa:target=30", "")
	if ratio := loose.PerMonth / tight.PerMonth; ratio < 1.6 || ratio > 2.2 || tight.Over > 0.01 {
		t.Errorf("%+v and %+v", tight, loose)
	}
	if fixed := ask(t, q, "fixed", "static:replicas=2", ""); fixed.Over < 0.2 {
		t.Errorf("two replicas for up to 4.5 cores: %+v", fixed)
	}
	if again := ask(t, q, "tight", "hpa:target=60", ""); again != tight {
		t.Errorf("%+v and %+v", again, tight)
	}
	given, err := q.Ask(context.Background(), Candidate{Deployment{Label: "tight"}, func() (loadline.Policy, error) {
		return policy.New("hpa:target=60", q.App)
	}})
	if err != nil || given != tight {
		t.Errorf("%+v, %v", given, err)
	}
	// A release that doubles the CPU doubles the cost, where the twin is corrected for it.
	app := *q.App
	app.Services = append([]loadline.Service(nil), app.Services...)
	app.Services[0].CPU.Mean *= 2
	q.App = &app
	if double := ask(t, q, "tight", "hpa:target=60", ""); double.PerMonth < 1.6*tight.PerMonth {
		t.Errorf("%+v, before %+v", double, tight)
	}
}

// TestAnEstimateIsBounded: by the services that it simulates, and by its pace.
func TestAnEstimateIsBounded(t *testing.T) {
	q := question(t, "trainticket", 50, 12*time.Hour)
	within := q.Within(3)
	if d := within.Load.Duration(); d < LeastLoad || d > 2*time.Hour {
		t.Errorf("%d services are simulated for %v", len(q.App.Services), d)
	}
	small := question(t, "single", 50, 12*time.Hour)
	if d := small.Within(3).Load.Duration(); d != small.Load.Duration() {
		t.Errorf("one service is simulated for %v", d)
	}
	scrapes := 0
	small.Pace = func() error {
		if scrapes++; scrapes > 20 {
			return ErrTooSlow
		}
		return nil
	}
	_, err := small.Ask(context.Background(), Candidate{Deployment: Deployment{Label: "x", Policy: "hpa"}})
	if !errors.Is(err, ErrTooSlow) || scrapes > 30 {
		t.Errorf("%v after %d scrapes", err, scrapes)
	}
	if _, err := (Question{App: q.App, Load: q.Load.Since(10 * time.Minute)}).Ask(context.Background(), Candidate{}); err == nil {
		t.Error("ten minutes are too short")
	}
}

func TestWhoIsAhead(t *testing.T) {
	j := &Judged{Deployments: []Deployment{
		{Label: "planner", PerMonth: 100, WholePerMonth: 90}, {Label: "tuned", PerMonth: 110, WholePerMonth: 108},
		{Label: "hpa", PerMonth: 120, WholePerMonth: 108}}}
	if e := j.Error("planner", "tuned"); math.Abs(e-(108.0/90/1.1-1)) > 1e-9 {
		t.Errorf("error %v", e)
	}
	if e := j.Error("planner", "hpa"); e != leastError {
		t.Errorf("both engines agree: error %v", e)
	}
	if e := j.Error("planner", "gone"); !math.IsNaN(e) {
		t.Errorf("of one that was not judged: %v", e)
	}
	for _, row := range []struct {
		name           string
		current, other Estimate
		want           bool
	}{
		{"cheaper by more than the error", Estimate{PerMonth: 100}, Estimate{PerMonth: 85}, true},
		{"cheaper by less than the error", Estimate{PerMonth: 100}, Estimate{PerMonth: 95}, false},
		{"cheaper and over the SLO", Estimate{PerMonth: 100}, Estimate{PerMonth: 50, Over: 0.02}, false},
		{"dearer, and the current one violates the SLO", Estimate{PerMonth: 100, Over: 0.05}, Estimate{PerMonth: 120, Over: 0.001}, true},
		{"dearer, and the current one hardly violates the SLO", Estimate{PerMonth: 100, Over: 0.02}, Estimate{PerMonth: 120}, false},
		{"not measured", Estimate{PerMonth: 100}, Estimate{PerMonth: 50, Over: math.NaN()}, false},
	} {
		if got := Ahead(row.current, row.other, 0.09); got != row.want {
			t.Errorf("%s: %v", row.name, got)
		}
	}
	if Ahead(Estimate{PerMonth: 100}, Estimate{PerMonth: 10}, math.NaN()) {
		t.Error("without an error nothing is known")
	}
}

// BenchmarkEstimate is one deployment over the load that an estimate may have.
func BenchmarkEstimate(b *testing.B) {
	for _, app := range []string{"single", "bookinfo", "trainticket"} {
		for _, spec := range []string{"hpa", "planner"} {
			b.Run(app+"/"+spec, func(b *testing.B) {
				m, err := apps.Load(app)
				if err != nil {
					b.Fatal(err)
				}
				r := NewLoadRecord(len(m.App.Kinds))
				for now := noon; now.Before(noon.Add(24 * time.Hour)); now = now.Add(time.Minute) {
					rates := make([]float64, len(m.App.Kinds))
					for k := range rates {
						rates[k] = 20
					}
					r.Observe(at(now, rates...))
				}
				q := Question{App: m.App, Load: r.Last(loadSpan), Guard: guard.Defaults(), Axes: []string{guard.Horizontal},
					Interval: 15 * time.Second}.Within(3)
				for b.Loop() {
					if _, err := q.Ask(context.Background(), Candidate{Deployment: Deployment{Label: "x", Policy: spec, Fallback: "hpa"}}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
