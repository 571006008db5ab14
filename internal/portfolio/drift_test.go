package portfolio

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/result"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// live is an application that behaves as its twin, except for what a test changes, measured with
// noise.
type live struct {
	app      *loadline.App
	topology *formulation.Topology
	rng      *rand.Rand
	rate     float64 // requests per second
	shares   float64 // of all kinds
	cpu      map[string]float64
	visits   map[string]float64
	latency  map[string]float64
	blind    map[string]bool // services without metrics
	lost     float64         // share of the observations without any metric
	releases []Workload
	monitor  *Monitor
	now      time.Time
}

func watch(t *testing.T, name string, c Config) *live {
	t.Helper()
	m, err := apps.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	l := &live{app: m.App, topology: formulation.NewTopology(m.App), rng: rand.New(rand.NewPCG(1, 2)), rate: 100,
		cpu: map[string]float64{}, visits: map[string]float64{}, latency: map[string]float64{}, blind: map[string]bool{}, now: noon,
		releases: make([]Workload, len(m.App.Services))}
	for i := range l.releases {
		l.releases[i].Release = "first"
	}
	for k := range m.App.Kinds {
		l.shares += m.App.Kinds[k].Share
	}
	c.App, c.Period = m.App, 15*time.Second
	l.monitor = NewMonitor(c)
	return l
}

func judgedAt(peak, cpuError float64, services ...string) *Judged {
	j := &Judged{Format: judgedFormat, Peak: result.Number(peak), P99Error: 0.05, Deployments: []Deployment{{Label: "planner"}}}
	for _, s := range services {
		j.Services = append(j.Services, ServiceError{s, result.Number(cpuError)})
	}
	return j
}

func factor(of map[string]float64, name string) float64 {
	if f, set := of[name]; set {
		return f
	}
	return 1
}

// pass observes for a while, every minute, as often as samples are taken.
func (l *live) pass(span time.Duration) Drift {
	for end := l.now.Add(span); l.now.Before(end); l.now = l.now.Add(time.Minute) {
		o := &loadline.Observation{At: l.now, Services: make([]loadline.ServiceObservation, len(l.app.Services)),
			Kinds: make([]loadline.KindObservation, len(l.app.Kinds))}
		allocation := make([]loadline.Allocation, len(l.app.Services))
		lost := l.rng.Float64() < l.lost
		some := func(v, cv float64) loadline.Sample {
			if lost {
				return loadline.Sample{}
			}
			return loadline.Sample{Value: v * math.Exp(cv*l.rng.NormFloat64()), At: l.now}
		}
		for k := range o.Kinds {
			o.Kinds[k].Rate = some(l.rate*l.app.Kinds[k].Share/l.shares, 0)
		}
		for i := range o.Services {
			s, name := &l.app.Services[i], l.app.Services[i].Name
			visits := 0.0
			for k := range l.app.Kinds {
				visits += l.rate * l.app.Kinds[k].Share / l.shares * l.topology.Services[i].Visits[k] * factor(l.visits, name)
			}
			a := loadline.Allocation{Replicas: 4 + int(visits*l.topology.Services[i].CPU*4), Size: s.Size}
			allocation[i] = a
			for range a.Replicas {
				o.Services[i].Pods = append(o.Services[i].Pods, loadline.PodObservation{Phase: loadline.PodReady})
			}
			if l.blind[name] {
				continue
			}
			o.Services[i].Rate = some(visits, 0.02)
			o.Services[i].CPU = some(visits*l.topology.Services[i].CPU*factor(l.cpu, name)+s.IdleCPU*float64(a.Replicas), 0.05)
			if median, _, known := l.monitor.twin.Median(i, a, visits); known {
				o.Services[i].Own.P50 = some(median*factor(l.latency, name), 0.05)
			}
		}
		l.monitor.Observe(o, allocation, l.releases)
	}
	return l.monitor.Drift()
}

