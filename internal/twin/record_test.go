package twin_test

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	. "github.com/loadline/loadline/internal/twin"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/pool"
	"github.com/loadline/loadline/internal/simulate"
	"github.com/loadline/loadline/internal/workload"
)

// recording is the history that a test needs.
type recording struct {
	app                  *loadline.App
	load, engine, policy string
	duration             time.Duration
	perturb              simulate.Perturb
	cluster              pool.Cluster
}

func (r recording) run() (*history.History, error) {
	w, err := workload.Parse(r.load, r.duration, time.Minute, 1)
	if err != nil {
		return nil, err
	}
	load, err := w.For(r.app)
	if err != nil {
		return nil, err
	}
	return simulate.RecordHistory(context.Background(), simulate.HistorySpec{
		App: r.app, Load: load, Workload: r.load, Policy: r.policy, Engine: r.engine, Duration: r.duration, Seed: 1, Perturb: r.perturb,
		Cluster: r.cluster,
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func builtIn(name string) *loadline.App { return must(apps.Load(name)).App }

// The histories that several tests share. They must not be changed: see copied.
var (
	// singleDay is one service near its limits, two days in the fluid engine.
	singleDay = sync.OnceValue(func() *history.History {
		return must(recording{
			app: builtIn("single"), load: "diurnal:low=20,high=300,period=6h,peak=2h+noise:cv=0.08,corr=5m",
			engine: "fluid", policy: "hpa:target=80", duration: 48 * time.Hour,
		}.run())
	})
	// bookinfoHours is four services that call each other, in the event engine, with lost steps
	// and noisy CPU.
	bookinfoHours = sync.OnceValue(func() *history.History {
		return must(recording{
			app: builtIn("bookinfo"), load: "diurnal:low=5,high=30,period=2h,peak=40m+noise:cv=0.08,corr=5m",
			engine: "event", policy: "hpa:target=80", duration: 4 * time.Hour,
			perturb: simulate.Perturb{MetricsLoss: 0.02, CPUNoise: 0.05},
		}.run())
	})
)

// Their twins, fitted with the defaults.
var (
	singleTwin   = sync.OnceValue(func() *Twin { return must(Fit(singleDay(), Options{})) })
	bookinfoTwin = sync.OnceValue(func() *Twin { return must(Fit(bookinfoHours(), Options{})) })
)

// copied is a deep copy of a history, to be modified.
func copied(h *history.History) *history.History {
	out := *h
	out.Services, out.Calls = append([]history.Service(nil), h.Services...), append([]history.Calls(nil), h.Calls...)
	for i := range out.Services {
		for m, s := range out.Services[i].Series {
			out.Services[i].Series[m] = append(history.Series(nil), s...)
		}
	}
	for i := range out.Calls {
		for m, s := range out.Calls[i].Series {
			out.Calls[i].Series[m] = append(history.Series(nil), s...)
		}
	}
	return &out
}

// blank makes steps absent in every series.
func blank(h *history.History, from, to int) {
	each(h, func(s history.Series) {
		for i := from; i < to; i++ {
			s[i] = float32(math.NaN())
		}
	})
}

func each(h *history.History, do func(history.Series)) {
	for i := range h.Services {
		for _, s := range h.Services[i].Series {
			if len(s) > 0 {
				do(s)
			}
		}
	}
	for i := range h.Calls {
		for _, s := range h.Calls[i].Series {
			if len(s) > 0 {
				do(s)
			}
		}
	}
}

// spoil replaces a hundredth of a metric by outliers.
func spoil(s history.Series, rng *rand.Rand) {
	for i := range s {
		if rng.IntN(100) == 0 {
			s[i] *= float32(5 + 20*rng.Float64())
		}
	}
}

func fit(t *testing.T, h *history.History, o Options) *Twin {
	t.Helper()
	tw, err := Fit(h, o)
	if err != nil {
		t.Fatal(err)
	}
	return tw
}

func near(t *testing.T, what string, got, want, off float64) {
	t.Helper()
	if !(math.Abs(got-want) <= off) {
		t.Errorf("%s is %.6g, want %.6g within %.3g", what, got, want, off)
	}
}

func atMost(t *testing.T, what string, got Number, most float64) {
	t.Helper()
	if !(float64(got) <= most) {
		t.Errorf("%s is off by %.3g, want at most %.3g", what, float64(got), most)
	}
}

var release = sim.VersionChange{Service: 0, CPUFactor: 1.5}
