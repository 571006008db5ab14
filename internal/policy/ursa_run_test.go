package policy_test

import (
	"context"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/simulate"
)

// measureAlone runs one replica of a service by itself for a minute.
func measureAlone(app *loadline.App) policy.MeasureLoad {
	return func(service int, perReplica, percentile float64) (time.Duration, error) {
		s := app.Services[service]
		s.Replicas = 1
		alone := &loadline.App{
			Name: "alone", Services: []loadline.Service{s}, Nodes: app.Nodes,
			Kinds: []loadline.Kind{{
				Name: "visit", Share: 1, SLO: loadline.SLO{Percentile: percentile, Latency: time.Second}, Timeout: 5 * time.Second,
				Root: loadline.Call{Probability: 1, Times: 1, Work: 1},
			}},
		}
		out, err := simulate.Run(context.Background(), simulate.Spec{
			App: alone, Load: wave{perReplica, perReplica}, Policy: "static", Engine: "event", Duration: time.Minute, Seed: 1,
		})
		if err != nil {
			return 0, err
		}
		k := out.Result.Kinds[0]
		if k.FailedRatio > 0 {
			return time.Hour, nil
		}
		return time.Duration(float64(k.AtSLO) * float64(time.Millisecond)), nil
	}
}

// TestExploredThresholdsKeepTheSLO: thresholds explored service by service meet the SLO of the
// whole application.
func TestExploredThresholdsKeepTheSLO(t *testing.T) {
	model, err := apps.Load("bookinfo")
	if err != nil {
		t.Fatal(err)
	}
	app := model.App
	thresholds, err := policy.ExploreThresholds(app, []float64{75, 75, 75, 50}, measureAlone(app))
	if err != nil {
		t.Fatal(err)
	}
	out, err := simulate.Run(context.Background(), simulate.Spec{
		App: app, Load: wave{30, 120}, Policy: policy.UrsaSpec(app, thresholds), Engine: "event",
		Duration: 30 * time.Minute, Seed: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %.4f over the SLO, %.3f core-hours", out.Result.Policy, float64(out.Result.OverSLORatio), float64(out.Result.CoreHours))
	if over := float64(out.Result.OverSLORatio); !(over <= 0.01) {
		t.Errorf("%v of the requests over the SLO with %s", over, out.Result.Policy)
	}
}
