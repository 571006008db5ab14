package twin_test

import (
	"context"
	"math"
	"testing"
	"time"

	. "github.com/loadline/loadline/internal/twin"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/simulate"
	"github.com/loadline/loadline/internal/workload"
)

// mixedShop is two services whose visits cost different CPU by kind: a report is six times a
// page at the store, and half of it at the front.
func mixedShop() *loadline.App {
	app := builtIn("single")
	front, store := app.Services[0], app.Services[0]
	front.Name, front.CPU, front.Wait = "front", loadline.Dist{Mean: 4 * time.Millisecond, CV: 0.8}, loadline.Dist{}
	store.Name, store.CPU = "store", loadline.Dist{Mean: 5 * time.Millisecond, CV: 0.8}
	store.Wait = loadline.Dist{}
	app.Services = []loadline.Service{front, store}
	kind := func(name string, share, atFront, atStore float64) loadline.Kind {
		k := app.Kinds[0]
		root, call := Visit(0), Visit(1)
		root.Work, call.Work = atFront, atStore
		root.Stages = [][]loadline.Call{{call}}
		k.Name, k.Share, k.Root = name, share, root
		return k
	}
	app.Kinds = []loadline.Kind{kind("page", 80, 1, 1), kind("report", 20, 0.5, 6)}
	return app
}

const mixedLoad = "diurnal:low=20,high=60,period=2h,peak=40m+noise:cv=0.08,corr=5m"

// cpuUnder is the CPU of each service with the given mix, in cores, in the event engine.
func cpuUnder(t *testing.T, app *loadline.App, mix string) []float64 {
	t.Helper()
	long := 20 * time.Minute
	w := must(workload.Parse("constant:rps=40+"+mix, long, time.Minute, 1))
	load := must(w.For(app))
	cores := make([]float64, len(app.Services))
	spec := simulate.Spec{App: app, Load: load, Workload: "mix", Policy: "static", Engine: "event", Duration: long, Seed: 5}
	spec.Hooks.Scrape = func(r *sim.Reading, _ *sim.ControlPlane) {
		for i := range cores {
			cores[i] = r.Services[i].Of[loadline.ServiceCPU] / max(r.At.Seconds(), 1)
		}
	}
	if _, err := simulate.Run(context.Background(), spec); err != nil {
		t.Fatal(err)
	}
	return cores
}

// worstCPU is the largest relative error of a twin's CPU under a mix, over the services.
func worstCPU(t *testing.T, tw *Twin, truth *loadline.App, mix string) float64 {
	want, got := cpuUnder(t, truth, mix), cpuUnder(t, tw.App, mix)
	worst := 0.0
	for i := range want {
		worst = max(worst, math.Abs(got[i]/want[i]-1))
	}
	return worst
}

func TestCPUIsFittedByKindWhereTheMixVaries(t *testing.T) {
	truth := mixedShop()
	record := recording{app: truth, load: mixedLoad + "+mix:page=90..60,report=10..40,period=3h", engine: "event",
		policy: "hpa:target=70", duration: 6 * time.Hour, perturb: simulate.Perturb{CPUNoise: 0.05}}
	h := must(record.run())
	tw := fit(t, h, Options{})
	for k, want := range []struct{ front, store float64 }{{4, 5}, {2, 30}} {
		root := tw.App.Kinds[k].Root
		call := root.Stages[0][0]
		near(t, tw.App.Kinds[k].Name+" at front, ms", 1000*root.Work*tw.App.Services[0].CPU.Mean.Seconds(), want.front, 0.1*want.front)
		near(t, tw.App.Kinds[k].Name+" at store, ms", 1000*call.Work*tw.App.Services[1].CPU.Mean.Seconds(), want.store, 0.1*want.store)
		t.Logf("%s: front %.3g ms, store %.3g ms", tw.App.Kinds[k].Name, 1000*root.Work*tw.App.Services[0].CPU.Mean.Seconds(),
			1000*call.Work*tw.App.Services[1].CPU.Mean.Seconds())
	}
	other := worstCPU(t, tw, truth, "mix:page=40,report=60")
	t.Logf("CPU under another mix: %.3g off; kinds %+v", other, tw.Report.Kinds)
	if other > 0.05 {
		t.Errorf("CPU under another mix is %.3g off, want at most 0.05", other)
	}
	for _, k := range tw.Report.Kinds {
		atMost(t, k.Kind+", mean by requests", k.EventMean, 0.1)
	}
	for _, s := range tw.Report.Services {
		if len(s.Changes) > 0 {
			t.Errorf("%s: the changing mix is taken for releases: %v", s.Service, s.Changes)
		}
	}
}

func TestOneFigureIsKeptWhereTheMixDoesNotVary(t *testing.T) {
	truth := mixedShop()
	// In the event engine chance alone varies the mix enough for these two kinds.
	h := must(recording{app: truth, load: mixedLoad, engine: "fluid", policy: "hpa:target=70", duration: 6 * time.Hour,
		perturb: simulate.Perturb{CPUNoise: 0.05}}.run())
	tw := fit(t, h, Options{})
	for k := range tw.App.Kinds {
		if root := tw.App.Kinds[k].Root; root.Work != 1 || root.Stages[0][0].Work != 1 {
			t.Errorf("%s: work %v and %v, want one figure for all kinds", tw.App.Kinds[k].Name, root.Work, root.Stages[0][0].Work)
		}
	}
	warned(t, tw, "one figure for the kinds page, report at front, store")
	// Under the recorded mix one figure is right; under another it is not, which is what the
	// warning is for.
	if same := worstCPU(t, tw, truth, "mix:page=80,report=20"); same > 0.05 {
		t.Errorf("CPU under the recorded mix is %.3g off, want at most 0.05", same)
	}
	other := worstCPU(t, tw, truth, "mix:page=40,report=60")
	t.Logf("CPU under another mix: %.3g off; kinds %+v", other, tw.Report.Kinds)
	if other < 0.19 {
		t.Errorf("CPU under another mix is %.3g off: this history cannot show it better than that", other)
	}
}

func TestADriftingMixIsNotARelease(t *testing.T) {
	h := must(recording{app: mixedShop(), load: mixedLoad + "+mix:page=90..50,report=10..50", engine: "fluid", policy: "hpa:target=70",
		duration: 12 * time.Hour, perturb: simulate.Perturb{CPUNoise: 0.05}}.run())
	for _, s := range fit(t, h, Options{}).Report.Services {
		if len(s.Changes) > 0 {
			t.Errorf("%s: the mix is taken for releases: %v", s.Service, s.Changes)
		}
	}
}
