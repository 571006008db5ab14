package arena

import (
	"math"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/forecast"
)

// TestRecallIsWhatWasForeseen: forecasters that are fitted already say the same again.
func TestRecallIsWhatWasForeseen(t *testing.T) {
	c := configOf(t)
	f := Foresight{
		Step: time.Minute, Span: time.Minute, Whole: true, Task: forecast.Task{Horizons: []int{1, 5}, Levels: []float64{0.5}},
		Config: func(seed uint64) forecast.GRUConfig {
			return forecast.GRUConfig{Window: 5, Hidden: 4, Members: 1, Epochs: 2, Patience: 2, Seed: seed}
		},
	}
	models, want, _, err := Foresee(t.Context(), c.App, ramp{}, 3*time.Hour, 1, f, func(float64) {})
	if err != nil {
		t.Fatal(err)
	}
	got := Recall(c.App, ramp{}, 3*time.Hour, f, models)
	for i := range want.ahead {
		for b, v := range want.ahead[i] {
			if g := got.ahead[i][b]; g != v && !(math.IsNaN(g) && math.IsNaN(v)) {
				t.Fatalf("service %d, bin %d: %v, was %v", i, b, g, v)
			}
		}
	}
	if Recall(c.App, ramp{}, time.Hour, f, models) != nil {
		t.Error("a load that is too short has an almanac")
	}
}
