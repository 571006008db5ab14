package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/loadline/loadline/internal/bench"
)

// Read makes the report of a bench directory.
func Read(dir string) (*Report, error) {
	results, err := Results(dir)
	if err != nil {
		return nil, err
	}
	runs, err := readRuns(dir, results)
	if err != nil {
		return nil, err
	}
	b := newBuilder(results)
	for i := range results.Rows {
		for _, key := range results.Rows[i].Runs {
			if err := b.addRun(i, runs[key]); err != nil {
				return nil, fmt.Errorf("%s: %w", runPath(dir, key), err)
			}
		}
	}
	return b.finish()
}

// readRuns reads and packs all runs of the rows, each once. A thousand of them are hundreds of
// megabytes: they are packed as they are read, in parallel.
func readRuns(dir string, results *bench.Results) (map[string]*run, error) {
	runs := map[string]*run{}
	for i := range results.Rows {
		for _, key := range results.Rows[i].Runs {
			runs[key] = nil
		}
	}
	keys := slices.Sorted(maps.Keys(runs))
	found := make([]*run, len(keys))
	faults := make([]error, len(keys))
	var next atomic.Int64
	var pending sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		pending.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(keys)); i = next.Add(1) - 1 {
				found[i], faults[i] = readRun(dir, keys[i])
			}
		})
	}
	pending.Wait()
	for i, key := range keys {
		if faults[i] != nil {
			return nil, faults[i] // the first error also fixes the others
		}
		runs[key] = found[i]
	}
	return runs, nil
}

// Results reads the table of a bench alone, without its runs.
func Results(dir string) (*bench.Results, error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("directory %s does not exist: create it with `loadline bench --out %s`", dir, dir)
	}
	path := filepath.Join(dir, bench.ResultsJSON)
	var results bench.Results
	err := readJSON(path, &results, func() int { return results.Format })
	if errors.Is(err, fs.ErrNotExist) {
		runs, _ := filepath.Glob(filepath.Join(dir, "runs", "*.json"))
		if len(runs) == 0 {
			return nil, fmt.Errorf("%s has no results.json, so it is not a bench directory: create one with `loadline bench --out %s`",
				dir, dir)
		}
		return nil, fmt.Errorf("%s has %d runs but no results.json: the bench is incomplete; run it again with the same flags and "+
			"--out %s to resume it", dir, len(runs), dir)
	}
	if err != nil {
		return nil, err
	}
	if len(results.Rows) == 0 {
		return nil, fmt.Errorf("%s has no rows: there is nothing to report", path)
	}
	return &results, nil
}

func runPath(dir, key string) string { return filepath.Join(dir, "runs", key+".json") }

// readRun reads a run. It is identified by its key; its case may have an older name.
func readRun(dir, key string) (*run, error) {
	if key == "" || strings.ContainsAny(key, `/\`) {
		return nil, fmt.Errorf("%s: run %q is not the name of a file", filepath.Join(dir, bench.ResultsJSON), key)
	}
	path := runPath(dir, key)
	var record bench.Record
	err := readJSON(path, &record, func() int { return record.Format })
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s is missing although results.json lists it; run the bench again with --out %s, which repeats only "+
			"missing runs", path, dir)
	case err != nil:
		return nil, err
	case record.Key != key:
		return nil, fmt.Errorf("%s contains run %q, so it was renamed or copied: delete it and run the bench again with --out %s", path,
			record.Key, dir)
	}
	packed, err := packRun(&record)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return packed, nil
}

// readJSON reads a file of the bench's format. The version is checked before anything else:
// another version may look broken here.
func readJSON(path string, into any, format func() int) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	err = json.Unmarshal(text, into)
	version := format()
	if err != nil {
		var head struct{ Format *int }
		if json.Unmarshal(text, &head) == nil && head.Format != nil {
			version = *head.Format
		} else {
			version = bench.FormatVersion
		}
	}
	if version != bench.FormatVersion {
		return fmt.Errorf("%s has format %d, and this program reads format %d; use the program that wrote it, or run the bench again "+
			"into another directory", path, version, bench.FormatVersion)
	}
	var torn *json.SyntaxError
	switch {
	case errors.As(err, &torn):
		return fmt.Errorf("%s is truncated or not JSON (%w, at byte %d of %d); delete it and run the bench again with the same --out",
			path, err, torn.Offset, len(text))
	case err != nil:
		return fmt.Errorf("%s is not what the bench writes: %w", path, err)
	}
	return nil
}
