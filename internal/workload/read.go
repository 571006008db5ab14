package workload

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"
)

// Series is a trace as read: request rates, or values that are not yet converted.
type Series struct {
	Name   string
	Unit   Unit
	Step   time.Duration
	Start  time.Duration // of the first bin, on the trace's own clock
	Values []float64
	Mix    *Mix
	Report Report
}

// Read streams a trace into request rates. The name appears in messages and names the workload.
// Utilisation without Options.Profile, and normalised rates without Options.Peak, are rejected
// before the file is read through.
func Read(r io.Reader, name string, o Options) (*Workload, Report, error) {
	series, err := read(name, []source{only(r, name)}, o, true)
	if err != nil {
		return nil, Report{}, err
	}
	w, err := series.workload(o)
	return w, series.Report, err
}

// ReadSeries streams a trace into values of its own unit.
func ReadSeries(r io.Reader, name string, o Options) (*Series, error) {
	return read(name, []source{only(r, name)}, o, false)
}

// source is one part of a trace.
type source struct {
	name string
	open func() (io.ReadCloser, error)
}

func only(r io.Reader, name string) source {
	return source{name, func() (io.ReadCloser, error) { return io.NopCloser(r), nil }}
}

// read streams the parts of a trace, one after the other, into one series.
func read(name string, parts []source, o Options, needRequests bool) (*Series, error) {
	faults := newFaults(name)
	if needRequests && o.Gaps == GapsAbsent {
		faults.add(0, "gaps", string(o.Gaps), "must be hold or zero: requests need a rate at every instant")
	}
	if o.validate(faults); len(faults.List) > 0 {
		return nil, faults.err()
	}
	in := &input{opts: o, faults: faults}
	for _, p := range parts {
		if err := in.readPart(p, len(parts) > 1, needRequests); err != nil {
			return nil, err
		}
	}
	faults.File = name
	var series *Series
	if len(faults.List) == 0 || in.format == plainCSV { // the order of its times is still to be checked
		series = in.finish()
	}
	if err := faults.err(); err != nil {
		return nil, err
	}
	series.Name, series.Unit = name, in.unit
	series.Report = in.report
	return series, nil
}

// readPart streams one part. It returns an error if reading cannot continue; faults of rows are
// collected.
func (in *input) readPart(p source, oneOfMany, needRequests bool) error {
	r, err := p.open()
	if err != nil {
		return fmt.Errorf("read workload: %w", err)
	}
	defer r.Close()
	in.faults.File = p.name
	in.lines = newLines(r, in.faults)
	before, earlier := in.format, len(in.faults.List)
	row := in.begin()
	if len(in.faults.List) > earlier {
		return in.faults.err()
	}
	switch {
	case before != nil && before != in.format:
		in.faults.add(0, "format", in.format.name, "must be "+before.name+" as in the files before")
	case oneOfMany && (in.format == plainCSV || in.format == azure2019):
		in.faults.add(0, "format", in.format.name, "must be a single file: such files follow each other in time rather than add up")
	case needRequests:
		in.needRequests()
	}
	if len(in.faults.List) > earlier {
		return in.faults.err()
	}
	for in.next() {
		row()
	}
	return nil
}

// begin finds the format and its columns from the first lines.
func (in *input) begin() (row func()) {
	first := in.lines.peek(2)
	if len(first) == 0 {
		if len(in.faults.List) == 0 {
			in.faults.add(0, "", "", "the file is empty: must be a table with at least one row")
		}
		return nil
	}
	if place, value, bad := notText(first[0]); bad {
		in.faults.add(1, place, value, wantText)
		return nil
	}
	if in.format = detect(first); in.opts.Format != "" {
		in.format, _ = formatNamed(in.opts.Format)
	}
	if in.format == nil {
		in.faults.add(1, "columns", string(first[0]), "must be a known layout, or named by format: "+strings.Join(formatNames(), ", "))
		return nil
	}
	in.report.Format, in.unit = in.format.name, in.format.unit
	in.finish = in.binned
	switch {
	case in.format.lines:
	case in.format == plainCSV:
		in.lines.next()
		in.names = splitNames(first[0])
	default:
		if in.columnsFrom(first[0]) {
			in.lines.next()
		}
		if len(in.faults.List) > 0 {
			return nil
		}
	}
	in.resolve()
	if len(in.faults.List) > 0 {
		return nil
	}
	in.bins.step, in.bins.most = in.binStep(), in.opts.binLimit()
	return in.format.open(in)
}

func formatNames() []string {
	var names []string
	for _, f := range formats() {
		names = append(names, f.name)
	}
	return names
}

