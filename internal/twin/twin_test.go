package twin_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/loadline/loadline/internal/twin"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/simulate"
)

// The tolerances of this file are those of docs/twin.md.

// checkFigures compares a twin with the recorded application.
func checkFigures(t *testing.T, tw *Twin, truth *loadline.App, starts func(name string) bool) {
	t.Helper()
	for i := range truth.Services {
		want := &truth.Services[i]
		got := &tw.App.Services[tw.App.ServiceIndex(want.Name)]
		near(t, want.Name+" CPU per visit", got.CPU.Mean.Seconds(), want.CPU.Mean.Seconds(), 0.03*want.CPU.Mean.Seconds())
		near(t, want.Name+" idle CPU", got.IdleCPU, want.IdleCPU, 0.15*want.IdleCPU+0.002)
		near(t, want.Name+" memory", float64(got.Memory.Base), float64(want.Memory.Base), 0.02*float64(want.Memory.Base))
		if starts(want.Name) {
			near(t, want.Name+" start-up", got.Startup.Mean.Seconds(), want.Startup.Mean.Seconds(), 0.2*want.Startup.Mean.Seconds())
		}
		if got.Size != want.Size {
			t.Errorf("%s: size %+v, want %+v", want.Name, got.Size, want.Size)
		}
	}
	visits, wantVisits := apps.Mix(tw.App, apps.Visits(tw.App)), apps.Mix(truth, apps.Visits(truth))
	for i := range truth.Services {
		name := truth.Services[i].Name
		near(t, "visits to "+name, visits[tw.App.ServiceIndex(name)], wantVisits[i], 0.03*wantVisits[i])
	}
}

func always(string) bool { return true }

func TestTheTwinOfASingleServiceHasItsFigures(t *testing.T) {
	tw := singleTwin()
	checkFigures(t, tw, builtIn("single"), always)
	s := &tw.App.Services[0]
	near(t, "memory per request", float64(s.Memory.PerRequest), 16<<10, 0.1*(16<<10))
	near(t, "variation of start-up", s.Startup.CV, 0.2, 0.1)
	near(t, "variation of CPU", s.CPU.CV, 1, 0.15)
	if s.Wait.Mean > 100*time.Microsecond {
		t.Errorf("waits %v besides its CPU, want nothing", s.Wait.Mean)
	}
}

func TestTheTwinKnowsTheKneeAndTheLineDoesNot(t *testing.T) {
	r := singleTwin().Report.Services[0]
	if r.Twin.P99.NearOf < 60 || r.Twin.P99.FarOf < 60 {
		t.Fatalf("%d minutes near saturation and %d far from it: too few to tell", r.Twin.P99.NearOf, r.Twin.P99.FarOf)
	}
	atMost(t, "CPU", r.Twin.CPU.All, 0.015) // readings fluctuate by chance
	atMost(t, "the mean far from saturation", r.Twin.Mean.Far, 0.03)
	atMost(t, "the mean near saturation", r.Twin.Mean.Near, 0.05)
	atMost(t, "the p99 far from saturation", r.Twin.P99.Far, 0.05)
	atMost(t, "the p99 near saturation", r.Twin.P99.Near, 0.08)
	for _, linear := range []Scores{r.Linear, r.Kept} {
		for _, pair := range [][2]Score{{r.Twin.Mean, linear.Mean}, {r.Twin.P99, linear.P99}} {
			if 3*pair[0].Near > pair[1].Near || 3*pair[0].Far > pair[1].Far {
				t.Errorf("twin off by %.3f | %.3f, linear model by %.3f | %.3f: a line should be off by three times as much",
					pair[0].Far, pair[0].Near, pair[1].Far, pair[1].Near)
			}
		}
	}
	if len(r.Changes) > 0 {
		t.Errorf("changes %v where there was none", r.Changes)
	}
}

