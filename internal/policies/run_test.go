package policies_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/simulate"
)

// wave is a load between two rates, up and down once in half an hour.
type wave struct{ low, high float64 }

func (w wave) Rate(_ int, t time.Duration) (float64, time.Duration) {
	step := 10 * time.Second
	phase := 2 * math.Pi * t.Truncate(step).Seconds() / (30 * time.Minute).Seconds()
	return w.low + (w.high-w.low)*(1-math.Cos(phase))/2, t.Truncate(step) + step
}

// TestEveryPolicyOnBookinfo runs each policy for half an hour of a load that
// grows fourfold and falls again. The bounds are loose: they say that it works,
// not how well.
func TestEveryPolicyOnBookinfo(t *testing.T) {
	for _, c := range []struct {
		spec    string
		over    float64 // requests over the SLO, at most
		changes float64 // at least
	}{
		{"static", 1, 0},
		{"hpa", 1, 5},
		{"hpa:target=off,rps-target=25", 1, 5},
		{"kpa", 1, 0},
		{"kpa:target=2", 1, 5},
		{"vpa", 1, 5},
		{"vpa:min-memory=0,history=192h,percentile=99", 1, 5},
		{"hpa+vpa", 1, 5},
		{"hpa+vpa:target=off,rps-target=25,cpu=on", 1, 5},
		{"ursa", 1, 5},
		{"autothrottle", 1, 50},
	} {
		t.Run(c.spec, func(t *testing.T) {
			model, err := apps.Load("bookinfo")
			if err != nil {
				t.Fatal(err)
			}
			out, err := simulate.Run(context.Background(), simulate.Spec{
				App: model.App, Load: wave{30, 120}, Workload: "wave", Policy: c.spec, Engine: "event",
				Duration: 30 * time.Minute, Seed: 1,
			})
			if err != nil {
				t.Fatal(err)
			}
			r := out.Result
			t.Logf("over %.4f  core-hours %.3f  GiB-hours %.3f  replicas %.2f  changes %v  p99 %v held %d/%d", float64(r.OverSLORatio), float64(r.CoreHours), float64(r.GiBHours), float64(r.MeanReplicas), r.Changes, r.Latency.P99, out.Effort.Held, out.Effort.Decisions)
		})
	}
}
