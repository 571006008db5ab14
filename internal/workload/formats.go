package workload

import (
	"fmt"
	"strings"
	"time"
)

// Unit is what the values of a trace are.
type Unit int

const (
	Requests    Unit = iota // per second
	Utilisation             // of CPU (or memory): 1 = full; a sum over machines may exceed 1
	Normalised              // a rate divided by an unpublished constant
)

func (u Unit) String() string {
	switch u {
	case Requests:
		return "requests/s"
	case Utilisation:
		return "utilisation"
	case Normalised:
		return "normalised rate"
	}
	return "unknown"
}

// format is one layout of a public trace. What the layouts share (lines, gzip, columns,
// selection, bins, faults) is in input; a format interprets the rows.
type format struct {
	name, help string
	unit       Unit
	// period of the readings. 0 = rows are requests, and a bin without rows has no load;
	// otherwise it is a gap.
	period  time.Duration
	combine Combine  // default
	columns []string // as released, in order
	headed  bool     // the released files have a header line
	lines   bool     // rows are not comma-separated columns; the format parses the line
	keys    []string // columns to select by; the first is used for a bare value
	metrics []string // readings to choose from; the first is the default
	// looks reports whether a first row without a header could be of this format.
	looks func(fields []string) bool
	// open prepares to read a file and returns the handler of a row.
	open func(in *input) (row func())
}

// formats in the order of detection: an entry whose columns include another's
// comes before it.
func formats() []*format {
	return []*format{
		plainCSV,
		alibaba2018Machine, alibaba2018Container,
		alibaba2022CallGraph, alibaba2022RTMCR, alibaba2022Resource,
		alibaba2021CallGraph, alibaba2021RTQps, alibaba2021Resource,
		google2011, google2019,
		azure2019, azure2021, azureLLM,
	}
}

func formatNamed(name string) (*format, error) {
	var names []string
	for _, f := range formats() {
		if f.name == name {
			return f, nil
		}
		names = append(names, f.name)
	}
	return nil, fmt.Errorf("must be one of %s%s", strings.Join(names, ", "), didYouMean(name, names))
}

// detect finds the format from the first two lines: by the names in a header,
// or by the shape of a row where the released files have none.
func detect(first [][]byte) *format {
	head := splitNames(first[0])
	var row []string
	if len(first) > 1 {
		row = splitNames(first[1])
	}
	for _, f := range formats() {
		switch {
		case f.lines:
			if f.looks([]string{string(first[0])}) {
				return f
			}
		case f == plainCSV:
			if len(head) > 0 && strings.EqualFold(head[0], "t_s") {
				return f
			}
		case hasAll(head, f.columns):
			// Alibaba's two resource tables share their header and are distinguished by the
			// ids.
			if f == alibaba2022Resource && !looks2022(head, row) {
				continue
			}
			return f
		case !f.headed && len(head) == len(f.columns) && f.looks(head):
			return f
		}
	}
	return nil
}

// splitNames splits a line into trimmed names; nil if it is not a row.
func splitNames(line []byte) []string {
	fields, err := splitRow(line, nil)
	if err != nil {
		return nil
	}
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = strings.TrimSpace(string(f))
	}
	return names
}

func hasAll(head, columns []string) bool {
	if len(head) < len(columns) {
		return false
	}
	have := make(map[string]bool, len(head))
	for _, h := range head {
		have[columnName(h)] = true
	}
	for _, c := range columns {
		if !have[columnName(c)] {
			return false
		}
	}
	return true
}

// columnName normalises a header's name: released files differ from their documentation in
// case, and one in a plural.
func columnName(name string) string {
	name = strings.ToLower(name)
	if name == "metrics" {
		return "metric"
	}
	return name
}

func isNumber(s string) bool {
	_, err := parseNumber([]byte(s))
	return err == nil
}

// Entry is one kind of workload name, for --help.
type Entry struct {
	Group string // "built-in", "generator", "format"
	Name  string
	Help  string
	Keys  []string // of a generator: "key=default  meaning"; of a format: the arguments of select and metric
}

// Known lists the names that [Open] accepts.
func Known() []Entry {
	var all []Entry
	for _, b := range builtins {
		all = append(all, Entry{"built-in", b.name, b.help, []string{b.spec}})
	}
	for _, g := range generators {
		all = append(all, Entry{"generator", g.name, g.help, g.keyHelp()})
	}
	for _, f := range formats() {
		var keys []string
		if len(f.keys) > 0 {
			keys = append(keys, "select: "+strings.Join(f.keys, ", "))
		}
		if len(f.metrics) > 1 {
			keys = append(keys, "metric: "+strings.Join(f.metrics, ", "))
		}
		all = append(all, Entry{"format", f.name, f.help, keys})
	}
	return all
}
