package train

import (
	"math"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/forecast"
)

// TestTableOfFittedForecasters: it equals the one that FitForecasts returned with them.
func TestTableOfFittedForecasters(t *testing.T) {
	c := configOf(t)
	f := ForecastSpec{
		Step: time.Minute, Span: time.Minute, Whole: true, Task: forecast.Task{Horizons: []int{1, 5}, Levels: []float64{0.5}},
		Config: func(seed uint64) forecast.GRUConfig {
			return forecast.GRUConfig{Window: 5, Hidden: 4, Members: 1, Epochs: 2, Patience: 2, Seed: seed}
		},
	}
	models, want, _, err := FitForecasts(t.Context(), Scenario{App: c.App, Load: ramp{}, Duration: 3 * time.Hour}, 1, f, func(float64) {})
	if err != nil {
		t.Fatal(err)
	}
	got := NewForecastTable(Scenario{App: c.App, Load: ramp{}, Duration: 3 * time.Hour}, f, models)
	for i := range want.ahead {
		for b, v := range want.ahead[i] {
			if g := got.ahead[i][b]; g != v && !(math.IsNaN(g) && math.IsNaN(v)) {
				t.Fatalf("service %d, bin %d: %v, was %v", i, b, g, v)
			}
		}
	}
	if NewForecastTable(Scenario{App: c.App, Load: ramp{}, Duration: time.Hour}, f, models) != nil {
		t.Error("a load that is too short has a table")
	}
}
