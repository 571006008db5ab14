//go:build !js

package history

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/parquet-go/parquet-go"
)

// run is all rows of one service or node, or of the calls of one pair, which are adjacent on disk.
type run struct {
	names  []string
	series []Series
}

// mostGroups keeps a file well below Parquet's limit.
const mostGroups = 4096

// writePart writes the runs of one part, each as its own row group, so that the columns of one
// service can be read without the others. Only one run is in memory in Parquet's form at a
// time.
func (t *table) writePart(w io.Writer, part int, start time.Time, step time.Duration, steps int, runs []run) error {
	out := parquet.NewGenericWriter[any](w, t.schema, parquet.CreatedBy("loadline", "history", strconv.Itoa(Version)),
		parquet.KeyValueMetadata(keyVersion, strconv.Itoa(Version)),
		parquet.KeyValueMetadata(keyOf, t.of),
		parquet.KeyValueMetadata(keyPart, strconv.Itoa(part)))
	values := make([]parquet.Value, steps)
	perGroup := (len(runs) + mostGroups - 1) / mostGroups
	for i, r := range runs {
		if err := t.writeRun(out.ColumnWriters(), values, start, step, r); err != nil {
			return err
		}
		if perGroup > 0 && (i+1)%perGroup == 0 {
			if err := out.Flush(); err != nil {
				return err
			}
		}
	}
	return out.Close()
}

func (t *table) writeRun(columns []*parquet.ColumnWriter, values []parquet.Value, start time.Time, step time.Duration, r run) error {
	c := 0
	write := func(fill func(i int) parquet.Value) error {
		for i := range values {
			values[i] = fill(i)
		}
		_, err := columns[c].WriteRowValues(values)
		c++
		return err
	}
	first, every := start.UnixMilli(), step.Milliseconds()
	if err := write(func(i int) parquet.Value { return parquet.Int64Value(first+int64(i)*every).Level(0, 0, c) }); err != nil {
		return err
	}
	for _, name := range r.names {
		v := parquet.ByteArrayValue([]byte(name)).Level(0, 0, c)
		if err := write(func(int) parquet.Value { return v }); err != nil {
			return err
		}
	}
	for _, s := range r.series {
		if err := write(func(i int) parquet.Value { return optional(s, i, c) }); err != nil {
			return err
		}
	}
	return nil
}

// optional is null if the value is absent. A measured zero is a zero.
func optional(s Series, i, column int) parquet.Value {
	if s == nil || s[i] != s[i] {
		return parquet.Value{}.Level(0, 0, column)
	}
	return parquet.FloatValue(s[i]).Level(0, 1, column)
}

// serviceRuns returns the runs of a part after checking them.
func (h *History) serviceRuns() ([]run, error) {
	services, _, _ := tables()
	var runs []run
	for i := range h.Services {
		s := &h.Services[i]
		switch {
		case s.Name == "":
			return nil, fmt.Errorf("service %d has no name", i)
		case i > 0 && h.Services[i-1].Name >= s.Name:
			return nil, fmt.Errorf("services must be sorted and differ: %q comes after %q", s.Name, h.Services[i-1].Name)
		}
		series := services.pick(s.Series[:])
		if err := h.checkLengths(series, services.metrics); err != nil {
			return nil, fmt.Errorf("service %s: %w", s.Name, err)
		}
		runs = append(runs, run{[]string{s.Name}, series})
	}
	return runs, nil
}

func (h *History) callRuns() ([]run, error) {
	_, calls, _ := tables()
	var runs []run
	for i := range h.Calls {
		c := &h.Calls[i]
		switch {
		case c.To == "":
			return nil, fmt.Errorf("calls %d from %q go nowhere", i, c.From)
		case i > 0 && h.Calls[i-1].compare(c) >= 0:
			return nil, fmt.Errorf("calls must be sorted and differ: %v comes after %v", c, &h.Calls[i-1])
		}
		series := calls.pick(c.Series[:])
		if err := h.checkLengths(series, calls.metrics); err != nil {
			return nil, fmt.Errorf("%v: %w", c, err)
		}
		runs = append(runs, run{[]string{c.From, c.To, c.Operation}, series})
	}
	return runs, nil
}

func (h *History) nodeRuns() ([]run, error) {
	_, _, nodes := tables()
	var runs []run
	for i := range h.Nodes {
		n := &h.Nodes[i]
		switch {
		case n.Name == "":
			return nil, fmt.Errorf("node %d has no name", i)
		case i > 0 && h.Nodes[i-1].Name >= n.Name:
			return nil, fmt.Errorf("nodes must be sorted and differ: %q comes after %q", n.Name, h.Nodes[i-1].Name)
		}
		series := nodes.pick(n.Series[:])
		if err := h.checkLengths(series, nodes.metrics); err != nil {
			return nil, fmt.Errorf("node %s: %w", n.Name, err)
		}
		runs = append(runs, run{[]string{n.Name}, series})
	}
	return runs, nil
}

func (h *History) checkLengths(series []Series, names []string) error {
	for m, s := range series {
		if s != nil && len(s) != h.Steps {
			return fmt.Errorf("%s has %d values for %d steps", names[m], len(s), h.Steps)
		}
	}
	return nil
}

// String names the pair.
func (c *Calls) String() string {
	from := c.From
	if from == "" {
		from = "users"
	}
	if c.Operation == "" {
		return fmt.Sprintf("calls from %s to %s", from, c.To)
	}
	return fmt.Sprintf("calls from %s to %s (%s)", from, c.To, c.Operation)
}
