//go:build !js

package history

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"
)

// readPart reads the selected rows of one file. Errors name the file.
func (r *reader) readPart(path string, t *table, part int) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	defer func() {
		if p := recover(); p != nil { // the Parquet reader panics on damaged files
			err = fmt.Errorf("%v", p)
		}
		if err != nil {
			err = fmt.Errorf("%s: %w; copy it anew, or make the history again in another folder", path, err)
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	file, err := parquet.OpenFile(f, info.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return fmt.Errorf("not a whole Parquet file: %w", err)
	}
	if err := t.checkFile(file, part); err != nil {
		return err
	}
	columns, err := t.findColumns(file.Schema())
	if err != nil {
		return err
	}
	for _, group := range file.RowGroups() {
		if err := r.readGroup(group, t, columns, part); err != nil {
			return err
		}
	}
	return nil
}

// checkFile rejects files that are not a part of a history, or of another position in it.
func (t *table) checkFile(file *parquet.File, part int) error {
	version, found := file.Lookup(keyVersion)
	if !found {
		return errors.New("not a part of a history: its Parquet metadata has no " + keyVersion)
	}
	n, err := strconv.Atoi(version)
	if err != nil {
		return fmt.Errorf("%s %q must be a number", keyVersion, version)
	}
	if err := checkVersion(n); err != nil {
		return err
	}
	of, _ := file.Lookup(keyOf)
	is, _ := file.Lookup(keyPart)
	if of != t.of || is != strconv.Itoa(part) {
		return fmt.Errorf("it says it is part %s of the %s, and stands in for part %d of the %s", is, of, part, t.of)
	}
	return nil
}

// columns of a file, by position.
type columns struct {
	time    int
	names   []int
	metrics []int // -1 = the file has none
}

func (t *table) findColumns(schema *parquet.Schema) (columns, error) {
	find := func(name string) (int, parquet.LeafColumn) {
		leaf, found := schema.Lookup(name)
		if !found {
			return -1, leaf
		}
		return leaf.ColumnIndex, leaf
	}
	c := columns{names: make([]int, len(t.names)), metrics: make([]int, len(t.metrics))}
	var leaf parquet.LeafColumn
	if c.time, leaf = find(columnTime); c.time < 0 || leaf.MaxRepetitionLevel > 0 || leaf.MaxDefinitionLevel > 0 ||
		!isMillis(leaf.Node.Type()) {
		return c, fmt.Errorf("no column %q of timestamps in milliseconds", columnTime)
	}
	for i, name := range t.names {
		if c.names[i], leaf = find(name); c.names[i] < 0 || leaf.MaxRepetitionLevel > 0 || leaf.MaxDefinitionLevel > 0 ||
			leaf.Node.Type().Kind() != parquet.ByteArray {
			return c, fmt.Errorf("no column %q of strings", name)
		}
	}
	for i, name := range t.metrics {
		if c.metrics[i], leaf = find(name); c.metrics[i] >= 0 && (leaf.MaxRepetitionLevel > 0 ||
			leaf.Node.Type().Kind() != parquet.Float) {
			return c, fmt.Errorf("column %q must be of 32 bit floats", name)
		}
	}
	return c, nil
}

func isMillis(t parquet.Type) bool {
	l := t.LogicalType()
	return t.Kind() == parquet.Int64 && l != nil && strings.Contains(l.String(), "TIMESTAMP") && strings.Contains(l.String(), "MILLIS")
}

// readGroup reads the rows of one row group. The key columns are read first: if none is
// selected, the others are not read.
func (r *reader) readGroup(group parquet.RowGroup, t *table, c columns, part int) error {
	if n := group.NumRows(); n < 0 || n > mostSteps {
		return fmt.Errorf("a row group of %d rows", n)
	}
	rows := int(group.NumRows())
	chunks := group.ColumnChunks()
	owners, wanted, err := r.owners(chunks, t, c, rows)
	if err != nil || !wanted {
		return err
	}
	steps, err := r.stepsOf(chunks[c.time], owners, rows, part)
	if err != nil {
		return err
	}
	for m, column := range c.metrics {
		if column < 0 {
			continue
		}
		err := r.readColumn(chunks[column], rows, func(i int, v parquet.Value) {
			if steps[i] < 0 || v.IsNull() {
				return
			}
			if x := v.Float(); !math.IsNaN(float64(x)) {
				s := &owners.of(i).series[t.index[m]]
				if *s == nil {
					*s = NewSeries(r.to - r.from)
				}
				(*s)[steps[i]] = x
			}
		})
		if err != nil {
			return fmt.Errorf("column %s: %w", t.metrics[m], err)
		}
	}
	return nil
}

// owners is the run of each row of a group: one for all, as we write them, or one for each. Nil
// is not selected.
type owners struct {
	one  *gathered
	each []*gathered
}

func (o owners) of(row int) *gathered {
	if o.each == nil {
		return o.one
	}
	return o.each[row]
}

// owners reads the key columns, and reports whether any row is selected.
func (r *reader) owners(chunks []parquet.ColumnChunk, t *table, c columns, rows int) (o owners, wanted bool, err error) {
	names := make([]string, len(c.names))
	named := make([][]string, len(c.names)) // by column, then row; nil = the same in all rows
	several := false
	for k, column := range c.names {
		if names[k], named[k], err = r.readNames(chunks[column], rows); err != nil {
			return o, false, fmt.Errorf("column %s: %w", t.names[k], err)
		}
		several = several || named[k] != nil
	}
	if !several {
		if wanted = rows > 0 && r.wants(t, names); wanted {
			o.one = r.run(t, names)
		}
		return o, wanted, nil
	}
	o.each = make([]*gathered, rows)
	for i := range o.each {
		same := i > 0
		for k := range named {
			if named[k] != nil {
				same = same && names[k] == named[k][i]
				names[k] = named[k][i]
			}
		}
		switch {
		case same:
			o.each[i] = o.each[i-1]
		case r.wants(t, names):
			o.each[i], wanted = r.run(t, names), true
		}
	}
	return o, wanted, nil
}

// readNames reads a column of names: one if all rows have the same, which its dictionary shows
// without the rows.
func (r *reader) readNames(chunk parquet.ColumnChunk, rows int) (one string, each []string, err error) {
	if one, found, err := onlyName(chunk, rows); found || err != nil {
		return one, nil, err
	}
	each = make([]string, rows)
	last := ""
	err = r.readColumn(chunk, rows, func(i int, v parquet.Value) {
		if b := v.ByteArray(); string(b) != last {
			last = string(b)
		}
		each[i] = last
	})
	return "", each, err
}

func onlyName(chunk parquet.ColumnChunk, rows int) (name string, found bool, err error) {
	if chunk.NumValues() != int64(rows) {
		return "", false, fmt.Errorf("%d values for the %d rows of its group", chunk.NumValues(), rows)
	}
	pages := chunk.Pages()
	defer pages.Close()
	page, err := pages.ReadPage()
	if errors.Is(err, io.EOF) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	defer parquet.Release(page)
	if d := page.Dictionary(); d != nil && d.Len() == 1 {
		return string(d.Index(0).ByteArray()), true, nil
	}
	return "", false, nil
}

func (r *reader) run(t *table, names []string) *gathered {
	key := t.of + "\x00" + strings.Join(names, "\x00")
	g := r.runs[key]
	if g == nil {
		g = &gathered{table: t, names: slices.Clone(names), series: make([]Series, max(int(ServiceMetrics), int(CallMetrics), int(NodeMetrics))),
			seen: make([]bool, r.to-r.from)}
		r.runs[key] = g
	}
	return g
}

// stepsOf turns times into steps, counted from the first selected one; -1 for others. Times
// must match the manifest: otherwise the clock jumped, or the file is from elsewhere.
func (r *reader) stepsOf(chunk parquet.ColumnChunk, owners owners, rows, part int) ([]int, error) {
	m := &r.manifest
	first, last := m.Span(part)
	start, every := m.Start.UnixMilli(), m.Step.Milliseconds()
	steps := slices.Grow(r.steps[:0], rows)[:rows]
	r.steps = steps
	var fault error
	err := r.readColumn(chunk, rows, func(i int, v parquet.Value) {
		steps[i] = -1
		g := owners.of(i)
		if g == nil || fault != nil {
			return
		}
		since := v.Int64() - start
		step := since / every
		at := time.UnixMilli(v.Int64())
		switch {
		case since%every != 0 || step < int64(first) || step >= int64(last):
			fault = fmt.Errorf("%s has a row at %s; this part holds every %v from %s to %s, so its times do not continue those before",
				strings.Join(g.names, " "),
				at.UTC().Format(time.RFC3339Nano), m.Step, instant(m.At(first)), instant(m.At(last-1)))
		case int(step) < r.from || int(step) >= r.to:
		case g.seen[int(step)-r.from]:
			fault = fmt.Errorf("%s has two rows at %s", strings.Join(g.names, " "), instant(at))
		default:
			steps[i] = int(step) - r.from
			g.seen[steps[i]] = true
		}
	})
	if err != nil {
		return nil, fmt.Errorf("column %s: %w", columnTime, err)
	}
	return steps, fault
}

// readColumn reads all values of a column, in the order of the rows.
func (r *reader) readColumn(chunk parquet.ColumnChunk, rows int, take func(i int, v parquet.Value)) error {
	pages := chunk.Pages()
	defer pages.Close()
	row := 0
	for {
		page, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		values := page.Values()
		for {
			n, err := values.ReadValues(r.buffer)
			if row+n > rows {
				return fmt.Errorf("more values than the %d rows of its group", rows)
			}
			for _, v := range r.buffer[:n] {
				take(row, v)
				row++
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
		}
		parquet.Release(page)
	}
	if row != rows {
		return fmt.Errorf("%d values for the %d rows of its group", row, rows)
	}
	return nil
}
