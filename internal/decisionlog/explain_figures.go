package decisionlog

import (
	"fmt"
	"math"
	"time"
)

// DescribeReplicas in words.
func DescribeReplicas(n int) string {
	if n == 1 {
		return "1 replica"
	}
	return fmt.Sprintf("%d replicas", n)
}

func cores(v float64) string {
	if v == 1 {
		return "1 core"
	}
	return digits(v) + " cores"
}

func mebibytes(v int64) string { return digits(float64(v)/(1<<20)) + " MiB" }

func orNone[T comparable](v T, write func(T) string) string {
	var none T
	if v == none {
		return "none"
	}
	return write(v)
}

func aLimit[T comparable](what string, v T, write func(T) string) string {
	var none T
	if v == none {
		return "no " + what + " limit"
	}
	return fmt.Sprintf("a %s limit of %s", what, write(v))
}

func percent(share float64) string {
	v := 100 * share
	if math.Abs(v) >= 10 {
		return fmt.Sprintf("%.0f %%", v)
	}
	return fmt.Sprintf("%.2g %%", v)
}

// millis writes a latency.
func millis(seconds float64) string {
	if seconds >= 10 {
		return digits(seconds) + " s"
	}
	return digits(1e3*seconds) + " ms"
}

// span writes how old or how far ahead something is.
func span(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return digits(d.Seconds()) + " s"
	case d < 2*time.Hour:
		return digits(d.Minutes()) + " min"
	}
	return digits(d.Hours()) + " h"
}

// digits writes three significant digits without an exponent for thousands.
func digits(v float64) string {
	if math.Abs(v) >= 1000 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}