func (l *live) index(name string) int { return l.app.ServiceIndex(name) }

// settled is a comparison without a deviation and with nothing missing.
func (d Drift) settled() bool { return len(d.Found)+len(d.Missing)+len(d.Released) == 0 }

func TestAnApplicationAsItsTwinDoesNotDrift(t *testing.T) {
	for _, name := range []string{"single", "bookinfo", "boutique"} {
		l := watch(t, name, Config{Judged: judgedAt(150, 0.02)})
		for range 16 {
			l.rate = 40 + 100*l.rng.Float64() // within what was judged
			if d := l.pass(30 * time.Minute); !d.settled() {
				t.Fatalf("%s: %+v", name, d)
			}
		}
		if text := l.monitor.Drift().Text; !strings.Contains(text, "match the twin") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// TestWhatDeviatesIsFound: each measure has its own finding, with its figure and its time, and it is
// gone when the application is as before.
func TestWhatDeviatesIsFound(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*live)
		back   func(*live)
		want   Finding
		text   string
	}{
		{"twice the CPU of a visit", func(l *live) { l.cpu["reviews"] = 2.1 }, func(l *live) { l.cpu["reviews"] = 1 },
			Finding{Measure: CPU, Service: "reviews", Ratio: 2.1}, "the CPU of a visit to reviews is 2"},
		{"half the CPU of a visit", func(l *live) { l.cpu["reviews"] = 0.5 }, func(l *live) { l.cpu["reviews"] = 1 },
			Finding{Measure: CPU, Service: "reviews", Ratio: 0.5}, "the CPU of a visit to reviews is 0."},
		{"more calls to a service", func(l *live) { l.visits["ratings"] = 3 }, func(l *live) { l.visits["ratings"] = 1 },
			Finding{Measure: Visits, Service: "ratings", Ratio: 3}, "requests visit ratings 3 times as often as the twin's since"},
		{"no calls to a service", func(l *live) { l.visits["ratings"] = 0 }, func(l *live) { l.visits["ratings"] = 1 },
			Finding{Measure: Visits, Service: "ratings", Ratio: 0}, "requests visit ratings 0 times"},
		{"slower at the same load", func(l *live) { l.latency["details"] = 2 }, func(l *live) { l.latency["details"] = 1 },
			Finding{Measure: Latency, Service: "details", Ratio: 2}, "a visit to details without its calls takes 2"},
		{"a load beyond the judged", func(l *live) { l.rate = 200 }, func(l *live) { l.rate = 100 },
			Finding{Measure: Load, Ratio: 200.0 / 150}, "the load is 1.3 times the highest that the deployment was judged under, 150 requests/s"},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := watch(t, "bookinfo", Config{Judged: judgedAt(150, 0.02)})
			if d := l.pass(40 * time.Minute); !d.settled() {
				t.Fatalf("before: %+v", d)
			}
			changed := l.now
			row.change(l)
			if d := l.pass(4 * time.Minute); len(d.Found) > 0 {
				t.Errorf("found within four minutes, which a burst may last: %+v", d)
			}
			d := l.pass(8 * time.Minute)
			if len(d.Found) != 1 {
				t.Fatalf("%+v", d)
			}
			f := d.Found[0]
			if f.Measure != row.want.Measure || f.Service != row.want.Service || math.Abs(f.Ratio-row.want.Ratio) > 0.1*row.want.Ratio {
				t.Errorf("%+v, want %+v", f, row.want)
			}
			if since := f.Since.Sub(changed); since < -2*time.Minute || since > 2*time.Minute {
				t.Errorf("since %v, it changed at %v", f.Since, changed)
			}
			if !strings.Contains(d.Text, row.text) {
				t.Errorf("%q is not in %q", row.text, d.Text)
			}
			row.back(l)
			if d := l.pass(10 * time.Minute); len(d.Found) != 1 {
				t.Errorf("it is gone before the window is: %+v", d)
			}
			if d := l.pass(25 * time.Minute); !d.settled() {
				t.Errorf("it is as before: %+v", d)
			}
		})
	}
}

