package workload

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// input is the state of reading one trace: the current row and the result so far. Its memory is
// bounded by the bins, not by the file.
type input struct {
	format  *format
	opts    Options
	lines   *lines
	faults  *Faults
	unit    Unit
	combine Combine
	metric  string

	names  []string // of the columns, by position in a row
	where  []int    // position of each of format.columns
	line   []byte
	fields [][]byte
	keep   []kept
	ids    []string // some values of the first key, shown when nothing matches

	bins   bins
	report Report
	finish func() *Series // a format that does not use the bins sets its own
}

// kept is one resolved condition of the selection.
type kept struct {
	position int
	value    string
}

// Report is what was read and what was skipped.
type Report struct {
	Format   string
	Rows     int64 // of data
	Selected int64
	Missing  int64 // selected rows whose reading is missing or marked as abnormal
	Bad      int64 // faulty rows skipped, by Options.SkipBad
	Filled   int64 // bins filled, by Options.Gaps
}

// fault records a fault of the current row.
func (in *input) fault(field, value, want string) {
	if in.opts.SkipBad {
		in.report.Bad++
		return
	}
	in.faults.add(in.lines.number, field, value, want)
}

// columnsFrom maps the format's columns to a header, or to their released order without one.
func (in *input) columnsFrom(first []byte) (headed bool) {
	in.names = splitNames(first)
	f := in.format
	if hasAll(in.names, f.columns) {
		in.where = make([]int, len(f.columns))
		for i, c := range f.columns {
			in.where[i] = slices.IndexFunc(in.names, func(n string) bool { return columnName(n) == columnName(c) })
		}
		return true
	}
	if f.headed || len(in.names) != len(f.columns) {
		in.faults.add(1, "columns", strings.Join(in.names, ","),
			fmt.Sprintf("must be %s for format %s", shortList(f.columns), f.name))
		return false
	}
	in.names = f.columns
	in.where = make([]int, len(f.columns))
	for i := range in.where {
		in.where[i] = i
	}
	return false
}

func shortList(columns []string) string {
	if len(columns) > 24 {
		return strings.Join(columns[:6], ",") + ",...," + columns[len(columns)-1]
	}
	return strings.Join(columns, ",")
}

// resolve turns the selection into column positions.
func (in *input) resolve() {
	f := in.format
	in.keep = nil
	for _, c := range in.opts.conditions() {
		if c.column == "" && len(f.keys) > 0 {
			c.column = f.keys[0]
		}
		k := slices.IndexFunc(f.keys, func(key string) bool { return strings.EqualFold(key, c.column) })
		if k < 0 {
			want := "must be absent: format " + f.name + " has nothing to select by"
			if len(f.keys) > 0 {
				want = "must select by one of " + strings.Join(f.keys, ", ") + didYouMean(c.column, f.keys)
			}
			in.faults.add(0, "select", in.opts.Select, want)
			continue
		}
		in.keep = append(in.keep, kept{in.position(f.keys[k]), c.value})
	}
	in.metric = in.opts.Metric
	if in.metric == "" && len(f.metrics) > 0 {
		in.metric = f.metrics[0]
	}
	if in.metric != "" && !slices.Contains(f.metrics, in.metric) {
		want := "must be absent: format " + f.name + " has one reading only"
		if len(f.metrics) > 0 {
			want = "must be one of " + strings.Join(f.metrics, ", ") + didYouMean(in.metric, f.metrics)
		}
		in.faults.add(0, "metric", in.metric, want)
	}
	in.combine = in.opts.Combine
	if in.combine == CombineDefault {
		in.combine = f.combine
	}
	if f.period == 0 && in.combine == CombineMean {
		in.faults.add(0, "combine", "mean", "must be sum: rows of format "+f.name+" are requests; use scale to divide them")
	}
}

// position of a column in a row; for a format that parses lines, in its keys.
func (in *input) position(column string) int {
	if in.format.lines {
		return slices.Index(in.format.keys, column)
	}
	return in.where[slices.Index(in.format.columns, column)]
}

// next reads the next well-formed row.
func (in *input) next() bool {
	for {
		line, ok := in.lines.next()
		if !ok {
			return false
		}
		if len(line) == 0 {
			continue
		}
		in.report.Rows++
		in.line = line
		if place, value, bad := notText(line); bad {
			in.fault(place, value, wantText)
			continue
		}
		if in.format.lines {
			return true
		}
		var err error
		in.fields, err = splitRow(line, in.fields)
		switch {
		case err != nil:
			in.fault("", string(line), err.Error())
		case len(in.fields) != len(in.names):
			in.fault("columns", strconv.Itoa(len(in.fields)), fmt.Sprintf("must be %d: %s", len(in.names), shortList(in.names)))
		default:
			return true
		}
	}
}

// selected reports whether the current row is selected, given the values of the keys by
// position, and counts it.
func (in *input) selected(value func(position int) []byte) bool {
	for _, k := range in.keep {
		id := value(k.position)
		if string(id) == k.value {
			continue
		}
		if len(in.ids) < 5 && !slices.Contains(in.ids, string(id)) {
			in.ids = append(in.ids, string(id))
		}
		return false
	}
	in.report.Selected++
	return true
}

// text is a field of the current row, by index into format.columns.
func (in *input) text(column int) []byte { return in.fields[in.where[column]] }

var errNumber = errors.New("not a number")

// parseNumber reads a finite decimal number. Hexadecimal, underscores, Inf and NaN, which
// strconv accepts, are not numbers in any of these files.
func parseNumber(text []byte) (float64, error) {
	if len(text) == 0 || len(text) > 64 {
		return 0, errNumber
	}
	for _, c := range text {
		if (c < '0' || c > '9') && c != '.' && c != '-' && c != '+' && c != 'e' && c != 'E' {
			return 0, errNumber
		}
	}
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil || math.IsInf(v, 0) {
		return 0, errNumber
	}
	return v, nil
}

// maxTime is the latest timestamp that fits into nanoseconds, with room to add a bin.
const maxTime = 9e18

// instant reads a timestamp in the given unit and returns nanoseconds.
func (in *input) instant(name string, text []byte, unit time.Duration) (int64, bool) {
	v, err := parseNumber(text)
	if err != nil || v < 0 || v*float64(unit) > maxTime {
		in.fault(name, string(text), fmt.Sprintf("must be a time of at least 0, in units of %v", unit))
		return 0, false
	}
	return int64(math.Round(v * float64(unit))), true
}

// reading reads a value within bounds. An empty field is a missing reading: counted, not a
// fault.
func (in *input) reading(name string, text []byte, low, high float64) (float64, bool) {
	if len(text) == 0 {
		in.report.Missing++
		return 0, false
	}
	v, err := parseNumber(text)
	if err != nil || v < low || v > high {
		want := fmt.Sprintf("must be a number from %v to %v", low, high)
		if math.IsInf(high, 1) {
			want = fmt.Sprintf("must be a finite number of at least %v", low)
		}
		in.fault(name, string(text), want)
		return 0, false
	}
	return v, true
}

// put adds a reading, or a number of requests, at an instant.
func (in *input) put(at int64, value float64) {
	if err := in.bins.add(at, value, 1); err != nil {
		in.fault("time", time.Duration(at).String(), err.Error())
	}
}
