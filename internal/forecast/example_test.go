package forecast_test

import (
	"context"
	"fmt"
	"time"

	"github.com/loadline/loadline/internal/forecast"
)

// A service that gets the same load every six hours.
func Example() {
	var load []float64
	for range 10 {
		load = append(load, 10, 20, 40, 80, 40, 20)
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	history := forecast.NewFrame("requests/s", start, time.Hour, load)

	task := forecast.Task{Horizons: []int{1, 3}, Levels: forecast.DefaultLevels, Season: 6}
	model, err := forecast.New("seasonal", task, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	f, err := forecast.NewForecaster(model, task)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := f.Fit(context.Background(), history); err != nil {
		fmt.Println(err)
		return
	}
	now := history.At(history.Bins() - 1)
	answer, err := f.Forecast(now)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, a := range answer.Ahead {
		fmt.Printf("in %v: %v requests/s, %d forecasts judged so far\n", a.In, a.Median, a.Recent.Samples)
	}
	// Output:
	// in 1h0m0s: 10 requests/s, 0 forecasts judged so far
	// in 3h0m0s: 40 requests/s, 0 forecasts judged so far
}
