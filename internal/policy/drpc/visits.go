package drpc

import "slices"

// VisitCounts counts the states that a teacher visited in training, in cells of a coarse
// grid over local features. States of all services count together: features are
// ratios, so experience with one service applies to others.
type VisitCounts struct {
	Rare   uint32 // visits up to which a cell is rarely visited
	counts map[cell]uint32
}

type cell [Locals]int8

// NewVisitCounts starts with no visits.
func NewVisitCounts() *VisitCounts { return &VisitCounts{Rare: 3, counts: map[cell]uint32{}} }

// Squashed features from 0 to about 3.5 fall into cells of this width.
const cellWidth = 0.5

func cellOf(l *Local) (c cell) {
	for i, v := range l {
		c[i] = int8(min(max(v/cellWidth, 0), 100))
	}
	return c
}

// Add counts a state.
func (s *VisitCounts) Add(l *Local) { s.counts[cellOf(l)]++ }

// Novel reports whether a state was rarely visited.
func (s *VisitCounts) Novel(l *Local) bool { return s.counts[cellOf(l)] <= s.Rare }

// Cells is the number of visited cells.
func (s *VisitCounts) Cells() int { return len(s.counts) }

// Table is the counts as numbers, cell by cell in a fixed order, for the model file.
func (s *VisitCounts) Table() []float32 {
	cells := make([]cell, 0, len(s.counts))
	for c := range s.counts {
		cells = append(cells, c)
	}
	slices.SortFunc(cells, func(a, b cell) int { return slices.Compare(a[:], b[:]) })
	var table []float32
	for _, c := range cells {
		for _, v := range c {
			table = append(table, float32(v))
		}
		table = append(table, float32(s.counts[c]))
	}
	return table
}

// VisitCountsFrom reads the counts from a table.
func VisitCountsFrom(table []float32) *VisitCounts {
	s := NewVisitCounts()
	for row := range slices.Chunk(table, Locals+1) {
		if len(row) <= Locals {
			break
		}
		var c cell
		for i := range c {
			c[i] = int8(row[i])
		}
		s.counts[c] = uint32(row[Locals])
	}
	return s
}
