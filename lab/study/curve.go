package study

import "math"

// MeanCurve is the mean of the cell's evaluations and losses after equal numbers of steps. Runs
// evaluate at the ends of their episodes: the value at a place is a run's first evaluation from
// there on.
func (r *Report) MeanCurve(c Cell) (steps, evaluations, losses []float64) {
	places := 0
	for _, o := range c.Outcomes {
		places = max(places, len(o.Curve))
	}
	for i := range places {
		at := float64(r.Steps) * float64(i+1) / float64(places)
		var evaluation, loss mean
		for _, o := range c.Outcomes {
			k := 0
			for k < len(o.Curve)-1 && float64(o.Curve[k].Steps) < at {
				k++
			}
			if k < len(o.Curve) {
				evaluation.add(float64(o.Curve[k].Evaluation))
				loss.add(float64(o.Curve[k].Loss))
			}
		}
		steps, evaluations, losses = append(steps, at), append(evaluations, evaluation.value()), append(losses, loss.value())
	}
	return steps, evaluations, losses
}

// mean of the values that are not NaN.
type mean struct {
	sum float64
	n   int
}

func (m *mean) add(v float64) {
	if !math.IsNaN(v) {
		m.sum += v
		m.n++
	}
}

func (m *mean) value() float64 { return m.sum / float64(m.n) }

var sparks = []rune("▁▂▃▄▅▆▇█")

// spark is the cell's mean curve in at most width letters, on one scale for all cells.
func (r *Report) spark(c Cell, width int) string {
	low, high := math.Inf(1), math.Inf(-1)
	for _, cell := range r.Cells {
		_, evaluations, _ := r.MeanCurve(cell)
		for _, v := range evaluations {
			if !math.IsNaN(v) {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	_, evaluations, _ := r.MeanCurve(c)
	n := min(width, len(evaluations))
	out := make([]rune, 0, n)
	for i := range n {
		v := evaluations[(i+1)*len(evaluations)/n-1]
		letter := ' '
		if !math.IsNaN(v) {
			letter = sparks[min(int((v-low)/max(high-low, 1e-9)*float64(len(sparks))), len(sparks)-1)]
		}
		out = append(out, letter)
	}
	return string(out)
}
