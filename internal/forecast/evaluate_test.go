package forecast

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"
)

// oracle always gives the same forecast, or none.
type oracle struct {
	value  float64
	silent bool
}

func (o *oracle) Name() string                       { return "oracle" }
func (o *oracle) Fit(context.Context, Frame) error   { return nil }
func (o *oracle) Forget()                            {}
func (o *oracle) Observe(ordinal int64, _ []float64) { o.silent = ordinal%2 == 1 && o.value == 7 }
func (o *oracle) Predict(out [][]float64) error {
	if o.silent {
		return ErrNoData
	}
	for h := range out {
		fill(out[h], o.value)
	}
	return nil
}

func TestScoresByHand(t *testing.T) {
	task := Task{Horizons: []int{1}, Levels: []float64{0.5}}
	values := []float64{0, 10, 5, 5, 0, 4, math.NaN(), 8}
	frame := NewFrame("x", time.Unix(0, 0), time.Minute, values)
	plan := Plan{Task: task, From: 3}
	walks := []Walk{}
	for _, m := range []Model{&oracle{value: 6}, &oracle{value: 7}} {
		w, err := WalkForward(context.Background(), frame, plan, m)
		if err != nil {
			t.Fatal(err)
		}
		walks = append(walks, w)
	}
	// Bins 3..7 forecast 0, 4, missing, 8, none; the second oracle gives none in odd bins, so
	// that both are evaluated on 4 (made in bin 4) and 8 (in bin 6).
	all, err := Score(frame, plan, walks)
	if err != nil {
		t.Fatal(err)
	}
	a, b := all[0].Horizons[0], all[1].Horizons[0]
	if a.Samples != 2 || a.MSE != 4 || a.MAE != 2 || a.NormalisedMSE != 0.04 || math.Abs(a.MAPE-(2.0/4+2.0/8)/2) > 1e-12 ||
		a.Covered[0] != 0.5 {
		t.Errorf("%+v", a)
	}
	if b.Samples != 2 || b.MSE != (9+1)/2.0 || all[1].Silent != 3 || all[0].Silent != 0 {
		t.Errorf("%+v, silent %d and %d", b, all[0].Silent, all[1].Silent)
	}
}

func TestPlanIsChecked(t *testing.T) {
	frame := noisyDays(100, 1)
	for name, plan := range map[string]Plan{
		"no history":   {Task: contractTask, From: 0},
		"no test":      {Task: contractTask, From: 100},
		"beyond":       {Task: contractTask, From: 50, To: 101},
		"refit back":   {Task: contractTask, From: 50, Refit: -1},
		"no horizons":  {Task: Task{Levels: DefaultLevels}, From: 50},
		"wrong levels": {Task: Task{Horizons: []int{1}, Levels: []float64{0.4}}, From: 50},
	} {
		if _, err := WalkForward(context.Background(), frame, plan, &persistence{}); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	flat := NewFrame("x", epoch, time.Minute, make([]float64, 60))
	w, err := WalkForward(context.Background(), flat, Plan{Task: contractTask, From: 50}, &persistence{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Score(flat, Plan{Task: contractTask, From: 50}, []Walk{w}); err == nil {
		t.Error("a constant history was normalised")
	}
}

func TestNothingToScoreIsReported(t *testing.T) {
	frame := noisyDays(100, 1)
	plan := Plan{Task: contractTask, From: 96} // six steps lead beyond the end
	w, err := WalkForward(context.Background(), frame, plan, &persistence{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Score(frame, plan, []Walk{w}); !errors.Is(err, ErrNoData) {
		t.Errorf("%v", err)
	}
}

func TestSeasonIsNeeded(t *testing.T) {
	task := Task{Horizons: []int{1}, Levels: DefaultLevels}
	f, err := NewForecaster(newSeasonalNaive(task), task)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Fit(context.Background(), noisyDays(60, 1)); !errors.Is(err, errNoSeason) {
		t.Errorf("%v", err)
	}
}
