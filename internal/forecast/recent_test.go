package forecast

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestRingAgainstSorting compares the ring with sorting all its values.
func TestRingAgainstSorting(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	const length = 200
	w := sortedRing{ring: newRing(length)}
	var all []float64
	for i := range 7 * length {
		v := math.Round(10 * rng.NormFloat64()) // with ties
		w.add(v)
		all = append(all, v)
		if i%97 != 0 {
			continue
		}
		want := slices.Sorted(slices.Values(all[max(0, len(all)-length):]))
		if !slices.Equal(w.sorted, want) {
			t.Fatalf("after %d values", i+1)
		}
		if math.Abs(w.mean()-mean(want)) > 1e-9 {
			t.Fatalf("mean %v, want %v", w.mean(), mean(want))
		}
	}
}

func TestQuantileOfResiduals(t *testing.T) {
	w := sortedRing{ring: newRing(1000)}
	for i := range 99 {
		w.add(float64(i + 1))
	}
	for level, want := range map[float64]float64{0.05: 5, 0.1: 10, 0.9: 90, 0.95: 95} {
		if got := w.quantile(level); got != want {
			t.Errorf("level %v: %v, want %v", level, got, want)
		}
	}
}

// TestRecordJudgesEachPromiseOnce: counts computed by hand.
func TestRecordJudgesEachPromiseOnce(t *testing.T) {
	task := Task{Horizons: []int{1, 3}, Levels: []float64{0.1, 0.5, 0.9}}
	r := newRecord(task)
	values := []float64{1, 2, 4, 8, math.NaN(), 32}
	for _, v := range values {
		r.settle(v)
		if math.IsNaN(v) {
			r.pass()
			continue
		}
		r.promise([][]float64{{v, v, v}, {v, v, v}}, v, true)
	}
	// One step: 1->2, 2->4, 4->8; the bin of 32 follows one without a forecast. Three steps:
	// 1->8; 4->32 since the forecast of bin 3 is due in bin 6.
	one, three := r.recent(0), r.recent(1)
	if one.Samples != 3 || math.Abs(one.Error-(1+2+4)/3.0) > 1e-12 {
		t.Errorf("one step: %+v", one)
	}
	if three.Samples != 2 || math.Abs(three.Error-(7+28)/2.0) > 1e-12 || three.Error != three.Persistence {
		t.Errorf("three steps: %+v", three)
	}
	if !math.IsNaN(one.Skill()) {
		t.Errorf("a skill of %v from 3 samples", one.Skill())
	}
}

func TestSkill(t *testing.T) {
	for name, row := range map[string]struct {
		r    Recent
		want float64
	}{
		"half the error":       {Recent{Samples: 100, Error: 1, Persistence: 2}, 0.5},
		"no better":            {Recent{Samples: 100, Error: 2, Persistence: 2}, 0},
		"twice the error":      {Recent{Samples: 100, Error: 4, Persistence: 2}, -1},
		"nothing to be better": {Recent{Samples: 100}, 0},
	} {
		if got := row.r.Skill(); got != row.want {
			t.Errorf("%s: %v, want %v", name, got, row.want)
		}
	}
}
