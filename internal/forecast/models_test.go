package forecast

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// pointsOf runs a model over the last bins and returns the root mean square error of its
// medians by horizon.
func pointsOf(t *testing.T, m Model, task Task, frame Frame, from int) []float64 {
	t.Helper()
	plan := Plan{Task: task, From: from}
	w, err := WalkForward(context.Background(), frame, plan, m)
	if err != nil {
		t.Fatal(err)
	}
	scores, err := Score(frame, plan, []Walk{w})
	if err != nil {
		t.Fatal(err)
	}
	var out []float64
	for _, a := range scores[0].Horizons {
		if a.Samples == 0 {
			t.Fatalf("nothing was scored %v ahead", a.Ahead)
		}
		out = append(out, math.Sqrt(a.MSE))
	}
	return out
}

func TestPersistenceIsExactOnSteps(t *testing.T) {
	task := Task{Horizons: []int{2}, Levels: DefaultLevels}
	f := NewFrame("x", epoch, time.Minute, []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
	if got := pointsOf(t, &persistence{}, task, f, 4); math.Abs(got[0]-2) > 1e-12 {
		t.Errorf("a line that rises by 1 is %v off after 2 steps, must be 2", got[0])
	}
}

func TestSeasonalNaiveIsExactOnPeriods(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	season := make([]float64, 24)
	for i := range season {
		season[i] = rng.Float64()
	}
	values := make([]float64, 24*6)
	for i := range values {
		values[i] = season[i%24]
	}
	values[24*4+7] = math.NaN() // the season before must be used instead
	task := Task{Horizons: []int{1, 5, 23, 24, 30}, Levels: DefaultLevels, Season: 24}
	frame := NewFrame("x", epoch.Add(11*time.Minute), time.Minute, values)
	for h, off := range pointsOf(t, newSeasonalNaive(task), task, frame, 24*4) {
		if off != 0 {
			t.Errorf("%d steps ahead: off by %v", task.Horizons[h], off)
		}
	}
}

func TestHoltWintersFollowsACleanSeasonAndTrend(t *testing.T) {
	values := make([]float64, 24*20)
	for i := range values {
		values[i] = 10 + 0.01*float64(i) + 3*math.Sin(2*math.Pi*float64(i)/24)
	}
	task := Task{Horizons: []int{1, 6, 24}, Levels: DefaultLevels, Season: 24}
	for h, off := range pointsOf(t, newHoltWinters(task), task, NewFrame("x", epoch, time.Minute, values), 24*15) {
		if off > 0.1 {
			t.Errorf("%d steps ahead: off by %v, the season swings by 6", task.Horizons[h], off)
		}
	}
}

func TestHoltWintersWithoutSeasonFollowsALevel(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	values := make([]float64, 500)
	for i := range values {
		values[i] = 50 + rng.NormFloat64()
	}
	task := Task{Horizons: []int{1, 10}, Levels: DefaultLevels}
	for h, off := range pointsOf(t, newHoltWinters(task), task, NewFrame("x", epoch, time.Minute, values), 300) {
		if off > 1.15 { // pure noise cannot be forecast better than 1
			t.Errorf("%d steps ahead: off by %v, the noise is 1", task.Horizons[h], off)
		}
	}
}

// simulated is an ARMA(1,1) series around 100.
func simulated(ar, ma float64, n int, seed uint64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 5))
	values, w, before := make([]float64, n), 0.0, 0.0
	for i := range values {
		e := rng.NormFloat64()
		w = ar*w + e + ma*before
		before = e
		values[i] = 100 + w
	}
	return values
}

func TestARIMARecoversItsCoefficients(t *testing.T) {
	for name, row := range map[string]struct {
		ar, ma float64
		order  order
	}{
		"AR(1) 0.7":        {0.7, 0, order{1, 0, 0}},
		"AR(1) -0.5":       {-0.5, 0, order{1, 0, 0}},
		"ARMA(1,1)":        {0.8, -0.4, order{1, 0, 1}},
		"MA part positive": {0.3, 0.5, order{1, 0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			values := simulated(row.ar, row.ma, 5000, 1)
			for i := 100; i < 5000; i += 50 { // gaps must not bias it
				values[i] = math.NaN()
			}
			fit, err := fitARIMA(context.Background(), values, row.order)
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(fit.ar[0]-row.ar) > 0.06 || (row.order.q > 0 && math.Abs(fit.ma[0]-row.ma) > 0.06) ||
				math.Abs(fit.mean-100) > 0.3 {
				t.Errorf("ar %v, ma %v, mean %v; want %v, %v, 100", fit.ar, fit.ma, fit.mean, row.ar, row.ma)
			}
		})
	}
}

