package bench

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/loadline/loadline/internal/result"
)

// Files of the results within the folder.
const (
	ResultsJSON = "results.json"
	ResultsCSV  = "results.csv"
)

func (r *Results) write(dir string) error {
	var object, table bytes.Buffer
	if err := r.WriteJSON(&object); err != nil {
		return err
	}
	if err := r.WriteCSV(&table); err != nil {
		return err
	}
	if err := writeWhole(filepath.Join(dir, ResultsCSV), table.Bytes()); err != nil {
		return err
	}
	return writeWhole(filepath.Join(dir, ResultsJSON), object.Bytes())
}

// WriteJSON writes one object, indented.
func (r *Results) WriteJSON(w io.Writer) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

// WriteCSV writes one line for each case and measure.
func (r *Results) WriteCSV(w io.Writer) error {
	table := csv.NewWriter(w)
	table.Write([]string{
		"scene", "app", "workload", "perturbation", "engine", "cluster", "label", "policy", "seeds", "met",
		"measure", "mean", "low", "high", "difference", "difference_low", "difference_high",
	})
	for _, row := range r.Rows {
		c := row.Case
		line := func(measure string, value, against Interval, compared bool) {
			fields := []string{
				c.Scene, c.App, c.Workload, c.Perturbation, c.Engine, c.Cluster, c.Label, c.Policy,
				strconv.Itoa(row.Seeds), strconv.FormatBool(row.Met), measure, cellText(value.Mean), cellText(value.Low), cellText(value.High), "", "", "",
			}
			if compared {
				fields = append(fields[:14], cellText(against.Mean), cellText(against.Low), cellText(against.High))
			}
			table.Write(fields)
		}
		for _, name := range MeasureNames() {
			against, compared := row.Against[name]
			line(name, row.Measures[name], against, compared)
		}
		for _, more := range []struct {
			name string
			of   *Interval
		}{{"bound", row.Bound}, {"above_bound", row.AboveBound}, {"bound_core_hours", row.BoundCoreHours},
			{"over_oracle", row.OverOracle}, {"above_oracle", row.AboveOracle}} {
			if more.of != nil {
				line(more.name, *more.of, Interval{}, false)
			}
		}
	}
	table.Flush()
	return table.Error()
}

// cellText is the number as in JSON; empty = absent.
func cellText(n result.Number) string {
	text, err := n.MarshalJSON()
	if err != nil || string(text) == "null" {
		return ""
	}
	return string(text)
}

// ReadResults reads results.json from a folder, or a results file.
func ReadResults(path string) (*Results, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, ResultsJSON)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	var made stamp
	r := &Results{}
	if err := json.Unmarshal(text, &made); err != nil {
		return nil, fmt.Errorf("read results %s: %w", path, err)
	}
	if made.Format != FormatVersion {
		return nil, fmt.Errorf("%w: use the loadline that wrote it, or run the comparison again into another folder",
			&OtherVersionError{Path: path, Format: made.Format, Program: made.Program})
	}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("read results %s: %w", path, err)
	}
	return r, nil
}
