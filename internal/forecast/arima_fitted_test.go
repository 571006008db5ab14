package forecast

import (
	"context"
	"math"
	"testing"
	"time"
)

func TestFittedARIMAGoesOnElsewhere(t *testing.T) {
	values := make([]float64, 200)
	for i := range values {
		values[i] = 10 + 3*math.Sin(float64(i)/7) + math.Sin(float64(i*i))
	}
	task := Task{Horizons: []int{1, 3}, Levels: []float64{0.5}}
	history := NewFrame("load", time.Unix(0, 0), time.Minute, values)
	one := newARIMA(task)
	if err := one.Fit(context.Background(), history); err != nil {
		t.Fatal(err)
	}
	one.Forget()
	fit, err := FitARIMA(context.Background(), history)
	if err != nil {
		t.Fatal(err)
	}
	two, err := NewFittedARIMA(task, fit)
	if err != nil {
		t.Fatal(err)
	}
	a, b := [][]float64{{0}, {0}}, [][]float64{{0}, {0}}
	for i, v := range values {
		one.Observe(int64(i), []float64{v})
		two.Observe(int64(i), []float64{v})
		if one.Predict(a) != nil || two.Predict(b) != nil || a[0][0] != b[0][0] || a[1][0] != b[1][0] {
			t.Fatalf("step %d: %v and %v", i, a, b)
		}
	}
	for _, bad := range []ARIMAFit{{D: 2}, {Mean: math.NaN()}, {AR: make([]float64, 100)}} {
		if _, err := NewFittedARIMA(task, bad); err == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
}