func TestARIMAForecastsAsAnAR1Does(t *testing.T) {
	task := Task{Horizons: []int{1, 4}, Levels: DefaultLevels}
	m := &arima{task: task, fitted: arimaFit{order: order{1, 0, 0}, ar: []float64{0.5}, ma: []float64{}, mean: 100}}
	m.Forget()
	m.Observe(0, []float64{108})
	out := grid(task)
	if err := m.Predict(out); err != nil {
		t.Fatal(err)
	}
	if out[0][0] != 104 || out[1][0] != 100.5 {
		t.Errorf("%v and %v, want 100 + 8/2 and 100 + 8/16", out[0][0], out[1][0])
	}
}

func TestARIMATakesARandomWalkForOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	values := make([]float64, 3000)
	for i := 1; i < len(values); i++ {
		values[i] = values[i-1] + rng.NormFloat64()
	}
	m := newARIMA(Task{Horizons: []int{1}, Levels: DefaultLevels})
	if err := m.Fit(context.Background(), NewFrame("x", epoch, time.Minute, values)); err != nil {
		t.Fatal(err)
	}
	m.Forget()
	for i := range values {
		m.Observe(0, values[i:i+1])
	}
	out := [][]float64{make([]float64, 1)}
	if err := m.Predict(out); err != nil || math.Abs(out[0][0]-values[len(values)-1]) > 0.3 {
		t.Errorf("order %v says %v after %v: %v", m.fitted.order, out[0], values[len(values)-1], err)
	}
}

func TestPartialsAreStationary(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for range 1000 {
		partials := []float64{2*rng.Float64() - 1, 2*rng.Float64() - 1, 2*rng.Float64() - 1}
		ar := make([]float64, 3)
		fromPartials(ar, partials)
		s := newARIMAState(arimaFit{order: order{3, 0, 0}, ar: ar})
		s.seen, s.w = true, []float64{1, -1, 1}
		for range 20_000 {
			s.step(math.NaN())
		}
		if math.Abs(s.w[0]) > 1 {
			t.Fatalf("partials %v give %v, which grows to %v", partials, ar, s.w)
		}
	}
}

func TestGRULearnsASineBetterThanPersistence(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	values := make([]float64, 1500)
	for i := range values {
		values[i] = math.Sin(2*math.Pi*float64(i)/37) + 0.02*rng.NormFloat64()
	}
	task := Task{Horizons: []int{1, 5, 10}, Levels: DefaultLevels}
	m, err := NewGRU(task, GRUConfig{Window: 20, Hidden: 16, Members: 1, Epochs: 12, Seed: 1, Rate: 0.01})
	if err != nil {
		t.Fatal(err)
	}
	frame := NewFrame("x", epoch, time.Minute, values)
	gru, naive := pointsOf(t, m, task, frame, 1200), pointsOf(t, &persistence{}, task, frame, 1200)
	for h := range gru {
		if gru[h] > 0.4*naive[h] {
			t.Errorf("%d steps ahead: off by %v, persistence by %v", task.Horizons[h], gru[h], naive[h])
		}
	}
}

// TestGRUUsesASecondSeries forecasts noise that another series announces.
func TestGRUUsesASecondSeries(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	f := Frame{Start: epoch, Step: time.Minute, Names: []string{"load", "herald"}}
	coming := rng.NormFloat64()
	for range 1500 {
		load := coming
		coming = rng.NormFloat64()
		f.Rows = append(f.Rows, []float64{load, coming})
	}
	task := Task{Horizons: []int{1}, Levels: DefaultLevels}
	m, err := NewGRU(task, GRUConfig{Window: 4, Hidden: 12, Members: 1, Epochs: 15, Seed: 1, Rate: 0.01})
	if err != nil {
		t.Fatal(err)
	}
	if off := pointsOf(t, m, task, f, 1200); off[0] > 0.3 {
		t.Errorf("off by %v, the noise is 1 and is announced", off[0])
	}
}

func TestUnknownModelIsRefused(t *testing.T) {
	if _, err := New("persistance", contractTask, 1); err == nil || !strings.Contains(err.Error(), `did you mean "persistence"`) {
		t.Errorf("%v", err)
	}
	if _, err := NewGRU(contractTask, GRUConfig{Window: -1, Rate: 2}); err == nil || !strings.Contains(err.Error(), "window") ||
		!strings.Contains(err.Error(), "rate") {
		t.Errorf("%v", err)
	}
}