// TestWhatIsNotMeasuredIsNotJudged: nothing is concluded from absent data, and lost scrapes change
// nothing.
func TestWhatIsNotMeasuredIsNotJudged(t *testing.T) {
	l := watch(t, "bookinfo", Config{Judged: judgedAt(150, 0.02)})
	if d := l.pass(3 * time.Minute); len(d.Missing) == 0 || d.settled() {
		t.Errorf("three minutes decide nothing: %+v", d)
	}
	l.blind["reviews"] = true
	d := l.pass(30 * time.Minute)
	if len(d.Found) > 0 || len(d.Missing) != 2 ||
		!strings.Contains(d.Text, "not compared: the CPU of a visit to reviews is measured in 0 of the last 10") {
		t.Errorf("%+v", d)
	}
	l.blind["reviews"] = false
	l.lost = 0.2
	if d := l.pass(2 * time.Hour); !d.settled() {
		t.Errorf("a fifth of the scrapes is lost: %+v", d)
	}
	l.lost = 0.95
	if d := l.pass(time.Hour); len(d.Missing) == 0 {
		t.Errorf("almost nothing is measured: %+v", d)
	}
	// What was found stays until something is measured that says otherwise.
	l.lost, l.cpu["details"] = 0, 3
	l.pass(30 * time.Minute)
	l.lost, l.cpu["details"] = 1, 1
	if d := l.pass(3 * time.Hour); len(d.Found) != 1 {
		t.Errorf("without data it is gone: %+v", d)
	}
}

// TestBurstsAreNoDrift: a spike in fewer than a quarter of the samples.
func TestBurstsAreNoDrift(t *testing.T) {
	l := watch(t, "single", Config{Judged: judgedAt(150, 0.02)})
	l.pass(30 * time.Minute)
	for range 20 {
		l.cpu["server"] = 5
		if d := l.pass(2 * time.Minute); len(d.Found) > 0 {
			t.Fatalf("%+v", d)
		}
		l.cpu["server"] = 1
		if d := l.pass(8 * time.Minute); len(d.Found) > 0 {
			t.Fatalf("%+v", d)
		}
	}
}

// TestTheTwinsErrorIsTolerated: what the fit stated as its error is no drift.
func TestTheTwinsErrorIsTolerated(t *testing.T) {
	for _, row := range []struct {
		name  string
		error float64
		drift bool
	}{{"half more CPU, and the twin is known to 2 %", 0.02, true}, {"half more CPU, and the twin is off by 20 %", 0.2, false}} {
		t.Run(row.name, func(t *testing.T) {
			l := watch(t, "single", Config{Judged: judgedAt(150, row.error, "server")})
			l.cpu["server"] = 1.5
			if d := l.pass(time.Hour); (len(d.Found) > 0) != row.drift {
				t.Errorf("%+v", d)
			}
		})
	}
}

// TestAReleaseIsComparedAnew: until it has been measured for a third of the window nothing is known
// of it, and then it matches or does not.
func TestAReleaseIsComparedAnew(t *testing.T) {
	for _, factor := range []float64{1, 2} {
		l := watch(t, "bookinfo", Config{Judged: judgedAt(150, 0.02)})
		l.pass(40 * time.Minute)
		l.releases[l.index("reviews")].Release, l.cpu["reviews"] = "second", factor
		d := l.pass(3 * time.Minute)
		if len(d.Found) > 0 || len(d.Released) != 1 || !strings.Contains(d.Text, "reviews was released at 2026-03-01 12:40 UTC") {
			t.Fatalf("%+v", d)
		}
		d = l.pass(9 * time.Minute)
		switch {
		case factor == 1 && !d.settled():
			t.Errorf("it is as before: %+v", d)
		case factor == 2 && (len(d.Found) != 1 || math.Abs(d.Found[0].Ratio-2) > 0.2 ||
			!strings.Contains(d.Text, "it was released at 2026-03-01 12:40 UTC")):
			t.Errorf("it takes twice the CPU: %+v", d)
		}
	}
}

