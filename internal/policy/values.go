package policy

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// The checks say what a value must be; the getters below can then rely on it.

func number(low, high float64) func(string) error {
	return func(s string) error {
		if v, err := strconv.ParseFloat(s, 64); err != nil || math.IsNaN(v) || v < low || v > high {
			return fmt.Errorf("must be a number from %v to %v", low, high)
		}
		return nil
	}
}

func count(low, high int) func(string) error {
	return func(s string) error {
		if v, err := strconv.Atoi(s); err != nil || v < low || v > high {
			return fmt.Errorf("must be a whole number from %d to %d", low, high)
		}
		return nil
	}
}

func span(low, high time.Duration) func(string) error {
	return func(s string) error {
		if v, err := time.ParseDuration(s); err != nil || v < low || v > high {
			return fmt.Errorf("must be a time from %v to %v, like 15s", low, high)
		}
		return nil
	}
}

func oneOf(words ...string) func(string) error {
	return func(s string) error {
		for _, w := range words {
			if s == w {
				return nil
			}
		}
		return fmt.Errorf("must be one of %s", strings.Join(words, ", "))
	}
}

// orOff allows "off" beside what the check allows.
func orOff(check func(string) error) func(string) error {
	return func(s string) error {
		if s == "off" {
			return nil
		}
		if err := check(s); err != nil {
			return fmt.Errorf("%w, or off", err)
		}
		return nil
	}
}

func (v values) isSet(key string) bool { return v[key] != "" }

func (v values) float(key string) float64 {
	f, _ := strconv.ParseFloat(v[key], 64)
	return f
}

func (v values) int(key string) int {
	n, _ := strconv.Atoi(v[key])
	return n
}

func (v values) span(key string) time.Duration {
	d, _ := time.ParseDuration(v[key])
	return d
}
