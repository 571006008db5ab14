package validate

import (
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// table reads a CSV by column names. The first fault ends it.
type table struct {
	csv     *csv.Reader
	columns map[string]int
	row     []string
	line    int
	err     error
}

func readTable(r io.Reader) (*table, error) {
	c := csv.NewReader(r)
	c.ReuseRecord = true
	head, err := c.Read()
	if err != nil {
		return nil, err
	}
	t := &table{csv: c, columns: map[string]int{}, line: 1}
	for i, name := range head {
		t.columns[strings.Clone(name)] = i
	}
	return t, nil
}

func (t *table) next() bool {
	if t.err != nil {
		return false
	}
	t.row, t.err = t.csv.Read()
	t.line++
	if t.err == io.EOF {
		t.err = nil
		return false
	}
	return t.err == nil
}

func (t *table) text(column string) string {
	i, ok := t.columns[column]
	if !ok {
		t.fail(fmt.Errorf("no column %q", column))
		return ""
	}
	return t.row[i]
}

func (t *table) number(column string) float64 {
	v, err := strconv.ParseFloat(t.text(column), 64)
	if err != nil {
		t.fail(fmt.Errorf("line %d: %s: %w", t.line, column, err))
	}
	return v
}

// list is one or more numbers separated by slashes.
func (t *table) list(column string) []float64 {
	var out []float64
	for part := range strings.SplitSeq(t.text(column), "/") {
		v, err := strconv.ParseFloat(part, 64)
		if err != nil {
			t.fail(fmt.Errorf("line %d: %s: %w", t.line, column, err))
		}
		out = append(out, v)
	}
	return out
}

func (t *table) fail(err error) {
	if t.err == nil {
		t.err = err
	}
}

// starting is the columns with this prefix, in alphabetical order.
func (t *table) starting(prefix string) []string {
	var names []string
	for _, name := range sortedKeys(t.columns) {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	return names
}

// readGzip opens a file of the validation data; if it is missing the error is ErrNoData.
func readGzip(dir, name string, read func(*table) error) error {
	path := filepath.Join(dir, filepath.FromSlash(name))
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: there is no %s", ErrNoData, path)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	t, err := readTable(z)
	if err == nil {
		err = read(t)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}
