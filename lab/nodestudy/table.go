package nodestudy

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
)

// Measurement is one figure of one repeat of a run.
type Measurement struct {
	Question, Run string
	Repeat        int
	Figure
	Value float64
}

// Figures of a measurement itself; Of is Generator or Machine.
const (
	Generator  = "generator"
	Machine    = "machine"
	LateP99Ms  = "late_p99_ms"  // how late requests were sent
	ThrownAway = "thrown_away"  // attempts before this one in which the generator was late
	Others     = "others_cores" // CPU used by processes of the machine that are not the test's
	Sent       = "sent"         // requests that were counted
)

var (
	predictionColumns  = []string{"question", "run", "of", "figure", "median", "low", "high"}
	measurementColumns = []string{"question", "run", "repeat", "of", "figure", "value"}
)

// WritePredictions writes predictions as CSV.
func WritePredictions(w io.Writer, all []Prediction) error {
	out := csv.NewWriter(w)
	rows := [][]string{predictionColumns}
	for _, p := range all {
		rows = append(rows, []string{p.Question, p.Run, p.Of, p.Name, number(p.Median), number(p.Low), number(p.High)})
	}
	return out.WriteAll(rows)
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', 5, 64) }

// ReadPredictions reads what WritePredictions wrote.
func ReadPredictions(r io.Reader) ([]Prediction, error) {
	var all []Prediction
	err := read(r, predictionColumns, func(row []string) error {
		values, err := numbers(row[4:])
		if err == nil {
			all = append(all, Prediction{row[0], row[1], Figure{row[2], row[3]}, values[0], values[1], values[2]})
		}
		return err
	})
	return all, err
}

// ReadMeasurements reads what Append wrote.
func ReadMeasurements(r io.Reader) ([]Measurement, error) {
	var all []Measurement
	err := read(r, measurementColumns, func(row []string) error {
		repeat, err := strconv.Atoi(row[2])
		values, err2 := numbers(row[5:])
		if err := errors.Join(err, err2); err != nil {
			return err
		}
		all = append(all, Measurement{row[0], row[1], repeat, Figure{row[3], row[4]}, values[0]})
		return nil
	})
	return all, err
}

func read(r io.Reader, columns []string, each func(row []string) error) error {
	in := csv.NewReader(r)
	head, err := in.Read()
	if err != nil {
		return err
	}
	if !slices.Equal(head, columns) {
		return fmt.Errorf("the columns are %v, want %v", head, columns)
	}
	for line := 2; ; line++ {
		row, err := in.Read()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = each(row)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
}

func numbers(cells []string) ([]float64, error) {
	out := make([]float64, len(cells))
	for i, cell := range cells {
		v, err := strconv.ParseFloat(cell, 64)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

// Append adds the measurements of one run to a file, which it makes if there is none.
func Append(path string, all []Measurement) error {
	_, err := os.Stat(path)
	fresh := errors.Is(err, fs.ErrNotExist)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	out := csv.NewWriter(f)
	var rows [][]string
	if fresh {
		rows = append(rows, measurementColumns)
	}
	for _, m := range all {
		rows = append(rows, []string{m.Question, m.Run, strconv.Itoa(m.Repeat), m.Of, m.Name, number(m.Value)})
	}
	return errors.Join(out.WriteAll(rows), f.Close())
}
