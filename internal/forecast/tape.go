package forecast

import "math"

// tape is the history of a model with a window: samples with gaps bridged by the last one
// present, and where the gaps are.
type tape struct {
	rows    [][]float64
	present []bool    // of the target
	first   int64     // ordinal of rows[0]
	keep    int       // rows needed; 0 = all
	before  []float64 // used for a sample before the first present one
	seen    bool      // a sample of the target
}

func (t *tape) add(ordinal int64, row []float64) {
	if len(t.rows) == 0 {
		t.first = ordinal
	}
	if t.keep > 0 && len(t.rows) >= 2*t.keep {
		drop := len(t.rows) - t.keep
		t.rows = append(t.rows[:0], t.rows[drop:]...)
		t.present = append(t.present[:0], t.present[drop:]...)
		t.first += int64(drop)
	}
	last := t.before
	if n := len(t.rows); n > 0 {
		last = t.rows[n-1]
	}
	filled := make([]float64, len(row))
	for j, v := range row {
		if math.IsNaN(v) {
			v = last[j]
		}
		filled[j] = v
	}
	present := !math.IsNaN(row[0])
	t.rows, t.present = append(t.rows, filled), append(t.present, present)
	t.seen = t.seen || present
}

func (t *tape) target(bin int) float64 { return t.rows[bin][0] }
