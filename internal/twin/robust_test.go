package twin

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestALineIsFoundAmongWildPoints(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct {
		name string
		wild float64 // share
		off  float64
	}{
		{"none are wild", 0, 0.01},
		{"a twentieth is wild", 0.05, 0.02},
		{"a fifth is wild", 0.2, 0.05},
	} {
		t.Run(c.name, func(t *testing.T) {
			var x, y []float64
			for range 1000 {
				v := 10 + 90*rng.Float64()
				x = append(x, v)
				w := 0.2 + 0.01*v + 0.01*rng.NormFloat64()
				if rng.Float64() < c.wild {
					w *= 1 + 10*rng.Float64()
				}
				y = append(y, w)
			}
			l := robustLine(x, y)
			near(t, "slope", l.slope, 0.01, 0.01*c.off+0.0002)
			near(t, "base", l.base, 0.2, 0.2*c.off+0.01)
		})
	}
}

func TestALineThroughOneLoadIsItsRatio(t *testing.T) {
	x, y := []float64{4, 4, 4, 4}, []float64{2, 2, 2, 2}
	if l := robustLine(x, y); l.slope != 0.5 || l.base != 0 {
		t.Errorf("got %+v, want all of it per request", l)
	}
}

func TestRatiosFollowTheMix(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var a, b, c, y []float64
	for range 500 {
		a, b, c = append(a, 50+20*rng.Float64()), append(b, 30+20*rng.Float64()), append(c, 10+5*rng.Float64())
		i := len(a) - 1
		y = append(y, 2*a[i]+0.5*c[i]+0.3*rng.NormFloat64())
	}
	y[17], y[230] = math.NaN(), 1e6
	got := callRatios([][]float64{a, b, c}, y, []float64{1, 1, 1})
	for i, want := range []float64{2, 0, 0.5} {
		near(t, "ratio", got[i], want, 0.02)
	}
}

func TestRatiosThatTheMixLeavesOpenLean(t *testing.T) {
	var a, b, y []float64
	for i := range 100 {
		v := 10 + float64(i%10)
		a, b, y = append(a, v), append(b, v), append(y, 0.8*v) // 0.4 calls each, if they are equal
	}
	for _, c := range []struct {
		name string
		lean []float64
		want []float64
	}{
		{"kinds that take as long", []float64{1, 1}, []float64{0.4, 0.4}},
		{"a kind that takes three times as long", []float64{1.5, 0.5}, []float64{0.6, 0.2}},
		{"a kind that takes all of the time calls once only if it cannot be more", []float64{2, 0}, []float64{0.8, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := callRatios([][]float64{a, b}, append([]float64(nil), y...), c.lean)
			near(t, "first", got[0], c.want[0], 0.01)
			near(t, "second", got[1], c.want[1], 0.01)
		})
	}
	full := leanedTo([][]float64{{10}, {10}}, 0.8, []float64{1.9, 0.1})
	near(t, "a call made less than once on average is made at most once by each", full[0], 1, 1e-9)
	near(t, "and what is left goes to the others", full[1], 0.6, 1e-9)
}

func TestChangesAreTellingOnly(t *testing.T) {
	make := func(change float64, at int, noise float64) []cpuRow {
		rng := rand.New(rand.NewPCG(7, 8))
		var rows []cpuRow
		for i := range 2000 {
			rate := 50 + 40*math.Sin(float64(i)/150)
			per := 0.01
			if i >= at {
				per *= change
			}
			rows = append(rows, cpuRow{i, rate, (0.05 + per*rate) * (1 + noise*rng.NormFloat64()), nil})
		}
		for range 20 { // wild ones
			rows[rng.IntN(len(rows))].cpu *= 10
		}
		return rows
	}
	for _, c := range []struct {
		name   string
		rows   []cpuRow
		starts []int
	}{
		{"nothing changed", make(1, 0, 0.1), []int{0}},
		{"a change of 2 % is none", make(1.02, 900, 0.02), []int{0}},
		{"a third more", make(1.33, 900, 0.1), []int{0, 900}},
		{"a fifth less, late", make(0.8, 1800, 0.05), []int{0, 1800}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := changePoints(c.rows)
			if len(got) != len(c.starts) {
				t.Fatalf("stretches begin at %v, want %v", got, c.starts)
			}
			for i := range got {
				near(t, "start", float64(got[i]), float64(c.starts[i]), 12)
			}
		})
	}
}

func TestLognormalTails(t *testing.T) {
	for _, cv := range []float64{0.2, 0.5, 1, 2} {
		sigma := math.Sqrt(math.Log(1 + cv*cv))
		tail := math.Exp(2.326*sigma - sigma*sigma/2)
		near(t, "variation", lognormalCV(tail), cv, 1e-6)
	}
}
