package surface

import (
	"math"
	"testing"
)

func meanOf(c Cell) float64 {
	m := 0.0
	for k, v := range c.Parts {
		m += (Edges[k+1] - Edges[k]) * v
	}
	return m
}

func TestTheTableFitsTheGrid(t *testing.T) {
	if _, err := decode(encoded); err != nil {
		t.Fatal(err)
	}
	if _, err := decode(encoded[1:]); err == nil {
		t.Error("a torn table was read without complaint")
	}
}

// Processor sharing is insensitive: the mean is known at every point of the
// surface, between grid points too.
func TestSharedSurfaceHasTheKnownMean(t *testing.T) {
	var cells [LoadPoints]Cell
	for _, cores := range []float64{.2, 1} {
		for _, cv := range []float64{0, .7, 1, 1.5, 2} {
			Embedded().Shared(cores, cv, &cells)
			for l := range cells {
				if got, want := meanOf(cells[l]), 1/cores/(1-Load[l]); math.Abs(got/want-1) > .06 {
					t.Errorf("%v cores, CV %v, load %v: mean %.3f, closed form %.3f", cores, cv, Load[l], got, want)
				}
			}
		}
	}
}

func TestSojournsRiseWithLoadAndFallWithSize(t *testing.T) {
	var small, large [LoadPoints]Cell
	for _, demand := range []float64{.01, .1, .5} {
		Embedded().Quota(.5, demand, 1, &small)
		Embedded().Quota(2, demand, 1, &large)
		for l := range small {
			if meanOf(large[l]) > 1.02*meanOf(small[l]) {
				t.Errorf("demand %v, load %v: two cores are slower than half a core", demand, Load[l])
			}
			if l > 0 && meanOf(small[l]) < .98*meanOf(small[l-1]) {
				t.Errorf("demand %v: faster at load %v than at %v", demand, Load[l], Load[l-1])
			}
			if l > 0 && small[l].Throttled < small[l-1].Throttled-.02 {
				t.Errorf("demand %v: throttled less at load %v than at %v", demand, Load[l], Load[l-1])
			}
		}
	}
}

func TestPartsRise(t *testing.T) {
	for i, c := range Embedded().quota {
		for k := range Levels - 1 {
			if c.Parts[k] > c.Parts[k+1] {
				t.Fatalf("cell %d: part %d is above part %d", i, k, k+1)
			}
		}
	}
}