func TestTheTwinOfACallGraphHasItsFigures(t *testing.T) {
	truth := builtIn("bookinfo")
	h := bookinfoHours()
	tw := bookinfoTwin()
	checkFigures(t, tw, truth, func(name string) bool { return h.Service(name).Series[history.Startup].Present() >= 8 })
	for i := range truth.Services {
		want := &truth.Services[i]
		got := &tw.App.Services[tw.App.ServiceIndex(want.Name)]
		near(t, want.Name+" waiting time", got.Wait.Mean.Seconds(), want.Wait.Mean.Seconds(), 0.35*want.Wait.Mean.Seconds())
	}
	for _, r := range tw.Report.Services {
		atMost(t, r.Service+" CPU", r.Twin.CPU.All, 0.06) // its readings are 5 % off
		atMost(t, r.Service+" mean", r.Twin.Mean.All, 0.08)
		atMost(t, r.Service+" p99", r.Twin.P99.All, 0.2) // a few hundred requests per minute have no exact p99
		atMost(t, r.Service+" mean, by requests", r.Events.Mean.All, 0.1)
		atMost(t, r.Service+" p99, by requests", r.Events.P99.All, 0.25)
	}
	atMost(t, "mean from end to end", tw.Report.Kinds[0].Mean.All, 0.08)
	atMost(t, "p99 from end to end", tw.Report.Kinds[0].P99.All, 0.2)
	want := "productpage\n├─ details\n└─ reviews\n   └─ ratings  (6"
	if tree := apps.Tree(tw.App); !strings.Contains(tree, want) {
		t.Errorf("tree\n%s\nwant\n%s", tree, want)
	}
}

func TestNoiseGapsAndWildValuesDoNotBendTheTwin(t *testing.T) {
	h := copied(singleDay())
	rng := rand.New(rand.NewPCG(1, 2))
	s := &h.Services[0]
	spoil(s.Series[history.CPU], rng)
	spoil(s.Series[history.LatencyMean], rng)
	spoil(s.Series[history.LatencyP99], rng)
	spoil(s.Series[history.Memory], rng)
	spoil(s.Series[history.Startup], rng)
	blank(h, 1000, 1400) // an outage of 100 min
	for range 300 {
		at := rng.IntN(h.Steps - 3)
		blank(h, at, at+1+rng.IntN(3))
	}
	s.Series[history.Rate][5000] = -40 // a counter reset
	tw := fit(t, h, Options{})
	checkFigures(t, tw, builtIn("single"), always)
	r := tw.Report.Services[0]
	if len(r.Changes) > 0 {
		t.Errorf("changes %v where there was none", r.Changes)
	}
	atMost(t, "the p99 near saturation", r.Twin.P99.Near, 0.12)
	if len(tw.Report.Gaps) != 1 || tw.Report.Gaps[0].Long < 100*time.Minute {
		t.Errorf("gaps %v, want the outage", tw.Report.Gaps)
	}
	warned(t, tw, "outage of the metrics", "short gaps", "negative or infinite")
}

