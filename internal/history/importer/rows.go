package importer

import (
	"encoding/csv"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/loadline/loadline/internal/suggest"
)

// sheet is the content of one file: values by run and time, not yet by step.
type sheet struct {
	file  string
	runs  []*run
	notes []string
}

// run is one service, or the calls of one pair.
type run struct {
	file    string
	ofCalls bool
	names   [3]string // the service; or from, to and operation
	points  []point
}

// point is one value.
type point struct {
	at     int64 // milliseconds since 1970: the end of its step
	value  float32
	metric int32
	line   int32
}

// mostPoints bounds the memory of a file: 40 services with 20 metrics for two weeks at 15 s are
// slightly fewer.
const mostPoints = 1 << 26

// readTable reads our CSV layout.
func readTable(r io.Reader, name string, o Options) (*sheet, error) {
	t := &table{sheet: &sheet{file: name}, faults: &faults{}, byName: map[[3]string]*run{}, service: o.Service, only: o.Trace.Metric}
	t.faults.File = name
	if err := t.read(r); err != nil {
		return nil, err
	}
	if t.points == 0 {
		t.faults.add(0, "", "", "the file has no values: must have at least one row with one")
		return nil, t.faults.err()
	}
	if len(t.header.ignored) > 0 {
		t.sheet.notes = append(t.sheet.notes, name+": columns that are no metric were left out: "+strings.Join(t.header.ignored, ", "))
	}
	return t.sheet, nil
}

// table is the state of reading a CSV.
type table struct {
	sheet   *sheet
	faults  *faults
	header  header
	byName  map[[3]string]*run
	service string // if there is no column for it
	only    string // the metric of a single column value
	points  int
}

func (t *table) read(r io.Reader) error {
	in := newCSV(r)
	names, err := in.Read()
	if err == nil {
		t.header = readHeader(names, t.only, t.faults)
	}
	if err := t.faults.err(); err != nil {
		return err // the rows would be checked against the wrong columns
	}
	width := len(names)
	for err == nil {
		var fields []string
		if fields, err = in.Read(); err == nil {
			line, _ := in.FieldPos(0)
			if len(fields) != width {
				t.faults.add(line, "columns", strconv.Itoa(len(fields)), "must be "+strconv.Itoa(width)+", as in the header")
				continue
			}
			t.row(line, fields)
			if t.points > mostPoints {
				t.faults.add(line, "", "", "the file is too large: import it in parts, into one folder each")
				break
			}
		}
	}
	var malformed *csv.ParseError
	switch {
	case err == nil || errors.Is(err, io.EOF):
	case errors.As(err, &malformed):
		t.faults.add(malformed.Line, "", "", "must be a row of values: "+malformed.Err.Error())
	default:
		t.faults.add(0, "", "", "cannot be read: "+err.Error())
	}
	return t.faults.err()
}

func newCSV(r io.Reader) *csv.Reader {
	type peeker interface{ Peek(int) ([]byte, error) }
	in := csv.NewReader(r)
	if p, ok := r.(peeker); ok {
		first, _ := p.Peek(1 << 14)
		if i := strings.IndexByte(string(first), '\n'); i >= 0 {
			first = first[:i]
		}
		in.Comma = separator(first)
	}
	in.FieldsPerRecord, in.ReuseRecord, in.TrimLeadingSpace = -1, true, true
	return in
}

func (t *table) row(line int, fields []string) {
	h := &t.header
	at, ok := parseTime(strings.TrimSpace(fields[h.time]))
	if !ok {
		t.faults.add(line, "time", fields[h.time],
			"must be a time such as 2026-03-01T12:00:00Z, 2026-03-01 12:00:00 (UTC), or seconds since 1970")
		return
	}
	r := t.run(line, fields)
	if r == nil {
		return
	}
	if h.metric >= 0 {
		name := columnName(fields[h.metric])
		metric, factor, found := metricOf(name, h.ofCalls)
		if !found {
			t.faults.add(line, "metric", fields[h.metric], "must be a metric"+suggest.Hint(name, metricNames(h.ofCalls)))
			return
		}
		t.value(r, at, line, column{h.value, "value", metric, factor}, fields)
		return
	}
	for _, c := range h.columns {
		t.value(r, at, line, c, fields)
	}
}

// run is that of a row; nil after a fault.
func (t *table) run(line int, fields []string) *run {
	h := &t.header
	var names [3]string
	text := func(place int) string {
		if place < 0 {
			return ""
		}
		return strings.TrimSpace(fields[place])
	}
	switch {
	case h.ofCalls:
		names = [3]string{text(h.from), text(h.to), text(h.operation)}
		if strings.EqualFold(names[0], "users") {
			names[0] = ""
		}
		if names[1] == "" {
			t.faults.add(line, "to", "", "must name the service that is called")
			return nil
		}
	case h.service >= 0:
		if names[0] = text(h.service); names[0] == "" {
			t.faults.add(line, "service", "", "must name a service")
			return nil
		}
	default:
		names[0] = t.service
	}
	r := t.byName[names]
	if r == nil {
		for i := range names {
			names[i] = strings.Clone(names[i]) // the row's memory is reused
		}
		r = &run{file: t.sheet.file, ofCalls: h.ofCalls, names: names}
		t.byName[names] = r
		t.sheet.runs = append(t.sheet.runs, r)
	}
	return r
}

// value reads one field. Empty, NaN, null and - are absent.
func (t *table) value(r *run, at int64, line int, c column, fields []string) {
	text := strings.TrimSpace(fields[c.at])
	switch strings.ToLower(text) {
	case "", "nan", "null", "none", "-":
		return
	}
	about := rowOf(c.metric, r.ofCalls)
	v, err := strconv.ParseFloat(text, 64)
	v *= c.factor
	switch {
	case err != nil || math.IsInf(v, 0) || math.IsNaN(v) || v < 0 || math.Abs(v) > math.MaxFloat32:
		t.faults.add(line, c.name, text, "must be a number of at least 0 ("+unitName(about.Unit)+"), or empty where it was not measured")
	case about.Unit == "share" && v > 1.0001:
		t.faults.add(line, c.name, text, "must be a share from 0 to 1; name the column "+about.Name+"_percent if it is in percent")
	default:
		r.points = append(r.points, point{at, float32(v), int32(c.metric), int32(line)})
		t.points++
	}
}

func unitName(unit string) string {
	if unit == "1/s" {
		return "per second"
	}
	return unit
}

// Time formats of people and databases.
var timeLayouts = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999",
	"2006-01-02 15:04", time.DateOnly,
}

// parseTime reads an instant in milliseconds. Numbers are seconds since 1970,
// or milliseconds where seconds would be beyond the year 5000.
func parseTime(text string) (ms int64, ok bool) {
	if v, err := strconv.ParseFloat(text, 64); err == nil {
		if v < 1e11 {
			v *= 1000
		}
		return int64(math.Round(v)), v >= 0 && v < 9e12
	}
	for _, layout := range timeLayouts {
		if t, err := time.Parse(layout, text); err == nil {
			ms = t.UnixMilli()
			return ms, ms >= 0 && ms < 9e12
		}
	}
	return 0, false
}
