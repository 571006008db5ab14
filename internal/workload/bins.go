package workload

import (
	"fmt"
	"time"
)

// maxBins bounds the memory of a trace, whatever its timestamps: half a year of seconds. A
// stray timestamp far away is a fault instead of gigabytes.
const maxBins = 1 << 24

// bins collects readings by time, in any order.
type bins struct {
	step  time.Duration
	most  int64
	first int64 // index of cells[0] on the trace's clock
	cells []cell
	low   int64 // readings fell into the bins [low, high];
	high  int64 // the cells may extend beyond
}

type cell struct {
	sum    float64 // of values, each times its weight
	weight float64 // readings, or the part of the bin they cover; 0 = none
}

// add adds a reading at an instant, in nanoseconds.
func (b *bins) add(at int64, value, weight float64) error {
	c, err := b.at(floorDiv(at, int64(b.step)))
	if err != nil {
		return err
	}
	c.sum += value * weight
	c.weight += weight
	return nil
}

// addSpan adds a reading that is valid over [from, to), divided among the bins it overlaps.
func (b *bins) addSpan(from, to int64, value float64) error {
	step := int64(b.step)
	for i := floorDiv(from, step); i*step < to; i++ {
		c, err := b.at(i)
		if err != nil {
			return err
		}
		weight := float64(min(to, (i+1)*step)-max(from, i*step)) / float64(step)
		c.sum += value * weight
		c.weight += weight
	}
	return nil
}

func (b *bins) at(i int64) (*cell, error) {
	if len(b.cells) == 0 {
		b.first, b.low, b.high = i, i, i
		b.cells = append(b.cells, cell{})
		return &b.cells[0], nil
	}
	low, high := min(i, b.low), max(i, b.high)
	if high-low >= b.most {
		return nil, fmt.Errorf("must lie within %d bins of %v of the other rows", b.most, b.step)
	}
	b.low, b.high = low, high
	switch last := b.first + int64(len(b.cells)) - 1; {
	case i < b.first:
		// Space in front grows in proportion, so that rows in descending order do not cost a
		// copy each; it is trimmed at the end.
		room := min(max(b.first-i, int64(len(b.cells))), b.most)
		cells := make([]cell, room+int64(len(b.cells)))
		copy(cells[room:], b.cells)
		b.cells, b.first = cells, b.first-room
	case i > last:
		for int64(len(b.cells)) <= i-b.first {
			b.cells = append(b.cells, cell{})
		}
	}
	return &b.cells[i-b.first], nil
}

// trimmed returns the cells between the first and the last that have a
// reading, and the index of the first.
func (b *bins) trimmed() (first int64, cells []cell) {
	from, to := 0, len(b.cells)
	for from < to && b.cells[from].weight == 0 {
		from++
	}
	for to > from && b.cells[to-1].weight == 0 {
		to--
	}
	return b.first + int64(from), b.cells[from:to]
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// blank is a run of bins without a reading.
type blank struct{ from, to int }

// blanks finds all runs of bins without a reading.
func blanks(cells []cell) []blank {
	var all []blank
	for i := range cells {
		if cells[i].weight != 0 {
			continue
		}
		if len(all) > 0 && all[len(all)-1].to == i {
			all[len(all)-1].to++
		} else {
			all = append(all, blank{i, i + 1})
		}
	}
	return all
}