// TestADriftSurvivesARestart: it holds until the window of the new process says otherwise.
func TestADriftSurvivesARestart(t *testing.T) {
	old := watch(t, "bookinfo", Config{Judged: judgedAt(150, 0.02)})
	old.cpu["reviews"] = 2
	found := old.pass(40 * time.Minute).Found
	if len(found) != 1 {
		t.Fatalf("%+v", found)
	}
	for _, factor := range []float64{1, 2} {
		l := watch(t, "bookinfo", Config{Judged: judgedAt(150, 0.02)})
		l.now = old.now
		l.monitor.Restarted("reviews", "first", time.Time{}, found)
		l.cpu["reviews"] = factor
		if d := l.pass(time.Minute); len(d.Found) != 1 || !d.Found[0].Since.Equal(found[0].Since) {
			t.Errorf("after the restart: %+v", d)
		}
		if d := l.pass(40 * time.Minute); (len(d.Found) == 1) != (factor == 2) {
			t.Errorf("a window later, with %v times the CPU: %+v", factor, d)
		}
	}
	// Another process that meets a later release compares it.
	l := watch(t, "bookinfo", Config{Judged: judgedAt(150, 0.02)})
	l.monitor.Restarted("reviews", "before", time.Time{}, nil)
	if d := l.pass(time.Minute); len(d.Released) != 1 {
		t.Errorf("%+v", d)
	}
}

// TestIdleServicesAreNotMissing: a service that requests do not reach was measured, and has nothing
// to compare.
func TestIdleServicesAreNotMissing(t *testing.T) {
	l := watch(t, "bookinfo", Config{Judged: judgedAt(150, 0.02)})
	l.rate = 0.01
	if d := l.pass(time.Hour); !d.settled() {
		t.Errorf("%+v", d)
	}
}

func TestTheTwinIsCorrectedByWhatIsMeasured(t *testing.T) {
	l := watch(t, "single", Config{Judged: judgedAt(150, 0.02)})
	if _, n := l.monitor.Corrected(); n != 0 {
		t.Error("nothing was measured")
	}
	l.cpu["server"] = 2
	l.pass(time.Hour)
	app, n := l.monitor.Corrected()
	if ratio := app.Services[0].CPU.Mean.Seconds() / l.app.Services[0].CPU.Mean.Seconds(); n != 1 || math.Abs(ratio-2) > 0.1 {
		t.Errorf("%d corrected, by %v", n, ratio)
	}
	if l.app.Services[0].CPU.Mean != 10*time.Millisecond {
		t.Error("the twin itself was changed")
	}
}

// TestObservingDoesNotAllocate: it is part of every pass.
func TestObservingDoesNotAllocate(t *testing.T) {
	l := watch(t, "bookinfo", Config{Judged: judgedAt(150, 0.02)})
	l.pass(40 * time.Minute)
	o := &loadline.Observation{Services: make([]loadline.ServiceObservation, len(l.app.Services)),
		Kinds: make([]loadline.KindObservation, len(l.app.Kinds))}
	for i := range o.Services {
		o.Services[i].Rate, o.Services[i].CPU = loadline.Sample{Value: 100, At: noon}, loadline.Sample{Value: 1, At: noon}
	}
	allocation := make([]loadline.Allocation, len(l.app.Services))
	at := l.now
	if n := testing.AllocsPerRun(100, func() {
		at = at.Add(time.Minute)
		o.At = at
		l.monitor.Observe(o, allocation, l.releases)
	}); n > 0 {
		t.Errorf("%v allocations in an observation", n)
	}
}