// binStep is the length of the bins while reading: for requests a minute or the configured
// length, otherwise the period of the readings.
func (in *input) binStep() time.Duration {
	period, wanted := in.format.period, in.opts.Step
	if in.format == plainCSV {
		return 0
	}
	if period == 0 {
		if wanted == 0 {
			return time.Minute
		}
		return wanted
	}
	if wanted%period != 0 {
		in.faults.add(0, "step", wanted.String(), fmt.Sprintf("must be a multiple of %v, the period of the readings of format %s",
			period, in.format.name))
	}
	return period
}

// needRequests rejects a trace of other values than requests if the options do not say how to
// convert it.
func (in *input) needRequests() {
	switch {
	case in.unit == Utilisation && in.opts.Profile == nil:
		in.faults.add(0, "profile", "", "must be given: format "+in.format.name+
			" holds utilisation, not requests; pass a profile fitted to pairs of utilisation and rate, one of the application (CPU "+
			"per request and cores), or one in proportion to a peak")
	case in.unit == Normalised && in.opts.Peak == 0:
		in.faults.add(0, "peak", "", "must be given: format "+in.format.name+
			" holds rates divided by an unpublished constant; pass the requests per second of the highest bin")
	}
}

// binned makes the series of a format that uses the bins.
func (in *input) binned() *Series {
	first, cells := in.bins.trimmed()
	if len(cells) == 0 {
		in.faultNothing()
		return nil
	}
	s := &Series{Step: in.bins.step, Start: time.Duration(first * int64(in.bins.step))}
	if in.format.period == 0 {
		s.Values = make([]float64, len(cells))
		for i, c := range cells {
			s.Values[i] = c.sum / s.Step.Seconds()
		}
		return s
	}
	if in.combine == CombineSum {
		// From here on a cell is one combined reading.
		for i := range cells {
			if cells[i].weight > 0 {
				cells[i].weight = 1
			}
		}
	}
	if in.opts.Step > s.Step {
		cells = coarser(cells, first, int64(in.opts.Step/s.Step))
		s.Start = s.Start.Truncate(in.opts.Step)
		s.Step = in.opts.Step
	}
	s.Values = in.filled(s, cells)
	return s
}

// faultNothing reports why no row was left.
func (in *input) faultNothing() {
	switch {
	case in.report.Rows == 0:
		in.faults.add(0, "", "", "the file has no rows: must have at least one")
	case in.report.Selected == 0 && len(in.keep) > 0:
		in.faults.add(0, "select", in.opts.Select, "must match a row; there are "+strings.Join(in.ids, ", ")+" and maybe others")
	default:
		in.faults.add(0, "", "", fmt.Sprintf("must hold at least one reading: of %d rows %d were selected, %d had none and %d were faulty",
			in.report.Rows, in.report.Selected, in.report.Missing, in.report.Bad))
	}
}

// coarser merges every n cells, aligned on the trace's clock.
func coarser(cells []cell, first, n int64) []cell {
	lead := first - floorDiv(first, n)*n
	out := make([]cell, (lead+int64(len(cells))+n-1)/n)
	for i, c := range cells {
		to := &out[(lead+int64(i))/n]
		to.sum += c.sum
		to.weight += c.weight
	}
	return out
}

// filled divides sums by weights and treats gaps as configured.
func (in *input) filled(s *Series, cells []cell) []float64 {
	if in.opts.Gaps == GapsRefuse {
		for _, gap := range blanks(cells) {
			from, to := s.Start+time.Duration(gap.from)*s.Step, s.Start+time.Duration(gap.to)*s.Step
			in.faults.add(0, "time", fmt.Sprintf("%v to %v", from, to),
				fmt.Sprintf("must have a reading every %v: take a longer step, or say what a gap is (hold or zero)", s.Step))
		}
	}
	values := make([]float64, len(cells))
	for i, c := range cells {
		switch {
		case c.weight > 0:
			values[i] = c.sum / c.weight
		case in.opts.Gaps == GapsAbsent:
			values[i] = math.NaN()
		case in.opts.Gaps == GapsHold && i > 0:
			values[i] = values[i-1]
			in.report.Filled++
		default:
			in.report.Filled++
		}
		if math.IsInf(values[i], 0) {
			in.faults.add(0, "sum", "", fmt.Sprintf("overflows in the bin at %v: must be readings of ordinary size",
				s.Start+time.Duration(i)*s.Step))
		}
	}
	return values
}

// workload makes requests of a series.
func (s *Series) workload(o Options) (*Workload, error) {
	w := &Workload{Name: s.Name, Step: s.Step, Rates: s.Values, Mix: s.Mix}
	if s.Unit == Utilisation {
		w.Rates = make([]float64, len(s.Values))
		for i, u := range s.Values {
			w.Rates[i] = o.Profile.Rate(u)
		}
	}
	if err := w.Validate(); err != nil {
		return nil, err
	}
	return o.fit(w)
}
