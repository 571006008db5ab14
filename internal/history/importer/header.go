package importer

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/suggest"
)

// column is one column of values: its metric, and the factor to the metric's unit.
type column struct {
	at     int // position in a row
	name   string
	metric int
	factor float64
}

// header is the columns of a table. Positions are -1 for missing columns.
type header struct {
	time, service       int
	from, to, operation int
	metric, value       int // of the layout with one value per row
	columns             []column
	ofCalls             bool
	ignored             []string
}

// Accepted names of a column.
var (
	timeNames    = []string{"time", "timestamp", "ts", "date"}
	serviceNames = []string{"service", "deployment", "workload", "app"}
	fromNames    = []string{"from", "source", "caller"}
	toNames      = []string{"to", "destination", "callee"}
	opNames      = []string{"operation", "route", "method"}
)

// suffixes are the units that a column's name may end in, by the metric's own unit.
var suffixes = map[string][]struct {
	end    string
	factor float64
}{
	"1/s":   {{"_per_s", 1}, {"_per_min", 1.0 / 60}},
	"s":     {{"_s", 1}, {"_ms", 1e-3}, {"_us", 1e-6}},
	"cores": {{"_cores", 1}, {"_m", 1e-3}, {"_millicores", 1e-3}},
	"bytes": {{"_bytes", 1}, {"_kib", 1 << 10}, {"_mib", 1 << 20}, {"_gib", 1 << 30}},
	"share": {{"_share", 1}, {"_percent", 0.01}},
	"count": {{"_count", 1}},
}

// isTable reports whether a first line is the header of our CSV layout: it has a time column.
// Traces have none, or name it differently.
func isTable(line []byte) bool {
	names := splitHeader(line)
	at := func(of []string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(of, n) })
	}
	known := slices.ContainsFunc(names, func(n string) bool {
		_, _, service := metricOf(n, false)
		_, _, call := metricOf(n, true)
		return service || call
	})
	return at(timeNames[:2]) && (known || at(serviceNames[:1]) || at(fromNames[:1]) && at(toNames[:1]) || at([]string{"value"}))
}

// separator of a table: a comma, unless its header has none.
func separator(line []byte) rune {
	for _, c := range []byte{',', ';', '\t'} {
		if bytes.IndexByte(line, c) >= 0 {
			return rune(c)
		}
	}
	return ','
}

func splitHeader(line []byte) []string {
	line = bytes.TrimPrefix(bytes.TrimRight(line, "\r\n"), []byte("\ufeff"))
	names := strings.Split(string(line), string(separator(line)))
	for i := range names {
		names[i] = columnName(names[i])
	}
	return names
}

// columnName is a name without quotes, spaces or capitals.
func columnName(text string) string {
	text = strings.TrimPrefix(text, "\ufeff")
	text = strings.ToLower(strings.Trim(strings.TrimSpace(text), `"`))
	return strings.NewReplacer(" ", "_", "-", "_").Replace(strings.TrimSpace(text))
}

// metricOf finds the metric of a column by its name.
func metricOf(name string, ofCalls bool) (metric int, factor float64, found bool) {
	for _, about := range metrics(ofCalls) {
		if name == about.Name {
			return about.index, 1, true
		}
		for _, s := range suffixes[about.Unit] {
			if name == about.Name+s.end {
				return about.index, s.factor, true
			}
		}
	}
	return 0, 0, false
}

// metric is a row of the table that histories keep, and its index.
type metric struct {
	loadline.Metric
	index int
}

// metrics of histories, in the order of their columns.
func metrics(ofCalls bool) []metric {
	var all []metric
	if ofCalls {
		for _, m := range loadline.CallTable.Columns() {
			all = append(all, metric{m.About(), int(m)})
		}
		return all
	}
	for _, m := range loadline.ServiceTable.Columns() {
		all = append(all, metric{m.About(), int(m)})
	}
	return all
}