// released is two days of a service with a release.
func released(t *testing.T, at time.Duration) *history.History {
	t.Helper()
	h, err := recording{
		app: builtIn("single"), load: "diurnal:low=20,high=200,period=6h,peak=2h+noise:cv=0.08,corr=5m",
		engine: "fluid", policy: "hpa:target=70", duration: 48 * time.Hour,
		perturb: simulate.Perturb{CPUNoise: 0.1, MetricsLoss: 0.02, Disturbances: []sim.Disturbance{{At: at, Version: &release}}},
	}.run()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestAReleaseIsFoundAndWhatCameAfterIsFitted(t *testing.T) {
	at := 20 * time.Hour
	tw := fit(t, released(t, at), Options{})
	r := tw.Report.Services[0]
	if len(r.Changes) != 1 {
		t.Fatalf("changes %v, want the one at %v", r.Changes, at)
	}
	c := r.Changes[0]
	if off := c.At.Sub(sim.Time(at)).Abs(); off > 10*time.Minute {
		t.Errorf("the change is dated %v off", off)
	}
	near(t, "CPU before, in ms", 1000*c.Before.Seconds(), 10, 0.3)
	near(t, "CPU after, in ms", 1000*c.After.Seconds(), 15, 0.45)
	near(t, "CPU of the twin, in ms", 1000*tw.App.Services[0].CPU.Mean.Seconds(), 15, 0.45)
	atMost(t, "the p99", r.Twin.P99.All, 0.08)
	if r.Later != nil {
		t.Errorf("there was no release after it: %v", r.Later)
	}
	warned(t, tw, "as by a release")
}

func TestAReleaseInTheHeldOutPartIsReported(t *testing.T) {
	at := 43 * time.Hour // the last 9.6 h are held out
	tw := fit(t, released(t, at), Options{})
	r := tw.Report.Services[0]
	if r.Later == nil || len(r.Changes) > 0 {
		t.Fatalf("later %v, earlier %v, want the one at %v", r.Later, r.Changes, at)
	}
	if off := r.Later.At.Sub(sim.Time(at)).Abs(); off > 10*time.Minute {
		t.Errorf("the change is dated %v off", off)
	}
	near(t, "CPU before, in ms", 1000*r.Later.Before.Seconds(), 10, 0.3)
	near(t, "CPU after, in ms", 1000*r.Later.After.Seconds(), 15, 0.45)
	near(t, "CPU of the twin, in ms", 1000*tw.App.Services[0].CPU.Mean.Seconds(), 10, 0.3)
	warned(t, tw, "the twin is of the release before it")
	for _, tw := range []*Twin{singleTwin(), bookinfoTwin()} {
		for _, r := range tw.Report.Services {
			if r.Later != nil {
				t.Errorf("service %s had no release: %v", r.Service, r.Later)
			}
		}
	}
}

func TestBoundsAreThoseOfTheAutoscaler(t *testing.T) {
	h := *singleDay()
	for _, row := range []struct{ autoscaler, min, max int }{{0, 1, 10}, {7, 2, 7}, {1000, 2, 40}} {
		h.Manifest.Autoscalers = nil
		if row.autoscaler > 0 {
			h.Manifest.Autoscalers = []history.Autoscaler{{Name: "server", Service: "server", MinReplicas: 2, MaxReplicas: row.autoscaler}}
		}
		if b := fit(t, &h, Options{}).App.Services[0].Bounds; b.MinReplicas != row.min || b.MaxReplicas != row.max {
			t.Errorf("an autoscaler of at most %d replicas: %+v", row.autoscaler, b)
		}
	}
}

func TestCallsSideBySideShowInTheResponseTime(t *testing.T) {
	slow := func(name string, ms int) loadline.Service {
		s := builtIn("single").Services[0]
		s.Name, s.CPU = name, loadline.Dist{Mean: time.Millisecond, CV: 1}
		s.Wait = loadline.Dist{Mean: time.Duration(ms) * time.Millisecond, CV: 0.3}
		return s
	}
	app := builtIn("single")
	app.Services = []loadline.Service{slow("front", 1), slow("left", 20), slow("right", 25)}
	root := Visit(0)
	root.Stages = [][]loadline.Call{{Visit(1), Visit(2)}}
	app.Kinds[0].Root = root
	h, err := recording{app: app, load: "diurnal:low=50,high=300,period=2h,peak=1h+noise:cv=0.1", engine: "fluid", policy: "hpa",
		duration: 6 * time.Hour}.run()
	if err != nil {
		t.Fatal(err)
	}
	tw := fit(t, h, Options{})
	if stages := tw.App.Kinds[0].Root.Stages; len(stages) != 1 || len(stages[0]) != 2 {
		t.Errorf("stages %v, want one of two calls", stages)
	}
	warned(t, tw, "assumed to be parallel")
	atMost(t, "the mean from end to end", tw.Report.Kinds[0].Mean.All, 0.05)
}

func TestWorkersAreSeenWhereRequestsWaitForThem(t *testing.T) {
	app := builtIn("single")
	s := &app.Services[0]
	s.Workers, s.CPU, s.Wait = 8, loadline.Dist{Mean: 2 * time.Millisecond, CV: 1}, loadline.Dist{Mean: 80 * time.Millisecond, CV: 0.5}
	h, err := recording{app: app, load: "diurnal:low=30,high=99,period=2h,peak=1h+noise:cv=0.05", engine: "event", policy: "static",
		duration: 5 * time.Hour}.run()
	if err != nil {
		t.Fatal(err)
	}
	tw := fit(t, h, Options{})
	near(t, "workers", float64(tw.App.Services[0].Workers), 8, 1)
	near(t, "waiting time in ms", 1000*tw.App.Services[0].Wait.Mean.Seconds(), 80, 12)
}

func TestTheSameHistoryGivesTheSameTwin(t *testing.T) {
	print := func(tw *Twin) string {
		return string(must(tw.Encode())) + fmt.Sprintf("%+v", tw.Report.Services)
	}
	if first, again := print(bookinfoTwin()), print(fit(t, bookinfoHours(), Options{})); first != again {
		t.Error("two fits of one history differ")
	}
}

func TestEveryAssumedFigureIsMarked(t *testing.T) {
	tw := fit(t, bookinfoHours(), Options{Name: "book",
		Objectives: []Objective{{SLO: loadline.SLO{Percentile: 95, Latency: time.Second}}}})
	data, err := tw.Encode()
	if err != nil {
		t.Fatal(err)
	}
	m, err := apps.Parse("book.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	if m.App.Kinds[0].SLO != (loadline.SLO{Percentile: 95, Latency: time.Second}) {
		t.Errorf("objective %v, want the one given", m.App.Kinds[0].SLO)
	}
	for _, f := range m.Figures {
		assumed := slices.ContainsFunc(tw.Report.Assumed, func(a Assumption) bool {
			return f.Field == a.Field ||
				strings.HasPrefix(f.Field, a.Field+".")
		})
		want := "fit"
		switch {
		case assumed:
			want = "guess"
		case strings.HasSuffix(f.Field, ".slo.percentile"), strings.HasSuffix(f.Field, ".slo.latency"):
			want = "asked"
		}
		if f.Line > 0 && f.Origin != want && !strings.Contains(f.Field, "[") {
			t.Errorf("%s is marked %q, want %q", f.Field, f.Origin, want)
		}
	}
	if r := apps.Check(m); r.Shares[apps.Measured] == 0 || r.Shares[apps.Assumed] == 0 || r.Shares[apps.Unmarked] > 0 ||
		r.Shares[apps.Defaulted] > 0 {
		t.Errorf("shares %v: every figure should be measured, asked for or assumed", r.Shares)
	}
}

func TestBeyondWhatWasSeenTheTwinSaysSo(t *testing.T) {
	tw := singleTwin()
	r := &tw.Report.Services[0]
	for _, c := range []struct {
		name    string
		service string
		rate    float64
		want    bool
	}{
		{"a load that was seen", "server", 50, false},
		{"the highest that was seen", "server", float64(r.HighestRate), false},
		{"a load beyond", "server", 1.1 * float64(r.HighestRate), true},
		{"a load below", "server", 0.5 * float64(r.LowestRate), true},
		{"a service that does not exist", "nobody", 50, true},
	} {
		if got := tw.Extrapolates(c.service, c.rate); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	near(t, "the busiest minute", float64(r.Busiest), 0.9, 0.1)
}

// warned requires that each text is part of some warning.
func warned(t *testing.T, tw *Twin, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !slices.ContainsFunc(tw.Report.Warnings, func(w string) bool { return strings.Contains(w, text) }) {
			t.Errorf("no warning says %q: %q", text, tw.Report.Warnings)
		}
	}
}
