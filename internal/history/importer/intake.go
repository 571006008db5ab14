// Package importer reads histories from files of other programs: CSV with a row per service and
// step, and the traces of package workload.
//
// Reading order: intake.go (files become one history), header.go (what the
// columns of a CSV are), rows.go (its rows), grid.go (times become steps),
// trace.go (traces).
//
// All faults of a file are reported at once, as workload.Faults: file, line, field, value, and
// what it must be.
package importer

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/workload"
)

// Options configure the import.
type Options struct {
	Service string           // service of a file without a column for it; empty = the file's name
	Step    time.Duration    // 0 = the most common time between rows
	Start   time.Time        // of traces, which have relative times; zero = that of simulations
	Cores   float64          // of the machines in a utilisation trace, at 100 %; 0 = 1
	Trace   workload.Options // Metric also names a CSV's single column value; gaps are absent by default
}

// Files reads files into one history. They may have different services, calls, metrics or
// spans, but not the same twice.
func Files(paths []string, o Options) (*history.History, error) {
	var all []*sheet
	var faults []error
	for _, path := range paths {
		s, err := readFile(path, o)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		all = append(all, s)
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	h, err := join(all, o.Step)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(paths))
	for i, path := range paths {
		names[i] = filepath.Base(path)
	}
	h.Manifest.Source = "import " + strings.Join(names, " ")
	h.Tidy()
	h.Manifest.Absent = h.Absences("the files have no column for it, or no value in it")
	return h, nil
}

func readFile(path string, o Options) (*sheet, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("import: %w", err)
	}
	defer file.Close()
	return read(file, path, o)
}

// read reads one file, gzip or not, CSV or trace, by its header.
func read(r io.Reader, name string, o Options) (*sheet, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	if magic, _ := in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, workload.Fault{File: name, Want: "must be a whole gzip file: " + err.Error()}
		}
		in = bufio.NewReaderSize(z, 1<<16)
	}
	if o.Service == "" {
		o.Service = serviceOf(name)
	}
	first, _ := in.Peek(1 << 14)
	line, _, _ := bytes.Cut(first, []byte("\n"))
	if o.Trace.Format == "" && isTable(line) {
		return readTable(in, name, o)
	}
	return readTrace(in, name, o)
}

// serviceOf names a service after its file: rates.csv.gz is rates.
func serviceOf(path string) string {
	name := filepath.Base(path)
	for _, ext := range []string{".gz", ".csv", ".txt", ".tsv"} {
		name = strings.TrimSuffix(name, ext)
	}
	return name
}

// start is the origin of a trace's relative times.
func (o Options) start() time.Time {
	if o.Start.IsZero() {
		return sim.Epoch
	}
	return o.Start.UTC()
}

// faults collects the faults of one file.
type faults struct{ workload.Faults }

// mostFaults are listed; the rest are counted.
const mostFaults = 20

func (f *faults) add(line int, field, value, want string) {
	if len(f.List) == mostFaults {
		f.More++
		return
	}
	f.List = append(f.List, workload.Fault{File: f.File, Line: line, Field: field, Value: strings.Clone(value[:min(len(value), 240)]),
		Want: want})
}

func (f *faults) err() error {
	if len(f.List) == 0 {
		return nil
	}
	return &f.Faults
}
