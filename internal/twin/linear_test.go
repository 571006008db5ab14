package twin_test

import (
	"math"
	"testing"

	. "github.com/loadline/loadline/internal/twin"

	"github.com/loadline/loadline/internal/history"
)

// Four rows, solved by hand. With u = CPU - 0.5 and v = requests - 20 the columns
// are orthogonal: u = (-.25, -.25, .25, .25), v = (-10, 10, -10, 10). Delays .10,
// .14, .18, .30 have the mean .18; the slope of u is sum(u*d)/sum(u*u) =
// .25*(.48-.24)/.25 = .24, that of v sum(v*d)/sum(v*v) = 10*(.44-.28)/400 = .004.
// So b0 = .24, b1 = .004, and the intercept is .18 - .24*.5 - .004*20 = -.02.
func TestTheRegressorSolvesAnExampleByHand(t *testing.T) {
	l := FitLinear([]LinearRow{
		{CPU: 0.25, Requests: 10, Replicas: 1, Delay: 0.10},
		{CPU: 0.25, Requests: 30, Replicas: 3, Delay: 0.14},
		{CPU: math.NaN(), Requests: 99, Replicas: 9, Delay: 9},
		{CPU: 0.75, Requests: 10, Replicas: 1, Delay: 0.18},
		{CPU: 0.75, Requests: 30, Replicas: 3, Delay: 0.30},
	})
	near(t, "b0", l.CPUSlope, 0.24, 1e-9)
	near(t, "b1", l.RequestSlope, 0.004, 1e-9)
	near(t, "intercept", l.Intercept, -0.02, 1e-9)
	near(t, "rows", float64(l.Rows), 4, 0)
	near(t, "mean CPU", l.MeanCPU, 0.5, 1e-12)
	near(t, "mean requests", l.MeanRequests, 20, 1e-12)
	near(t, "mean replicas", l.MeanReplicas, 2, 1e-12)
	near(t, "delay, the intercept dropped", l.Delay(0.5, 20), 0.2, 1e-9)
	l.KeepIntercept = true
	near(t, "delay, the intercept kept", l.Delay(0.5, 20), 0.18, 1e-9)
	// N = 40*2/20 = 4 replicas' worth of requests; on 2 replicas CPU' = 0.5*4/2.
	near(t, "CPU of ENV2", l.CPUAt(40, 2), 1, 1e-9)
}

func TestTheRegressorTakesPlainRowsOfTheHistory(t *testing.T) {
	h := singleDay()
	tw := fit(t, h, Options{Delay: history.LatencyP95})
	cut := h.Steps - h.Steps/5
	want := FitLinear(LinearRows(&h.Services[0], history.LatencyP95, 0, cut))
	got := tw.Linear[0]
	if got.Service != "server" || got.Metric != "latency_p95" || got.KeepIntercept {
		t.Errorf("regressor of %s, %s, intercept kept %v", got.Service, got.Metric, got.KeepIntercept)
	}
	near(t, "b0", got.CPUSlope, want.CPUSlope, 1e-12)
	near(t, "b1", got.RequestSlope, want.RequestSlope, 1e-12)
	if got.Rows < cut-10 {
		t.Errorf("%d rows of %d", got.Rows, cut)
	}
}

func TestARegressorWithoutRowsIsEmpty(t *testing.T) {
	if l := FitLinear(nil); l != (Linear{}) {
		t.Errorf("got %+v", l)
	}
}
