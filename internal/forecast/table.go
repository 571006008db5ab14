package forecast

import (
	"bufio"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loadline/loadline/internal/suggest"
)

// ErrNotTable: a file has no recognisable columns; it may be a trace in another layout.
var ErrNotTable = errors.New("not a table of named series")

// TableOptions select the columns of a CSV file that make a frame.
type TableOptions struct {
	Columns []string      // the first is the one to forecast; empty = the first that is a load
	Period  time.Duration // between rows, for a file without t_s
}

// mostBins bounds the memory for a file with a wrong time.
const mostBins = 20_000_000

// loadColumns are used, in this order, if no column is named.
var loadColumns = []string{"rps", "requests", "invocations", "cpu_util_percent"}

// ReadTable reads a CSV file with a header, gzip or not, into a frame. Times are in a column
// t_s, in seconds; missing rows and empty fields are missing samples. A column that ends in
// _percent is read as a share of 1, and a count (requests, invocations) as a rate per second.
func ReadTable(r io.Reader, name string, o TableOptions) (Frame, error) {
	b := bufio.NewReader(r)
	if magic, _ := b.Peek(2); len(magic) == 2 && magic[0] == 0x1f && magic[1] == 0x8b {
		unzipped, err := gzip.NewReader(b)
		if err != nil {
			return Frame{}, fmt.Errorf("read %s: %w", name, err)
		}
		b = bufio.NewReader(unzipped)
	}
	rows := csv.NewReader(b)
	rows.ReuseRecord = true
	header, err := rows.Read()
	if err != nil {
		return Frame{}, fmt.Errorf("read %s: %w: must be a CSV file with a header: %w", name, ErrNotTable, err)
	}
	t, err := newTable(slices.Clone(header), o)
	if err != nil {
		return Frame{}, fmt.Errorf("read %s: %w", name, err)
	}
	for {
		record, err := rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil { // the error names its line
			return Frame{}, fmt.Errorf("read %s: %w", name, err)
		}
		if err := t.add(record); err != nil {
			line, _ := rows.FieldPos(0)
			return Frame{}, fmt.Errorf("read %s: line %d: %w", name, line, err)
		}
	}
	frame, err := t.frame()
	if err != nil {
		return Frame{}, fmt.Errorf("read %s: %w", name, err)
	}
	return frame, nil
}

// table is the state of reading a file.
type table struct {
	names   []string
	columns []int
	time    int // column; -1 = none
	period  time.Duration
	at      []time.Duration
	values  [][]float64
}

func newTable(header []string, o TableOptions) (*table, error) {
	t := &table{time: slices.Index(header, "t_s"), period: o.Period, names: o.Columns}
	if t.time < 0 && o.Period <= 0 {
		return nil, fmt.Errorf("%w: must have a column t_s, the time in seconds, or be given the period of its rows", ErrNotTable)
	}
	if len(t.names) == 0 {
		i := slices.IndexFunc(loadColumns, func(c string) bool { return slices.Contains(header, c) })
		if i < 0 {
			return nil, fmt.Errorf("%w: has none of %s: name the column to forecast, out of %s", ErrNotTable,
				strings.Join(loadColumns, ", "), strings.Join(header, ", "))
		}
		t.names = []string{loadColumns[i]}
	}
	for _, name := range t.names {
		i := slices.Index(header, name)
		if i < 0 {
			return nil, fmt.Errorf("has no column %q%s", name, suggest.Hint(name, header))
		}
		t.columns = append(t.columns, i)
	}
	return t, nil
}

func (t *table) add(record []string) error {
	at := time.Duration(len(t.at)) * t.period
	if t.time >= 0 {
		s, err := strconv.ParseFloat(record[t.time], 64)
		if err != nil || !(math.Abs(s) < 9e9) {
			return fmt.Errorf("t_s is %q, must be a time in seconds", record[t.time])
		}
		at = time.Duration(math.Round(s * float64(time.Second)))
	}
	if n := len(t.at); n > 0 && at <= t.at[n-1] {
		return fmt.Errorf("t_s is %v, must be later than the row before (%v)", at, t.at[n-1])
	}
	row := make([]float64, len(t.columns))
	for j, c := range t.columns {
		row[j] = math.NaN()
		if record[c] == "" {
			continue
		}
		v, err := strconv.ParseFloat(record[c], 64)
		if err != nil || math.IsInf(v, 0) {
			return fmt.Errorf("%s is %q, must be a finite number, or empty where it is missing", t.names[j], record[c])
		}
		if strings.HasSuffix(t.names[j], "_percent") {
			v /= 100
		}
		row[j] = v
	}
	t.at, t.values = append(t.at, at), append(t.values, row)
	return nil
}

// frame arranges the rows on a grid; bins without a row are missing.
func (t *table) frame() (Frame, error) {
	if len(t.at) < 2 {
		return Frame{}, errors.New("must have at least two rows")
	}
	step := t.at[1] - t.at[0]
	for i := 2; i < len(t.at); i++ {
		step = min(step, t.at[i]-t.at[i-1])
	}
	first, span := t.at[0], t.at[len(t.at)-1]-t.at[0]
	if span/step >= mostBins {
		return Frame{}, fmt.Errorf("spans %v in steps of %v, must be at most %d steps", span, step, mostBins)
	}
	f := Frame{Start: time.Unix(0, 0).UTC().Add(first), Step: step, Names: t.names, Rows: make([][]float64, span/step+1)}
	for i, at := range t.at {
		if (at-first)%step != 0 {
			return Frame{}, fmt.Errorf("the row at %v is off the grid: rows must be whole multiples of %v apart", at, step)
		}
		for j, name := range t.names {
			if name == "requests" || name == "invocations" {
				t.values[i][j] /= step.Seconds()
			}
		}
		f.Rows[(at-first)/step] = t.values[i]
	}
	for i := range f.Rows {
		if f.Rows[i] == nil {
			f.Rows[i] = slices.Repeat([]float64{math.NaN()}, len(t.names))
		}
	}
	return f, nil
}
