package forecast

import (
	"errors"
	"math"
	"testing"
)

func TestLinearIsTheLeastSquaresLine(t *testing.T) {
	task := Task{Horizons: []int{1, 4}, Levels: []float64{0.5}}
	for _, c := range []struct {
		name  string
		bins  int
		past  []float64
		wants []float64 // by horizon; nil = no data
	}{
		{"a line goes on", 4, []float64{1, 2, 3, 4}, []float64{5, 8}},
		{"only the latest bins count", 2, []float64{9, 9, 1, 3}, []float64{5, 11}},
		{"missing bins are left out", 5, []float64{1, math.NaN(), 3, math.NaN(), 5}, []float64{6, 9}},
		{"the line is not through every point", 4, []float64{0, 2, 0, 2}, []float64{2, 3.2}},
		{"one sample is no line", 4, []float64{3}, nil},
		{"nor are missing ones", 4, []float64{3, math.NaN(), math.NaN()}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := NewLinear(task, c.bins)
			m.Forget()
			for i, v := range c.past {
				m.Observe(int64(i), []float64{v})
			}
			out := grid(task)
			err := m.Predict(out)
			if c.wants == nil {
				if !errors.Is(err, ErrNoData) {
					t.Fatalf("%v, %v", out, err)
				}
				return
			}
			for h, want := range c.wants {
				if err != nil || math.Abs(out[h][0]-want) > 1e-9 {
					t.Errorf("horizon %d: %v, %v, want %v", task.Horizons[h], out[h][0], err, want)
				}
			}
		})
	}
}