// rowOf a metric by its index.
func rowOf(index int, ofCalls bool) loadline.Metric {
	if ofCalls {
		return loadline.CallTable[index].Metric
	}
	return loadline.ServiceTable[index].Metric
}

// readHeader identifies the columns.
//
// A column value without a column metric has the metric only.
func readHeader(names []string, only string, f *faults) header {
	h := header{time: -1, service: -1, from: -1, to: -1, operation: -1, metric: -1, value: -1}
	rest := map[int]string{}
	for i, name := range names {
		name = columnName(name)
		place := func(of []string) bool { return slices.Contains(of, name) }
		switch {
		case place(timeNames):
			h.once(&h.time, i, name, f)
		case place(serviceNames):
			h.once(&h.service, i, name, f)
		case place(fromNames):
			h.once(&h.from, i, name, f)
		case place(toNames):
			h.once(&h.to, i, name, f)
		case place(opNames):
			h.once(&h.operation, i, name, f)
		case name == "metric":
			h.once(&h.metric, i, name, f)
		case name == "value":
			h.once(&h.value, i, name, f)
		default:
			rest[i] = name
		}
	}
	h.ofCalls = h.from >= 0 || h.to >= 0
	for i := range names {
		if name, left := rest[i]; left {
			h.addColumn(i, name, f)
		}
	}
	if h.value >= 0 && h.metric < 0 && only != "" {
		h.addColumn(h.value, columnName(only), f)
		h.value, h.ignored = -1, slices.DeleteFunc(h.ignored, func(n string) bool { return n == columnName(only) })
	}
	h.check(names, f)
	return h
}

func (h *header) once(place *int, i int, name string, f *faults) {
	if *place >= 0 {
		f.add(1, "columns", name, "must be one of its kind: there is another column for the same")
	}
	*place = i
}

// addColumn handles a column that may be a metric. A name close to a metric's is a fault; any
// other column is ignored.
func (h *header) addColumn(i int, name string, f *faults) {
	metric, factor, found := metricOf(name, h.ofCalls)
	if !found {
		var known []string
		for _, about := range metrics(h.ofCalls) {
			known = append(known, about.Name)
			for _, s := range suffixes[about.Unit] {
				known = append(known, about.Name+s.end)
			}
		}
		if near := suggest.Of(name, known); near != "" {
			f.add(1, "columns", name, "must be a metric; did you mean "+near+"?")
			return
		}
		h.ignored = append(h.ignored, name)
		return
	}
	if slices.ContainsFunc(h.columns, func(c column) bool { return c.metric == metric }) {
		f.add(1, "columns", name, "must be there once: there is another column for the same metric")
	}
	h.columns = append(h.columns, column{i, name, metric, factor})
}

func (h *header) check(names []string, f *faults) {
	all := strings.Join(names, ",")
	if h.time < 0 {
		f.add(1, "columns", all, "must have a column time")
	}
	switch {
	case h.ofCalls && h.service >= 0:
		f.add(1, "columns", all, "must have either service, or from and to: calls go in a file of their own")
	case h.ofCalls && h.to < 0:
		f.add(1, "columns", all, "must have a column to beside from")
	}
	switch long := h.metric >= 0 && h.value >= 0; {
	case h.value >= 0 && h.metric < 0:
		f.add(1, "columns", all, "must have a column metric beside value, or --metric must name it: "+
			strings.Join(metricNames(h.ofCalls), ", "))
	case h.metric >= 0 && h.value < 0:
		f.add(1, "columns", all, "must have a column value beside metric")
	case !long && len(h.columns) == 0:
		f.add(1, "columns", all, fmt.Sprintf("must have a column per metric (%s), or the columns metric and value",
			strings.Join(metricNames(h.ofCalls), ", ")))
	case long && len(h.columns) > 0:
		f.add(1, "columns", all, "must have either a column per metric, or the columns metric and value")
	}
}

func metricNames(ofCalls bool) []string {
	var names []string
	for _, about := range metrics(ofCalls) {
		names = append(names, about.Name)
	}
	return names
}
