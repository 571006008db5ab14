package pipeline

import (
	"context"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/simulate"
	"github.com/loadline/loadline/internal/workload"
)

// fortnight is two weeks with quiet weekends.
const fortnight = "weekly:low=40,high=200,peak=15h,weekend=0.55+noise:cv=0.08,corr=10m"

// recorded is the history of an application under HPA over a workload, every 15 s.
func recorded(tb testing.TB, app, spec string, duration time.Duration, scale float64) *history.History {
	tb.Helper()
	model, err := apps.Load(app)
	if err != nil {
		tb.Fatal(err)
	}
	w, _, err := workload.Open(spec, workload.Options{Duration: duration, Step: 15 * time.Second, Seed: 1, Scale: scale})
	if err != nil {
		tb.Fatal(err)
	}
	load, err := w.For(model.App)
	if err != nil {
		tb.Fatal(err)
	}
	h, err := simulate.RecordHistory(context.Background(), simulate.HistorySpec{
		App: model.App, Load: load, Workload: spec, Policy: "hpa", Engine: "fluid", Duration: duration, Seed: 1,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return h
}

// wholeWay fits, trains and evaluates, and reports the durations.
func wholeWay(b *testing.B, h *history.History, limit time.Duration) {
	ctx := context.Background()
	var fit, train, evaluate time.Duration
	for b.Loop() {
		dir := b.TempDir()
		began := time.Now()
		subject, err := FromHistory(h, Past{Name: "subject"})
		if err != nil {
			b.Fatal(err)
		}
		fit += time.Since(began)
		began = time.Now()
		candidates, err := LineUp(nil, 8, 1)
		if err != nil {
			b.Fatal(err)
		}
		folder, err := Begin(dir, "bench", subject, candidates, false)
		if err != nil {
			b.Fatal(err)
		}
		err = TrainEach(ctx, subject, candidates, Each{Workers: runtime.GOMAXPROCS(0), Done: folder.Keep})
		if err != nil {
			b.Fatal(err)
		}
		train += time.Since(began)
		began = time.Now()
		folder, err = OpenRun(dir)
		if err != nil {
			b.Fatal(err)
		}
		e, err := Evaluate(ctx, folder, EvaluationSettings{Program: "bench", Workers: runtime.GOMAXPROCS(0)})
		if err != nil {
			b.Fatal(err)
		}
		evaluate += time.Since(began)
		if testing.Verbose() {
			_ = e.WriteText(os.Stdout, true)
			b.Log(e.Verdict.Sentence)
		}
	}
	n := float64(b.N)
	b.ReportMetric(fit.Seconds()/n, "fit-s")
	b.ReportMetric(train.Seconds()/n, "train-s")
	b.ReportMetric(evaluate.Seconds()/n, "evaluate-s")
	b.ReportMetric(100*(fit+train+evaluate).Seconds()/n/limit.Seconds(), "%-of-limit")
}

// BenchmarkFourteenDays has a limit: a 14-day history of one service at 15 s, fitted, 8
// candidates trained and evaluated within 60 s on two cores.
func BenchmarkFourteenDays(b *testing.B) {
	h := recorded(b, "single", fortnight, 14*24*time.Hour, 1)
	wholeWay(b, h, time.Minute)
}

// BenchmarkTrainTicket is the large one: 40 services over 7 days within 10 minutes and 2 GB. It
// takes minutes, so it runs only on request.
func BenchmarkTrainTicket(b *testing.B) {
	if os.Getenv("LOADLINE_LONG_BENCH") == "" {
		b.Skip("takes minutes: set LOADLINE_LONG_BENCH=1 to run it")
	}
	h := recorded(b, "trainticket", fortnight, 7*24*time.Hour, 0.2)
	runtime.GC()
	peak, stop := watchMemory()
	wholeWay(b, h, 10*time.Minute)
	stop()
	b.ReportMetric(float64(peak.Load())/(1<<30), "peak-GiB")
}

// watchMemory records the peak of memory obtained from the system and not returned.
func watchMemory() (peak *atomic.Uint64, stop func()) {
	peak = &atomic.Uint64{}
	end := make(chan struct{})
	go func() {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-end:
				return
			case <-tick.C:
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				peak.Store(max(peak.Load(), m.Sys-m.HeapReleased))
			}
		}
	}()
	return peak, func() { close(end) }
}
