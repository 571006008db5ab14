package rl

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Schedule is a number that changes during training.
type Schedule struct {
	Shape    Shape
	From, To float64
	Steps    int // until To is reached, if linear; until 1/e of the way is left, if exponential
}

// Shape is the way from one number to the other.
type Shape string

// The shapes.
const (
	Constant    Shape = "constant"
	Linear      Shape = "linear"
	Exponential Shape = "exponential"
)

// Always is a number that does not change.
func Always(v float64) Schedule { return Schedule{Shape: Constant, From: v, To: v} }

// At is the number after the given steps.
func (s Schedule) At(step int) float64 {
	switch s.Shape {
	case Linear:
		return s.From + (s.To-s.From)*min(1, float64(step)/float64(s.Steps))
	case Exponential:
		return s.To + (s.From-s.To)*math.Exp(-float64(step)/float64(s.Steps))
	}
	return s.From
}

// Validate reports a fault, given the range of both numbers.
func (s Schedule) Validate(low, high float64) error {
	in := func(v float64) bool { return v >= low && v <= high }
	switch {
	case s.Shape != Constant && s.Shape != Linear && s.Shape != Exponential:
		return fmt.Errorf("shape %q must be constant, linear or exponential", s.Shape)
	case !in(s.From) || !in(s.To):
		return fmt.Errorf("goes from %v to %v, must stay within %v and %v", s.From, s.To, low, high)
	case s.Shape != Constant && s.Steps < 1:
		return fmt.Errorf("takes %d steps, must be at least 1", s.Steps)
	}
	return nil
}

// MarshalText writes linear:FROM:TO:STEPS, or a number if it is constant.
func (s Schedule) MarshalText() ([]byte, error) {
	if s.Shape == Constant {
		return fmt.Append(nil, s.From), nil
	}
	return fmt.Appendf(nil, "%s:%v:%v:%d", s.Shape, s.From, s.To, s.Steps), nil
}

// UnmarshalText reads what MarshalText writes.
func (s *Schedule) UnmarshalText(text []byte) error {
	if v, err := strconv.ParseFloat(string(text), 64); err == nil {
		*s = Always(v)
		return nil
	}
	parts := strings.Split(string(text), ":")
	fault := fmt.Errorf("schedule %q must be a number, linear:FROM:TO:STEPS or exponential:FROM:TO:STEPS", text)
	if len(parts) != 4 {
		return fault
	}
	from, err1 := strconv.ParseFloat(parts[1], 64)
	to, err2 := strconv.ParseFloat(parts[2], 64)
	steps, err3 := strconv.Atoi(parts[3])
	shape := Shape(parts[0])
	if err1 != nil || err2 != nil || err3 != nil || (shape != Linear && shape != Exponential) {
		return fault
	}
	*s = Schedule{shape, from, to, steps}
	return nil
}
