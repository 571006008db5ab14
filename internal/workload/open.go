package workload

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Open makes the workload that a command line names: a built-in workload, a sum of generators,
// or a file. The names of built-ins and generators take precedence; "./day" is a file of that
// name. A pattern such as "task_usage/part-*.csv.gz" is all files that match, in the order of
// their names. The report covers files only.
func Open(name string, o Options) (*Workload, Report, error) {
	if !isSpec(name) {
		if info, err := os.Stat(name); err == nil && !info.IsDir() {
			return ReadFile(name, o)
		} else if paths, _ := filepath.Glob(name); len(paths) > 0 && strings.ContainsAny(name, "*?[") {
			return ReadFiles(name, paths, o)
		} else if looksLikePath(name) {
			return nil, Report{}, fmt.Errorf("workload %s: must be a file that exists, a built-in workload (%s) or a sum of "+
				"generators such as %s",
				quoted(name), strings.Join(builtinNames(), ", "), exampleSpec)
		}
	}
	faults := newFaults("")
	if o.validate(faults); len(faults.List) > 0 {
		return nil, Report{}, faults.err()
	}
	w, err := Parse(name, o.Duration, o.Step, o.Seed)
	if err != nil {
		return nil, Report{}, err
	}
	o.Duration = 0
	w, err = o.fit(w)
	return w, Report{}, err
}

// ReadFile reads a trace file into request rates. Messages name the file as it was given.
func ReadFile(path string, o Options) (*Workload, Report, error) {
	return ReadFiles(path, []string{path}, o)
}

// ReadFiles reads a trace that is published in parts. Days of Azure Functions 2019 are
// consecutive; parts of the other formats cover the same time and are read as one file.
func ReadFiles(name string, paths []string, o Options) (*Workload, Report, error) {
	parts := make([]source, len(paths))
	for i, path := range paths {
		parts[i] = source{path, func() (io.ReadCloser, error) { return os.Open(path) }}
	}
	if len(parts) > 1 && parts[0].looksLike(azure2019) {
		return readInTurn(name, parts, o)
	}
	series, err := read(name, parts, o, true)
	if err != nil {
		return nil, Report{}, err
	}
	w, err := series.workload(o)
	return w, series.Report, err
}

func (p source) looksLike(f *format) bool {
	r, err := p.open()
	if err != nil {
		return false // reading reports it
	}
	defer r.Close()
	first := newLines(r, newFaults("")).peek(2)
	return len(first) > 0 && detect(first) == f
}

// readInTurn reads parts that are consecutive in time.
func readInTurn(name string, parts []source, o Options) (*Workload, Report, error) {
	var all []*Workload
	var total Report
	for _, p := range parts {
		series, err := read(p.name, []source{p}, o, true)
		if err != nil {
			return nil, Report{}, err
		}
		all = append(all, &Workload{Name: p.name, Step: series.Step, Rates: series.Values})
		total.Format = series.Report.Format
		total.Rows += series.Report.Rows
		total.Selected += series.Report.Selected
		total.Bad += series.Report.Bad
	}
	w, err := Concat(name, all...)
	if err != nil {
		return nil, Report{}, err
	}
	w, err = o.fit(w)
	return w, total, err
}

// isSpec reports whether a name begins like a specification: with the name of a built-in or a
// generator.
func isSpec(name string) bool {
	word := name
	if i := strings.IndexAny(name, ":+"); i >= 0 {
		word = name[:i]
	}
	return slices.Contains(builtinNames(), word) || slices.Contains(generatorNames(), word)
}

func looksLikePath(name string) bool {
	if strings.ContainsAny(name, `/\`) {
		return true
	}
	for _, ending := range []string{".csv", ".gz", ".json", ".jsonl", ".txt"} {
		if strings.HasSuffix(name, ending) {
			return true
		}
	}
	return false
}
