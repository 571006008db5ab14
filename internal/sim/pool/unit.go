package pool

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// unit is how a quantity is written. Quantities are numbers here: bytes, seconds, cores, or
// the index of a word.
type unit struct {
	is     string // "a time"
	sample string // "45s"
	parse  func(string) (float64, bool)
	format func(float64) string
	words  bool // the index of one of some words; any other unit has a range
}

var (
	number = unit{is: "a number", parse: parseNumber, format: formatNumber}
	count  = unit{is: "a whole number", format: formatNumber, parse: func(s string) (float64, bool) {
		n, err := strconv.Atoi(s)
		return float64(n), err == nil
	}}
	coreUnit   = unit{is: "cores", sample: "250m or 0.25", parse: parseCores, format: formatNumber}
	memoryUnit = unit{is: "memory", sample: "16Gi", parse: parseMemory, format: formatMemory}
	span       = unit{is: "a time", sample: "45s", parse: parseSpan, format: formatSpan}

	// spanOrNever is -1 for never.
	spanOrNever = unit{is: "never, or a time", sample: "30s", parse: func(s string) (float64, bool) {
		if s == never {
			return -1, true
		}
		return parseSpan(s)
	}, format: func(x float64) string {
		if x < 0 {
			return never
		}
		return formatSpan(x)
	}}
)

const never = "never"

// word is one of some words, as its index.
func word(words ...string) unit {
	return unit{words: true, is: "one of " + strings.Join(words, ", "), parse: func(s string) (float64, bool) {
		i := slices.Index(words, s)
		return float64(i), i >= 0
	}, format: func(x float64) string {
		if i := int(x); i >= 0 && i < len(words) {
			return words[i]
		}
		return formatNumber(x)
	}}
}

// parseNumber accepts plain decimal numbers only: no NaN, infinities, hexadecimal or
// underscores.
func parseNumber(s string) (float64, bool) {
	if s == "" || strings.Trim(s, "+-.0123456789eE") != "" {
		return 0, false
	}
	x, err := strconv.ParseFloat(s, 64)
	return x, err == nil && !math.IsInf(x, 0)
}

func formatNumber(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

func parseCores(s string) (float64, bool) {
	number, milli := strings.CutSuffix(s, "m")
	x, ok := parseNumber(number)
	if milli {
		x /= 1000
	}
	return x, ok
}

// memoryUnits are those of Kubernetes' quantities, the largest binary one first.
var memoryUnits = []struct {
	name  string
	bytes float64
}{{"Ti", 1 << 40}, {"Gi", gib}, {"Mi", mib}, {"Ki", 1 << 10}, {"T", 1e12}, {"G", 1e9}, {"M", 1e6}, {"k", 1e3}}

func parseMemory(s string) (float64, bool) {
	factor := 1.0
	for _, u := range memoryUnits {
		if text, has := strings.CutSuffix(s, u.name); has {
			s, factor = text, u.bytes
			break
		}
	}
	x, ok := parseNumber(s)
	return math.Round(x * factor), ok
}

func formatMemory(bytes float64) string {
	for _, u := range memoryUnits[:4] {
		if n := bytes / u.bytes; n >= 1 && n == math.Trunc(n) {
			return formatNumber(n) + u.name
		}
	}
	return strconv.FormatInt(int64(bytes), 10)
}

func parseSpan(s string) (float64, bool) {
	d, err := time.ParseDuration(s)
	return d.Seconds(), err == nil
}

// formatSpan omits zero parts: 1h, not 1h0m0s.
func formatSpan(seconds float64) string {
	s := spanOf(seconds).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// spanOf rounds to nanoseconds, so that a time that is written is read back exactly.
func spanOf(seconds float64) time.Duration { return time.Duration(math.Round(seconds * 1e9)) }

// round6 removes the rounding of products of prices.
func round6(x float64) float64 { return math.Round(x*1e6) / 1e6 }
