package workload

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Options configure reading and generating. With the zero value, anything that would have to be
// guessed is an error.
type Options struct {
	// Format names the layout of a file (see Known); empty = detected from its
	// header or columns.
	Format string

	// Select keeps some rows: "m_1932" (in the format's main id column) or
	// "msname=MS_1,nodeid=NODE_7" (all of them). Empty = all rows.
	Select string

	// Metric is the reading taken from a row, where a format has several;
	// empty = its first (see Known).
	Metric string

	// Combine is how the selected rows of one instant become one value.
	Combine Combine

	// Step is the length of the bins. 0 = that of the readings; for a file of
	// single requests one minute, for a generator one second.
	Step time.Duration

	// Gaps is the treatment of bins without a reading.
	Gaps Gaps

	// SkipBad skips faulty rows and counts them in the report, for public traces with a few
	// damaged rows. Without it they are an error.
	SkipBad bool

	// Profile turns utilisation into requests.
	Profile *Profile

	// Peak scales so that the highest bin has that many requests per second; 0 = unscaled. A
	// trace of normalised rates needs it.
	Peak float64

	// Scale multiplies every rate; 0 = unscaled. Not together with Peak.
	Scale float64

	// Duration and Seed are for generators. A duration of 0 is 24 hours, or the built-in
	// workload's own. A file longer than the duration is truncated.
	Duration time.Duration
	Seed     uint64

	mostBins int64 // 0 = maxBins; tests use less
}

func (o Options) binLimit() int64 {
	if o.mostBins > 0 {
		return o.mostBins
	}
	return maxBins
}

// Combine is how readings of one instant become one value.
type Combine string

const (
	CombineDefault Combine = ""     // by format: sum of rates, mean of utilisation
	CombineSum     Combine = "sum"  // of all selected rows
	CombineMean    Combine = "mean" // over the selected rows
)

// Gaps is the treatment of a bin without rows.
type Gaps string

const (
	GapsRefuse Gaps = ""       // an error
	GapsHold   Gaps = "hold"   // the value before it
	GapsZero   Gaps = "zero"   // no load
	GapsAbsent Gaps = "absent" // kept as NaN: for ReadSeries, since a workload has no gaps
)

// validate returns every wrong option.
func (o Options) validate(faults *Faults) {
	if o.Format != "" {
		if _, err := formatNamed(o.Format); err != nil {
			faults.add(0, "format", o.Format, err.Error())
		}
	}
	switch o.Combine {
	case CombineDefault, CombineSum, CombineMean:
	default:
		faults.add(0, "combine", string(o.Combine), "must be sum or mean")
	}
	switch o.Gaps {
	case GapsRefuse, GapsHold, GapsZero, GapsAbsent:
	default:
		faults.add(0, "gaps", string(o.Gaps), "must be hold or zero; without it a gap is refused")
	}
	if o.Step < 0 {
		faults.add(0, "step", o.Step.String(), "must be longer than 0")
	}
	if o.Duration < 0 {
		faults.add(0, "duration", o.Duration.String(), "must be longer than 0")
	}
	for _, number := range []struct {
		name  string
		value float64
	}{{"peak", o.Peak}, {"scale", o.Scale}} {
		if !(number.value >= 0) || math.IsInf(number.value, 0) {
			faults.add(0, number.name, fmt.Sprint(number.value), "must be a finite number above 0")
		}
	}
	if o.Peak > 0 && o.Scale > 0 {
		faults.add(0, "scale", fmt.Sprint(o.Scale), "must be absent together with a peak: each alone decides the height")
	}
}

// fit applies Peak, Scale and Duration.
func (o Options) fit(w *Workload) (*Workload, error) {
	var err error
	if o.Duration > 0 && o.Duration < w.Duration() {
		if w, err = w.Slice(0, o.Duration); err != nil {
			return nil, err
		}
	}
	switch {
	case o.Peak > 0:
		return w.Peak(o.Peak)
	case o.Scale > 0:
		return w.Scale(o.Scale)
	}
	return w, nil
}

// condition is one "column=value" of Select.
type condition struct {
	column, value string // column empty = the format's main one
}

func (o Options) conditions() []condition {
	if o.Select == "" {
		return nil
	}
	var all []condition
	for part := range strings.SplitSeq(o.Select, ",") {
		column, value, named := strings.Cut(part, "=")
		if !named {
			column, value = "", part
		}
		all = append(all, condition{strings.TrimSpace(column), strings.TrimSpace(value)})
	}
	return all
}
