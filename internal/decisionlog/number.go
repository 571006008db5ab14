package decisionlog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"
)

// Number is a float64 that survives JSON: wrong values of an exporter or policy must be
// recorded unchanged, so NaN is "NaN", and infinities are "+Inf" and "-Inf".
type Number float64

// MarshalJSON writes the shortest text that reads back to the same number.
func (n Number) MarshalJSON() ([]byte, error) { return appendNumber(nil, float64(n)), nil }

func appendNumber(b []byte, v float64) []byte {
	switch {
	case math.IsNaN(v):
		return append(b, `"NaN"`...)
	case math.IsInf(v, 1):
		return append(b, `"+Inf"`...)
	case math.IsInf(v, -1):
		return append(b, `"-Inf"`...)
	}
	format := byte('f')
	if size := math.Abs(v); size != 0 && (size < 1e-6 || size >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(b, v, format, -1, 64)
}

// UnmarshalJSON is the reverse.
func (n *Number) UnmarshalJSON(text []byte) error {
	switch string(text) {
	case `"NaN"`:
		*n = Number(math.NaN())
		return nil
	case `"+Inf"`:
		*n = Number(math.Inf(1))
		return nil
	case `"-Inf"`:
		*n = Number(math.Inf(-1))
		return nil
	}
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return fmt.Errorf("%s must be a number, \"NaN\", \"+Inf\" or \"-Inf\"", text)
	}
	*n = Number(v)
	return nil
}

// Seconds is a duration that JSON holds in seconds, to the nanosecond up to a
// hundred days.
type Seconds time.Duration

// MarshalJSON writes seconds.
func (s Seconds) MarshalJSON() ([]byte, error) {
	return appendNumber(nil, time.Duration(s).Seconds()), nil
}

// UnmarshalJSON reads seconds, within what a duration can hold.
func (s *Seconds) UnmarshalJSON(text []byte) error {
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil || !(math.Abs(v) < math.MaxInt64/1e9) {
		return fmt.Errorf("%s must be seconds", text)
	}
	*s = Seconds(math.Round(v * 1e9))
	return nil
}

// Sample is one measured value and its age when it was observed. The zero Sample is absent. In
// JSON it is [value, age in seconds].
type Sample struct {
	Value   float64
	Age     time.Duration
	Present bool
}

// IsZero leaves absent samples out.
func (s Sample) IsZero() bool { return !s.Present }

// MarshalJSON writes the pair.
func (s Sample) MarshalJSON() ([]byte, error) { return s.append(make([]byte, 0, 48)), nil }

func (s Sample) append(b []byte) []byte {
	b = appendNumber(append(b, '['), s.Value)
	b = appendNumber(append(b, ','), s.Age.Seconds())
	return append(b, ']')
}

// UnmarshalJSON is the reverse.
func (s *Sample) UnmarshalJSON(text []byte) error {
	if bytes.Equal(text, []byte("null")) {
		*s = Sample{}
		return nil
	}
	var pair []json.RawMessage
	var v Number
	var age Seconds
	err := json.Unmarshal(text, &pair)
	if err == nil && len(pair) != 2 {
		err = fmt.Errorf("it has %d", len(pair))
	}
	if err == nil {
		err = v.UnmarshalJSON(pair[0])
	}
	if err == nil {
		err = age.UnmarshalJSON(pair[1])
	}
	if err != nil {
		return fmt.Errorf("a sample must be [value, age in seconds]: %w", err)
	}
	*s = Sample{float64(v), time.Duration(age), true}
	return nil
}
