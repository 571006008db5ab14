package decisionlog

import (
	"fmt"
	"math"
	"time"

	"github.com/loadline/loadline"
)

func orNone[T comparable](v T, write func(T) string) string {
	var none T
	if v == none {
		return "none"
	}
	return write(v)
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
		return loadline.DescribeNumber(seconds) + " s"
	}
	return loadline.DescribeNumber(1e3*seconds) + " ms"
}

// span writes how old or how far ahead something is.
func span(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return loadline.DescribeNumber(d.Seconds()) + " s"
	case d < 2*time.Hour:
		return loadline.DescribeNumber(d.Minutes()) + " min"
	}
	return loadline.DescribeNumber(d.Hours()) + " h"
}
