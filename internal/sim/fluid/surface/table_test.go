package surface

import (
	"math"
	"testing"
)

// The mean sojourn of processor sharing is 1/(1-rho), whatever the variation. A
// hair more than one core, so that the mean is measured and not imposed.
func TestSharedStationHasTheMeanOfProcessorSharing(t *testing.T) {
	for _, cv := range []float64{0, 1, 2} {
		s := station{cores: 1.0001, cv: cv, load: .7}
		if got, want := meanOf(s.measure(1, 1, 200_000)), 1/(1-.7); math.Abs(got/want-1) > .04 {
			t.Errorf("CV %v: mean sojourn %.3f, closed form %.3f", cv, got, want)
		}
	}
}

// A job that needs several periods' quota of an otherwise idle replica.
func TestQuotaStationStandsStillBetweenQuotas(t *testing.T) {
	s := station{cores: .2, load: .001, period: 2} // quota .4 per period of 2: demand 1 runs in three periods
	c := s.measure(1, 1, 20_000)
	if got := meanOf(c); got < 3 || got > 4.7 {
		t.Errorf("mean sojourn %.3f, must lie between two full periods and two and the wait for the first", got)
	}
}

// The embedded table is what TestGenerate writes. A whole run takes many minutes, so
// a few cells are compared; rounding may differ between architectures.
func TestTheEmbeddedTableIsOurs(t *testing.T) {
	all := grid()
	var cells [LoadPoints]Cell
	for _, at := range []struct {
		index int
		fill  func()
	}{
		{SharedIndex(0, 2, 1), func() { Embedded().Shared(1, 1, &cells) }},
		{SharedCells() + QuotaIndex(1, 5, 2, 1), func() { Embedded().Quota(.2, .1, 1, &cells) }},
		{SharedCells() + QuotaIndex(7, 8, 3, 1), func() { Embedded().Quota(2, 1, 2, &cells) }},
	} {
		at.fill()
		fresh := all[at.index].measure(tableSeed, uint64(at.index), tableVisits)
		for k, v := range fresh.Parts {
			v = max(v, 1./16) // the smallest that the table holds
			if got := cells[1].Parts[k]; math.Abs(got/v-1) > 1e-3 {
				t.Errorf("cell %d, part %d: the table says %v, a fresh run %v; run go generate", at.index, k, got, v)
			}
		}
	}
}
