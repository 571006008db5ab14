package result

import (
	"bytes"
	"math"
	"strconv"
)

// Number is a float64 for JSON: NaN is null there. It is written with nine significant digits,
// more than any of our figures needs and fewer than the order of a sum can change.
type Number float64

// MarshalJSON writes the number or null.
func (n Number) MarshalJSON() ([]byte, error) {
	v := float64(n)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return []byte("null"), nil
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 9, 64), 64)
	if err != nil {
		return nil, err
	}
	format := byte('f')
	if size := math.Abs(rounded); size != 0 && (size < 1e-6 || size >= 1e15) {
		format = 'e'
	}
	return strconv.AppendFloat(nil, rounded, format, -1, 64), nil
}

// UnmarshalJSON reads null as not a number.
func (n *Number) UnmarshalJSON(text []byte) error {
	if bytes.Equal(text, []byte("null")) {
		*n = Number(math.NaN())
		return nil
	}
	v, err := strconv.ParseFloat(string(text), 64)
	*n = Number(v)
	return err
}
