package draw

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// niceStep is the smallest of 1, 2, 2.5 and 5 times a power of ten that is at least the wanted
// distance; but not 2.5 itself, which does not suit counts.
func niceStep(wanted float64) float64 {
	if !(wanted > 0) || math.IsInf(wanted, 0) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(wanted)))
	if power == 0 { // below the smallest normal number
		return wanted
	}
	for _, m := range []float64{1, 2, 2.5, 5} {
		if m*power >= wanted*(1-1e-9) && m*power != 2.5 {
			return m * power
		}
	}
	return 10 * power
}

// timeSteps are the usual distances between time ticks.
var timeSteps = []float64{
	1, 2, 5, 10, 15, 30,
	60, 2 * 60, 5 * 60, 10 * 60, 15 * 60, 30 * 60,
	hour, 2 * hour, 3 * hour, 4 * hour, 6 * hour, 12 * hour,
	day, 2 * day, 7 * day, 14 * day,
}

const (
	hour = 3600.0
	day  = 24 * hour
)

func niceTimeStep(wanted float64) float64 {
	if wanted < 1 {
		return niceStep(wanted)
	}
	for _, s := range timeSteps {
		if s >= wanted {
			return s
		}
	}
	return niceStep(wanted/day) * day
}

// ticksOf lists the multiples of a step within a range.
func ticksOf(e extent, step float64) []float64 {
	var ticks []float64
	first := math.Ceil(e.low/step - 1e-9)
	for i := 0; i < 100; i++ { // also ends if the step is below the numbers' precision
		t := (first + float64(i)) * step
		if t > e.high+step*1e-9 {
			break
		}
		if t == 0 {
			t = 0 // not -0
		}
		ticks = append(ticks, t)
	}
	return ticks
}

// timeTicks are at most the given number of ticks and their labels: "13:00", "day 2", "45 s",
// depending on their distance.
func timeTicks(e extent, most int) (ticks []float64, labels []string) {
	step := niceTimeStep((e.high - e.low) / float64(max(1, most)))
	// The last bin of a day begins just before midnight: that tick is included.
	ticks = ticksOf(extent{e.low, e.high + (e.high-e.low)/400}, step)
	for _, t := range ticks {
		labels = append(labels, timeLabel(t, step, e.high-e.low))
	}
	return ticks, labels
}

// axisTicks are the ticks of the axis below: of time, or of a plain unit.
func axisTicks(e extent, unit string, most int) (ticks []float64, labels []string) {
	if unit == "" {
		return timeTicks(e, most)
	}
	ticks = ticksOf(e, niceStep((e.high-e.low)/float64(max(1, most))))
	return ticks, numberLabels(ticks, "")
}

func timeLabel(t, step, span float64) string {
	switch {
	case math.Abs(t) >= 1e15:
		return fmt.Sprintf("%.3g s", t)
	case step >= day:
		return "day " + plain(t/day)
	case span > day*1.5:
		d := math.Floor(t / day)
		if clock := t - d*day; clock > 0 {
			return fmt.Sprintf("%02d:%02d", int(clock/hour), int(math.Mod(clock, hour)/60))
		}
		return "day " + plain(d)
	case span >= 2*hour || step >= 60:
		sign := ""
		if t < 0 {
			sign, t = "-", -t
		}
		return fmt.Sprintf("%s%d:%02d", sign, int(t/hour), int(math.Mod(t, hour)/60))
	case span >= 120:
		sign := ""
		if t < 0 {
			sign, t = "-", -t
		}
		return fmt.Sprintf("%s%d:%02d:%02d", sign, int(t/hour), int(math.Mod(t, hour)/60), int(math.Mod(t, 60)))
	}
	return plain(t) + " s"
}

// numberLabels formats the ticks of one axis consistently: the same decimals, thousands as k or
// M, durations in one unit.
func numberLabels(ticks []float64, unit string) []string {
	highest, step := 0.0, 1.0
	for _, t := range ticks {
		highest = max(highest, math.Abs(t))
	}
	if len(ticks) > 1 {
		step = ticks[1] - ticks[0]
	}
	scale, suffix := 1.0, ""
	switch {
	case unit == "s":
		switch {
		case highest == 0:
		case highest < 1e-3:
			scale, suffix = 1e-6, " µs"
		case highest < 1:
			scale, suffix = 1e-3, " ms"
		default:
			suffix = " s"
		}
	case highest >= 1e15:
		labels := make([]string, len(ticks))
		for i, t := range ticks {
			labels[i] = strconv.FormatFloat(t, 'g', 3, 64)
		}
		return labels
	case highest >= 1e9:
		scale, suffix = 1e9, "G"
	case highest >= 1e6:
		scale, suffix = 1e6, "M"
	case highest >= 1e4:
		scale, suffix = 1e3, "k"
	case unit == "%":
		suffix = " %"
	}
	decimals := 0
	if s := step / scale; s > 0 {
		for decimals < 6 && math.Abs(s-math.Round(s*math.Pow(10, float64(decimals)))/math.Pow(10, float64(decimals))) > s*1e-6 {
			decimals++
		}
	}
	labels := make([]string, len(ticks))
	for i, t := range ticks {
		labels[i] = strconv.FormatFloat(t/scale, 'f', decimals, 64)
		if t == 0 {
			labels[i] = "0"
			if unit == "%" {
				labels[i] += suffix
			}
			continue
		}
		labels[i] += suffix
	}
	return labels
}

// plain writes a number without trailing zeros.
func plain(v float64) string {
	s := strconv.FormatFloat(v, 'f', 3, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}
