package forecast

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Frame is several series on one clock, in bins of equal length. NaN is a missing sample.
type Frame struct {
	Start time.Time     // of the first bin
	Step  time.Duration // length of a bin
	Names []string      // of the series; the first is the one to forecast
	Rows  [][]float64   // one per bin, one value per series
}

// NewFrame makes a frame of one series.
func NewFrame(name string, start time.Time, step time.Duration, values []float64) Frame {
	f := Frame{Start: start, Step: step, Names: []string{name}, Rows: make([][]float64, len(values))}
	for i := range values {
		f.Rows[i] = values[i : i+1 : i+1]
	}
	return f
}

// Validate reports every fault at once.
func (f Frame) Validate() error {
	var faults []error
	if f.Step <= 0 {
		faults = append(faults, fmt.Errorf("forecast: step is %v, must be longer than 0", f.Step))
	}
	if len(f.Names) == 0 {
		faults = append(faults, errors.New("forecast: a frame has no series, must have one"))
	}
	for i, row := range f.Rows {
		if len(row) != len(f.Names) {
			faults = append(faults, fmt.Errorf("forecast: row %d has %d values, must have %d", i, len(row), len(f.Names)))
			break
		}
		for j, v := range row {
			if math.IsInf(v, 0) {
				faults = append(faults, fmt.Errorf("forecast: row %d of %s is infinite, must be finite or missing", i, f.Names[j]))
			}
		}
	}
	return errors.Join(faults...)
}

// Bins is how many bins there are.
func (f Frame) Bins() int { return len(f.Rows) }

// At is when a bin begins.
func (f Frame) At(bin int) time.Time { return f.Start.Add(time.Duration(bin) * f.Step) }

// ordinal numbers a bin from the Unix epoch, so that a season keeps its phase whatever the
// first sample was.
func (f Frame) ordinal(bin int) int64 {
	return f.Start.UnixNano()/int64(f.Step) + int64(bin)
}

// phase is the position of a bin in its season.
func phase(ordinal int64, season int) int {
	return int((ordinal%int64(season) + int64(season)) % int64(season))
}

// Slice is the bins from..to; it shares memory.
func (f Frame) Slice(from, to int) Frame {
	f.Start, f.Rows = f.At(from), f.Rows[from:to:to]
	return f
}

// Target is the series to forecast, copied.
func (f Frame) Target() []float64 {
	values := make([]float64, len(f.Rows))
	for i, row := range f.Rows {
		values[i] = row[0]
	}
	return values
}

// Missing counts the bins without a sample of the target.
func (f Frame) Missing() int {
	n := 0
	for _, row := range f.Rows {
		if math.IsNaN(row[0]) {
			n++
		}
	}
	return n
}

// Resample is the frame in longer bins: each the mean of its present samples, missing if fewer
// than half are present. An incomplete last bin is dropped.
func (f Frame) Resample(step time.Duration) (Frame, error) {
	if step == f.Step {
		return f, nil
	}
	if step < f.Step || step%f.Step != 0 {
		return Frame{}, fmt.Errorf("forecast: step %v must be a multiple of %v, the period of the samples", step, f.Step)
	}
	n := int(step / f.Step)
	out := Frame{Start: f.Start, Step: step, Names: f.Names}
	for at := 0; at+n <= len(f.Rows); at += n {
		row := make([]float64, len(f.Names))
		for j := range row {
			row[j] = meanOfPresent(f.Rows[at:at+n], j)
		}
		out.Rows = append(out.Rows, row)
	}
	return out, nil
}

func meanOfPresent(rows [][]float64, series int) float64 {
	sum, present := 0.0, 0
	for _, row := range rows {
		if v := row[series]; !math.IsNaN(v) {
			sum += v
			present++
		}
	}
	if 2*present < len(rows) {
		return math.NaN()
	}
	return sum / float64(present)
}

// extent is the lowest and highest sample of the target.
func (f Frame) extent() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, row := range f.Rows {
		if v := row[0]; !math.IsNaN(v) {
			low, high = min(low, v), max(high, v)
		}
	}
	return low, high
}
