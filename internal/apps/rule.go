package apps

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// rule is a requirement of one figure, in words and in code.
type rule[T any] struct {
	want  string
	parse func(string) (T, bool)
}

// The largest counts allowed in a file. They are far beyond any cluster, and keep a typing
// error from becoming a run that never ends.
const (
	maxCount  = 1_000_000 // workers, backlog places
	maxPods   = 10_000    // replicas of one service, and of all at the start of a run
	maxNodes  = 1_000
	maxTimes  = 1_000 // repetitions of one call
	maxTries  = 100   // retries of one call
	maxFactor = 1e6   // weights, shares, factors, prices
	maxCores  = 1e6
	maxMemory = 1 << 60
)

var (
	positiveDuration = durationRule(false, "a duration above 0, such as 3.1ms")
	anyDuration      = durationRule(true, "a duration of 0 or more, such as 3.1ms")

	positiveCores = coresRule(false, "cores above 0, such as 250m or 0.25")
	anyCores      = coresRule(true, "cores, 0 or more, such as 250m or 0.25")

	positiveMemory = memoryRule(false, "memory above 0, such as 64Mi")
	anyMemory      = memoryRule(true, "memory, 0 or more, such as 64Mi")

	probability = numberRule("a probability above 0 and at most 1", func(x float64) bool { return x > 0 && x <= 1 })
	share       = numberRule("a share above 0 and at most 1, such as 0.2", func(x float64) bool { return x > 0 && x <= 1 })
	percentile  = numberRule("a percentile above 0 and below 100, such as 99", func(x float64) bool { return x > 0 && x < 100 })
	positive    = numberRule("a number above 0", func(x float64) bool { return x > 0 && x <= maxFactor })
	nonNegative = numberRule("a number of 0 or more", func(x float64) bool { return x >= 0 && x <= maxFactor })
	variation   = numberRule("a coefficient of variation of 0 or more (at most 100)", func(x float64) bool { return x >= 0 && x <= 100 })
)

func countRule(least, most int) rule[int] {
	return rule[int]{
		want: fmt.Sprintf("a whole number from %d to %d", least, most),
		parse: func(s string) (int, bool) {
			n, err := strconv.Atoi(s)
			return n, err == nil && n >= least && n <= most
		},
	}
}

func numberRule(want string, ok func(float64) bool) rule[float64] {
	return rule[float64]{want: want, parse: func(s string) (float64, bool) {
		x, finite := parseFinite(s)
		return x, finite && ok(x)
	}}
}

func durationRule(zero bool, want string) rule[time.Duration] {
	return rule[time.Duration]{want: want, parse: func(s string) (time.Duration, bool) {
		d, err := time.ParseDuration(s)
		return d, err == nil && (d > 0 || zero && d == 0)
	}}
}

func coresRule(zero bool, want string) rule[float64] {
	return rule[float64]{want: want, parse: func(s string) (float64, bool) {
		milli := strings.HasSuffix(s, "m")
		x, ok := parseFinite(strings.TrimSuffix(s, "m"))
		if milli {
			x /= 1000
		}
		return x, ok && (x > 0 || zero && x == 0) && x <= maxCores
	}}
}

// memoryUnits are those of Kubernetes' quantities.
var memoryUnits = map[string]float64{
	"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40,
	"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12,
}

func memoryRule(zero bool, want string) rule[int64] {
	return rule[int64]{want: want, parse: func(s string) (int64, bool) {
		// Plain bytes are whole numbers and must be exact: float64 cannot represent them all.
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return n, (n > 0 || zero && n == 0) && n <= maxMemory
		}
		number := strings.TrimRight(s, "KMGTki")
		factor, known := memoryUnits[s[len(number):]]
		x, ok := parseFinite(number)
		bytes := math.Round(x * factor)
		return int64(bytes), known && ok && (bytes >= 1 || zero && x == 0) && bytes <= maxMemory
	}}
}

// parseFinite accepts plain decimal numbers only: no NaN, infinities, hexadecimal or
// underscores.
func parseFinite(s string) (float64, bool) {
	if s == "" || strings.Trim(s, "+-.0123456789eE") != "" {
		return 0, false
	}
	x, err := strconv.ParseFloat(s, 64)
	return x, err == nil && !math.IsInf(x, 0)
}
