package report

import (
	"math"
	"slices"
	"testing"

	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/result"
)

func TestCurvesAreMeansOverModels(t *testing.T) {
	learned := func(label string, seed uint64, yardstick result.Number, curve ...bench.CurvePoint) bench.Learned {
		return bench.Learned{App: "shop", Workload: "day", Label: label, Setting: "rate / 3", Seed: seed, Yardstick: yardstick,
			Curve: curve}
	}
	point := func(steps int, reward result.Number) bench.CurvePoint {
		return bench.CurvePoint{Steps: steps, CommonReward: reward}
	}
	row := func(label, policy string) bench.Row {
		return bench.Row{Case: bench.Case{App: "shop", Workload: "day", Label: label, Policy: policy}}
	}
	b := newBuilder(&bench.Results{
		Rows: []bench.Row{row("hpa", "hpa"), row("drpc (trained)", "drpc")},
		Learned: []bench.Learned{
			learned("drpc (trained)", 1, 0.8, point(100, 0.2), point(200, 0.6)),
			learned("drpc (trained)", 2, 0.6, point(120, 0.4)), // converged early
			learned("gone", 1, 0.1, point(100, 0.1)),
		},
	})
	curves := b.report.Summary.Curves
	if len(curves) != 1 {
		t.Fatalf("%+v, want one curve", curves)
	}
	c := curves[0]
	if c.Policy != 1 || c.Models != 2 || c.Setting != "rate / 3" || !slices.Equal(c.Steps, []int{120, 200}) ||
		math.Abs(float64(c.Final[0])-0.7) > 1e-9 {
		t.Errorf("%+v", c)
	}
	for i, want := range []float64{0.3, 0.5} {
		if math.Abs(float64(c.Rewards[i])-want) > 1e-9 {
			t.Errorf("rewards %v", c.Rewards)
		}
	}
	if none := newBuilder(&bench.Results{Rows: []bench.Row{row("hpa", "hpa")}}); none.report.Summary.Curves != nil {
		t.Error("curves of nothing")
	}
}
