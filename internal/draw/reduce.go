package draw

import "math"

// column is the part of a line within one column of pixels.
type column struct {
	first, low, high, last float64
	sum                    float64
	n                      int  // values; 0 = none
	gap                    bool // a gap lies in it
}

// reduced is a line column by column, with the lowest and highest value of each: a spike of one
// second in a month is visible, which it would not be with every n-th point or the mean alone.
func (l *Line) reduced(x extent, columns int) []column {
	out := make([]column, columns)
	place := func(at float64) int {
		return min(max(int(x.share(at)*float64(columns)), 0), columns-1)
	}
	n := l.points()
	for i := range n {
		if math.IsNaN(l.X[i]) {
			continue
		}
		c := place(l.X[i])
		y := l.Y[i]
		if math.IsNaN(y) || math.IsInf(y, 0) {
			out[c].gap = true
			continue
		}
		out[c].add(y)
		if !l.Step {
			continue
		}
		// A step fills the columns until the next point.
		until := columns - 1
		if i+1 < n {
			until = place(l.X[i+1])
		}
		for k := c + 1; k <= until; k++ {
			out[k].add(y)
		}
	}
	return out
}

func (c *column) add(y float64) {
	if c.n == 0 {
		c.first, c.low, c.high = y, y, y
	}
	c.low, c.high, c.last = min(c.low, y), max(c.high, y), y
	c.sum += y
	c.n++
}

func (c *column) mean() float64 {
	// The sum of values near the largest number overflows.
	return min(max(c.sum/float64(c.n), c.low), c.high)
}
