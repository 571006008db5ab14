package forecast

import (
	"math"
	"math/rand/v2"
	"testing"
)

// fanned are outcomes whose distribution is known: exponential, of a mean that depends on the first
// feature by a step or in proportion. The second feature says nothing.
func fanned(seed uint64, n int, mean func(x float64) float64) (rows, y []float32) {
	rng := rand.New(rand.NewPCG(seed, 3))
	for range n {
		x := rng.Float64()
		rows = append(rows, float32(x), float32(rng.Float64()))
		y = append(y, float32(mean(x)*rng.ExpFloat64()))
	}
	return rows, y
}

// TestQuantileModelsRecoverKnownQuantiles: the quantile of an exponential distribution of mean m is
// -m * log(1 - level).
func TestQuantileModelsRecoverKnownQuantiles(t *testing.T) {
	step := func(x float64) float64 {
		if x > 0.6 {
			return 2
		}
		return 0.5
	}
	proportional := func(x float64) float64 { return 0.2 + x }
	for _, c := range []struct {
		name string
		of   interface {
			Fit(rows, y []float32, level float64)
			At(row []float32) float64
		}
		mean  func(x float64) float64
		level float64
		off   float64 // of the quantile
	}{
		{"boosting, a step", &Boost{}, step, 0.9, 0.15},
		{"boosting, a step, far out", &Boost{}, step, 0.98, 0.25},
		{"boosting, in proportion", &Boost{}, proportional, 0.9, 0.2},
		{"a line, in proportion", &Line{}, proportional, 0.9, 0.1},
		{"a line, in proportion, far out", &Line{}, proportional, 0.98, 0.15},
	} {
		rows, y := fanned(1, 10_000, c.mean)
		c.of.Fit(rows, y, c.level)
		for _, x := range []float64{0.1, 0.3, 0.5, 0.7, 0.9} {
			want := -c.mean(x) * math.Log(1-c.level)
			if got := c.of.At([]float32{float32(x), 0.5}); math.Abs(got/want-1) > c.off {
				t.Errorf("%s: quantile of %g at %g is %.2f, want %.2f", c.name, c.level, x, got, want)
			}
		}
		below := 0
		rows, y = fanned(2, 10_000, c.mean)
		for i := range y {
			if float64(y[i]) <= c.of.At(rows[2*i:2*i+2]) {
				below++
			}
		}
		if got := float64(below) / float64(len(y)); math.Abs(got-c.level) > 0.012 {
			t.Errorf("%s: %.3f of other outcomes are below the quantile of %g", c.name, got, c.level)
		}
	}
}

func TestBoostRepeatsItselfInTheSameMemory(t *testing.T) {
	rows, y := fanned(1, 2000, func(x float64) float64 { return 1 + x })
	other, z := fanned(2, 2000, func(x float64) float64 { return 3 - x })
	var once, again Boost
	once.Fit(rows, y, 0.95)
	again.Fit(other, z, 0.9)
	again.Begin(rows, y, 0.95)
	steps := 1
	for !again.Step() {
		steps++
	}
	if want := 2 + boostTrees; steps != want {
		t.Errorf("a fit takes %d steps, want one for each of 2 features and %d trees", steps, boostTrees)
	}
	for i := range y {
		if a, b := once.At(rows[2*i:2*i+2]), again.At(rows[2*i:2*i+2]); a != b {
			t.Fatalf("%v and %v at sample %d after the same fit", a, b, i)
		}
	}
	if n := testing.AllocsPerRun(2, func() { again.Fit(rows, y, 0.95) }); n > 0 {
		t.Errorf("a later fit allocates %.0f times", n)
	}
}

func TestBoostWithoutSamplesIsZero(t *testing.T) {
	var b Boost
	b.Fit(nil, nil, 0.9)
	if b.Fitted() || b.At([]float32{1}) != 0 {
		t.Errorf("forecasts %v without samples", b.At([]float32{1}))
	}
	b.Fit([]float32{1, 1, 1}, []float32{2, 2, 2}, 0.9) // nothing to split by
	if got := b.At([]float32{5}); got != 2 {
		t.Errorf("%v of outcomes that are all 2", got)
	}
}

func TestGrowthAtShareAndLevel(t *testing.T) {
	var g Growth
	g.Count(0, 96)
	g.Count(math.Log(2), 3)
	g.Count(math.Log(4), 1)
	g.Count(-1, 0)
	two, four := math.Log(2), math.Log(4)
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"the level of 0.95", g.AtLevel(0.95), 0},
		{"the level of 0.98", g.AtLevel(0.98), two},
		{"the level of 0.995", g.AtLevel(0.995), four},
		// In excess of 2 are 2 of 96 + 6 + 4: 1.9 %; of 1 are 3 + 3: 5.7 %.
		{"a share of 1.9 %", g.AtShare(0.0195), two},
		{"a share of 6 %", g.AtShare(0.06), 0},
		{"no share", g.AtShare(0), four},
	} {
		if math.Abs(c.got-c.want) > GrowthBin {
			t.Errorf("%s is %.2f, want %.2f", c.name, c.got, c.want)
		}
	}
	var to [3]float64
	g.AtLevels([]float64{0.95, 0.98, 0.995}, to[:])
	if to != [3]float64{g.AtLevel(0.95), g.AtLevel(0.98), g.AtLevel(0.995)} {
		t.Errorf("levels together are %v", to)
	}
}
