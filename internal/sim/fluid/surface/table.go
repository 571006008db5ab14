package surface

import (
	_ "embed"
	"encoding/binary"
	"fmt"
	"math"
	"sync"
)

//go:embed table.bin
var encoded []byte

// Table is the whole surface, decoded. Parts are kept as logarithms, because
// that is what is interpolated across sizes.
type Table struct {
	shared, quota []Cell
}

// A logarithm to base 2 between -4 and 28 in steps of 1/2048 fits 16 bits: a part is off by
// 0.02 % at most. Less than 1/16 of the mean demand is negligible.
const (
	logOffset = 4
	logScale  = 2048
)

// Encode writes cells as they are embedded.
func Encode(shared, quota []Cell) []byte {
	out := make([]byte, 0, 2*channelCount*(len(shared)+len(quota)))
	for _, cells := range [][]Cell{shared, quota} {
		for i := range cells {
			c := &cells[i]
			for _, v := range c.Parts {
				l := math.Round((math.Log2(v) + logOffset) * logScale)
				out = binary.LittleEndian.AppendUint16(out, uint16(min(max(l, 0), math.MaxUint16)))
			}
			out = binary.LittleEndian.AppendUint16(out, uint16(math.Round(c.Throttled*math.MaxUint16)))
		}
	}
	return out
}

// decode reads what Encode wrote; the parts of the result are logarithms to
// base e.
func decode(b []byte) (*Table, error) {
	if want := 2 * channelCount * (SharedCells() + QuotaCells()); len(b) != want {
		return nil, fmt.Errorf("surface table has %d bytes, the grid needs %d: run go generate", len(b), want)
	}
	next := func() float64 {
		v := float64(binary.LittleEndian.Uint16(b))
		b = b[2:]
		return v
	}
	read := func(n int) []Cell {
		cells := make([]Cell, n)
		for i := range cells {
			for k := range cells[i].Parts {
				cells[i].Parts[k] = (next()/logScale - logOffset) * math.Ln2
			}
			cells[i].Throttled = next() / math.MaxUint16
		}
		return cells
	}
	return &Table{shared: read(SharedCells()), quota: read(QuotaCells())}, nil
}

// Embedded is the table of this build. It is decoded once and shared: nothing
// writes to it.
var Embedded = sync.OnceValue(func() *Table {
	t, err := decode(encoded)
	if err != nil {
		panic(err) // a broken build; this package's tests catch it
	}
	return t
})
