package forecast

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// contractTask is small enough for every model to be quick.
var contractTask = Task{Horizons: []int{1, 3, 6}, Levels: DefaultLevels, Season: 48}

var epoch = time.Unix(1_700_000_000, 0).UTC()

// contractModel makes a model as New does, but fast to train.
func contractModel(t testing.TB, name string) Model {
	t.Helper()
	if name == "gru" {
		m, err := NewGRU(contractTask, GRUConfig{Window: 8, Hidden: 8, Members: 2, Epochs: 3, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	m, err := New(name, contractTask, 1)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// noisyDays is a season with noise, like load.
func noisyDays(bins int, seed uint64) Frame {
	rng := rand.New(rand.NewPCG(seed, 3))
	values, drift := make([]float64, bins), 0.0
	for i := range values {
		drift = 0.8*drift + 0.3*rng.NormFloat64()
		values[i] = 20 + 5*math.Sin(2*math.Pi*float64(i)/48) + drift
	}
	return NewFrame("load", epoch, time.Minute, values)
}

func fitted(t testing.TB, name string, history Frame) *Forecaster {
	t.Helper()
	f, err := NewForecaster(contractModel(t, name), contractTask)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Fit(context.Background(), history); err != nil {
		t.Fatal(err)
	}
	return f
}

func mustForecast(t testing.TB, f *Forecaster, now time.Time) Forecast {
	t.Helper()
	answer, err := f.Forecast(now)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// same compares by bits: NaN is equal to itself.
func same(a, b Forecast) bool {
	return a.From.Equal(b.From) && slices.EqualFunc(a.Ahead, b.Ahead, func(x, y Ahead) bool {
		bits := func(v float64) uint64 { return math.Float64bits(v) }
		return bits(x.Median) == bits(y.Median) && bits(x.Recent.Error) == bits(y.Recent.Error) &&
			bits(x.Recent.Persistence) == bits(y.Recent.Persistence) &&
			slices.EqualFunc(x.Quantiles, y.Quantiles, func(v, w float64) bool { return bits(v) == bits(w) })
	})
}

// TestContract is the contract of every model.
func TestContract(t *testing.T) {
	for _, name := range Names {
		t.Run(name, func(t *testing.T) {
			for what, test := range map[string]func(*testing.T, string){
				"same seed, same answer":                   sameSeedSameAnswer,
				"the future cannot be seen":                futureIsUnseen,
				"quantiles are ordered":                    quantilesAreOrdered,
				"missing samples are bridged":              missingIsBridged,
				"missing is not zero":                      missingIsNotZero,
				"silence is no data":                       silenceIsNoData,
				"new samples count":                        newSamplesCount,
				"forecasting changes nothing":              forecastingChangesNothing,
				"it records its errors":                    recordsItsErrors,
				"the quantiles cover what they claim":      quantilesCover,
				"the past is not taken":                    pastIsRefused,
				"cancelled fitting ends":                   cancelledFitEnds,
				"a fitted model replays to the same place": replayIsTheSame,
			} {
				t.Run(what, func(t *testing.T) { test(t, name) })
			}
		})
	}
}

func sameSeedSameAnswer(t *testing.T, name string) {
	history := noisyDays(400, 1)
	a, b := fitted(t, name, history), fitted(t, name, history)
	now := history.At(399)
	if x, y := mustForecast(t, a, now), mustForecast(t, b, now); !same(x, y) {
		t.Errorf("%+v\n%+v", x, y)
	}
}

// futureIsUnseen changes everything after a bin: forecasts up to that bin must be the same to
// the bit, scaling, fitting and calibration included.
func futureIsUnseen(t *testing.T, name string) {
	frame := noisyDays(460, 2)
	const from, cut = 400, 430
	changed := NewFrame("load", frame.Start, frame.Step, frame.Target())
	for i := cut; i < frame.Bins(); i++ {
		changed.Rows[i][0] = 1000 - 3*changed.Rows[i][0]
	}
	plan := Plan{Task: contractTask, From: from, Refit: 20}
	walk := func(f Frame) Walk {
		w, err := WalkForward(context.Background(), f, plan, contractModel(t, name))
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	a, b := walk(frame), walk(changed)
	for i := range cut - from {
		if !same(a.Answers[i], b.Answers[i]) {
			t.Fatalf("bin %d saw what came after bin %d", from+i, cut-1)
		}
	}
	if name != "seasonal" && same(a.Answers[cut-from], b.Answers[cut-from]) {
		t.Error("a change of the present is not seen either: the test sees nothing")
	}
}

func quantilesAreOrdered(t *testing.T, name string) {
	frame := noisyDays(460, 3)
	w, err := WalkForward(context.Background(), frame, Plan{Task: contractTask, From: 400}, contractModel(t, name))
	if err != nil {
		t.Fatal(err)
	}
	for i, answer := range w.Answers {
		for _, a := range answer.Ahead {
			if !slices.IsSorted(a.Quantiles) || a.Quantiles[contractTask.median()] != a.Median ||
				len(a.Quantiles) != len(contractTask.Levels) {
				t.Fatalf("bin %d: %+v", i, a)
			}
		}
	}
}

func missingIsBridged(t *testing.T, name string) {
	frame := noisyDays(450, 4)
	rng := rand.New(rand.NewPCG(4, 4))
	for i := range frame.Rows {
		if rng.Float64() < 0.1 || (i >= 200 && i < 230) {
			frame.Rows[i][0] = math.NaN()
		}
	}
	frame.Rows[420][0], frame.Rows[421][0] = math.NaN(), math.NaN()
	f := fitted(t, name, frame.Slice(0, 420))
	for bin := 420; bin < 450; bin++ {
		if err := f.Observe(frame.At(bin), frame.Rows[bin]...); err != nil {
			t.Fatal(err)
		}
		for _, a := range mustForecast(t, f, frame.At(bin)).Ahead {
			if !(a.Median > 10 && a.Median < 30) {
				t.Fatalf("bin %d: %v, load is 15 to 25", bin, a.Median)
			}
		}
	}
}

// missingIsNotZero omits bins instead of marking them, which must give the same result, and
// another one than zeros.
func missingIsNotZero(t *testing.T, name string) {
	history := noisyDays(400, 5)
	marked, left, zero := fitted(t, name, history), fitted(t, name, history), fitted(t, name, history)
	for bin := 400; bin < 402; bin++ {
		if err := errors.Join(marked.Observe(history.At(bin), math.NaN()), zero.Observe(history.At(bin), 0)); err != nil {
			t.Fatal(err)
		}
	}
	at := history.At(402)
	if err := errors.Join(marked.Observe(at, 20), left.Observe(at, 20), zero.Observe(at, 20)); err != nil {
		t.Fatal(err)
	}
	a, b, c := mustForecast(t, marked, at), mustForecast(t, left, at), mustForecast(t, zero, at)
	if !same(a, b) {
		t.Error("a bin left out is not a bin marked as missing")
	}
	if same(a, c) {
		t.Error("a missing bin is taken for zero")
	}
}

func silenceIsNoData(t *testing.T, name string) {
	history := noisyDays(400, 6)
	f := fitted(t, name, history)
	if _, err := f.Forecast(history.At(399 + contractTask.longest() + 1)); !errors.Is(err, ErrNoData) {
		t.Errorf("an answer from old samples: %v", err)
	}
	for bin := 400; bin < 400+contractTask.longest()+1; bin++ {
		if err := f.Observe(history.At(bin), math.NaN()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.Forecast(history.At(400 + contractTask.longest())); !errors.Is(err, ErrNoData) {
		t.Errorf("an answer from nothing: %v", err)
	}
	unfitted, err := NewForecaster(contractModel(t, name), contractTask)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unfitted.Forecast(epoch); !errors.Is(err, ErrNoData) {
		t.Errorf("unfitted: %v", err)
	}
	if err := unfitted.Observe(epoch, 1); err == nil {
		t.Error("observes before it was fitted")
	}
}

func newSamplesCount(t *testing.T, name string) {
	history := noisyDays(400, 7)
	f := fitted(t, name, history)
	before := mustForecast(t, f, history.At(399))
	if err := f.Observe(history.At(400), 40); err != nil {
		t.Fatal(err)
	}
	after := mustForecast(t, f, history.At(400))
	if !after.From.Equal(history.At(400)) || slices.Equal(before.Ahead[0].Quantiles, after.Ahead[0].Quantiles) {
		t.Errorf("%+v then %+v", before, after)
	}
}

func forecastingChangesNothing(t *testing.T, name string) {
	history := noisyDays(400, 8)
	f := fitted(t, name, history)
	a := mustForecast(t, f, history.At(399))
	if b := mustForecast(t, f, history.At(399)); !same(a, b) {
		t.Error("the second answer differs from the first")
	}
}

func recordsItsErrors(t *testing.T, name string) {
	frame := noisyDays(500, 9)
	f := fitted(t, name, frame.Slice(0, 400))
	if r := mustForecast(t, f, frame.At(399)).Ahead[0].Recent; r.Samples != 0 || !math.IsNaN(r.Skill()) {
		t.Errorf("it is judged by what it was taught: %+v", r)
	}
	for bin := 400; bin < 500; bin++ {
		if err := f.Observe(frame.At(bin), frame.Rows[bin]...); err != nil {
			t.Fatal(err)
		}
	}
	for h, a := range mustForecast(t, f, frame.At(499)).Ahead {
		r := a.Recent
		if want := 100 - contractTask.Horizons[h]; r.Samples != want || !(r.Error > 0) || !(r.Persistence > 0) || !(r.Covered > 0.5) ||
			math.IsNaN(r.Skill()) {
			t.Errorf("horizon %d: %+v", h, r)
		}
		if name == "persistence" && r.Skill() != 0 {
			t.Errorf("persistence has a skill of %v over itself", r.Skill())
		}
	}
}

func quantilesCover(t *testing.T, name string) {
	frame := noisyDays(1600, 10)
	plan := Plan{Task: contractTask, From: 800}
	w, err := WalkForward(context.Background(), frame, plan, contractModel(t, name))
	if err != nil {
		t.Fatal(err)
	}
	scores, err := Score(frame, plan, []Walk{w})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range scores[0].Horizons {
		if math.Abs(a.Inside-a.Claimed) > 0.06 {
			t.Errorf("%v ahead: %.3f of outcomes inside, claimed %.3f", a.Ahead, a.Inside, a.Claimed)
		}
	}
}

func pastIsRefused(t *testing.T, name string) {
	history := noisyDays(400, 11)
	f := fitted(t, name, history)
	if err := f.Observe(history.At(399), 1); err == nil {
		t.Error("a sample of the past was taken")
	}
	if err := f.Observe(history.At(400), math.Inf(1)); err == nil {
		t.Error("an infinite sample was taken")
	}
	if err := f.Observe(history.At(400), 1, 2); err == nil {
		t.Error("two samples of one series were taken")
	}
	if err := f.Observe(history.At(10_000_000), 1); err == nil {
		t.Error("a sample of years later was taken")
	}
}

func cancelledFitEnds(t *testing.T, name string) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := WalkForward(ctx, noisyDays(460, 12), Plan{Task: contractTask, From: 400}, contractModel(t, name))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func replayIsTheSame(t *testing.T, name string) {
	history := noisyDays(400, 13)
	f := fitted(t, name, history)
	before := mustForecast(t, f, history.At(399))
	if err := f.Replay(history); err != nil {
		t.Fatal(err)
	}
	if after := mustForecast(t, f, history.At(399)); !same(before, after) {
		t.Error("the same past leads elsewhere")
	}
}
