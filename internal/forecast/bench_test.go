package forecast

import (
	"context"
	"testing"
	"time"
)

// BenchmarkStep is one observed sample and one forecast, as in the loop.
func BenchmarkStep(b *testing.B) {
	task := Task{Horizons: []int{5, 10, 15, 20, 25}, Levels: DefaultLevels, Season: 1440}
	frame := noisyDays(3*1440, 1)
	for _, name := range Names {
		b.Run(name, func(b *testing.B) {
			model, err := New(name, task, 1)
			if err != nil {
				b.Fatal(err)
			}
			if name == "gru" { // full size, but not trained for long
				model, err = NewGRU(task, GRUConfig{Epochs: 1})
			}
			if err != nil {
				b.Fatal(err)
			}
			f, err := NewForecaster(model, task)
			if err != nil {
				b.Fatal(err)
			}
			if err := f.Fit(context.Background(), frame); err != nil {
				b.Fatal(err)
			}
			at := frame.At(frame.Bins())
			for b.Loop() {
				if err := f.Observe(at, 20); err != nil {
					b.Fatal(err)
				}
				if _, err := f.Forecast(at); err != nil {
					b.Fatal(err)
				}
				at = at.Add(time.Minute)
			}
		})
	}
}
