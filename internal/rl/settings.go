package rl

import (
	"encoding"
	"fmt"
	"strconv"
	"strings"
)

// Setting is one field of an agent's configuration, by its name in flags and studies.
type Setting struct {
	Key, About string
	Value      any // pointer to the field
}

// Set reads the field from text.
func (s Setting) Set(text string) error {
	var err error
	switch field := s.Value.(type) {
	case *float64:
		var v float64
		if v, err = strconv.ParseFloat(text, 64); err != nil {
			return fmt.Errorf("%s=%s: must be a number", s.Key, text)
		}
		*field = v
	case *int:
		// A float first, for 1e6.
		var v float64
		if v, err = strconv.ParseFloat(text, 64); err != nil || v != float64(int(v)) {
			return fmt.Errorf("%s=%s: must be a whole number", s.Key, text)
		}
		*field = int(v)
	case *bool:
		var v bool
		if v, err = strconv.ParseBool(text); err != nil {
			return fmt.Errorf("%s=%s: must be true or false", s.Key, text)
		}
		*field = v
	case *[]int:
		var widths []int
		for part := range strings.SplitSeq(text, "x") {
			v, err := strconv.Atoi(part)
			if err != nil {
				return fmt.Errorf("%s=%s: must be whole numbers joined by x, like 64x64", s.Key, text)
			}
			widths = append(widths, v)
		}
		*field = widths
	case encoding.TextUnmarshaler:
		if err := field.UnmarshalText([]byte(text)); err != nil {
			return fmt.Errorf("%s=%s: %w", s.Key, text, err)
		}
	default:
		panic(fmt.Sprintf("rl: setting %s is a %T", s.Key, s.Value))
	}
	return nil
}

// String is the field as Set reads it.
func (s Setting) String() string {
	switch field := s.Value.(type) {
	case *float64:
		return strconv.FormatFloat(*field, 'g', -1, 64)
	case *int:
		return strconv.Itoa(*field)
	case *bool:
		return strconv.FormatBool(*field)
	case *[]int:
		return strings.Trim(strings.ReplaceAll(fmt.Sprint(*field), " ", "x"), "[]")
	case encoding.TextMarshaler:
		text, _ := field.MarshalText()
		return string(text)
	}
	return ""
}

// Describe writes settings as key=value, to identify configurations.
func Describe(settings []Setting) string {
	var parts []string
	for _, s := range settings {
		parts = append(parts, s.Key+"="+s.String())
	}
	return strings.Join(parts, ",")
}

// faults of a configuration, all of which are reported at once.
type faults []error

// check adds a fault if a value is bad.
func (f *faults) check(bad bool, key string, value any, must string) {
	if bad {
		*f = append(*f, fmt.Errorf("%s is %v, must be %s", key, value, must))
	}
}
