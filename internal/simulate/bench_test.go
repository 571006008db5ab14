package simulate

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/workload"
)

// BenchmarkTrainticketDay is the largest usual run in the event engine: 24 h of about 40
// services at 200 requests/s under HPA. Required: minutes, and less than 500 MB.
func BenchmarkTrainticketDay(b *testing.B) {
	if testing.Short() {
		b.Skip("takes minutes")
	}
	m, err := apps.Load("trainticket")
	if err != nil {
		b.Fatal(err)
	}
	day := 24 * time.Hour
	w, err := workload.Parse("constant:rps=200", day, time.Minute, 1)
	if err != nil {
		b.Fatal(err)
	}
	load, err := w.For(m.App)
	if err != nil {
		b.Fatal(err)
	}
	rates := make([]float64, len(m.App.Kinds))
	for k := range rates {
		rates[k], _ = load.Rate(k, 0)
	}
	app := apps.SizedFor(m.App, rates, 0.6)
	for b.Loop() {
		out, err := Run(context.Background(), Spec{App: app, Load: load, Policy: "hpa", Engine: "event", Duration: day, Seed: 1})
		if err != nil {
			b.Fatal(err)
		}
		var mem runtime.MemStats
		runtime.ReadMemStats(&mem)
		b.ReportMetric(float64(mem.Sys)/500e6, "of-500MB")
		b.ReportMetric(float64(out.Result.Requests), "requests")
	}
	b.ReportMetric(day.Seconds()*float64(b.N)/b.Elapsed().Seconds(), "x-real-time")
}
