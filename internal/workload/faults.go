package workload

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// maxFaults is how many faults are listed; the rest are counted. A file in the wrong layout has
// one on every line.
const maxFaults = 20

// maxQuoted bounds how much of a wrong value is quoted.
const maxQuoted = 60

// Fault is one thing wrong with an input.
type Fault struct {
	File  string
	Line  int    // 0 = the file as a whole
	Field string // column, key or part
	Value string // as found; empty = missing
	Want  string // what it must be
}

func (f Fault) Error() string {
	var b strings.Builder
	if f.File != "" {
		b.WriteString(f.File + ": ")
	}
	if f.Line > 0 {
		fmt.Fprintf(&b, "line %d: ", f.Line)
	}
	if f.Field != "" {
		b.WriteString(f.Field + ": ")
	}
	if f.Value != "" {
		b.WriteString(quoted(f.Value) + " ")
	}
	b.WriteString(f.Want)
	return b.String()
}

func quoted(value string) string {
	if len(value) > maxQuoted {
		return fmt.Sprintf("%q...", value[:maxQuoted])
	}
	return fmt.Sprintf("%q", value)
}

// Faults is everything wrong with one input, by line.
type Faults struct {
	File string
	List []Fault // at most maxFaults
	More int     // number of further faults
}

func newFaults(file string) *Faults { return &Faults{File: file} }

func (f *Faults) add(line int, field, value, want string) {
	if len(f.List) == maxFaults {
		f.More++
		return
	}
	if len(value) > 4*maxQuoted { // a line may be a megabyte; do not keep it
		value = strings.Clone(value[:4*maxQuoted])
	}
	f.List = append(f.List, Fault{File: f.File, Line: line, Field: field, Value: value, Want: want})
}

// err returns the faults as an error, or nil if there are none.
func (f *Faults) err() error {
	if len(f.List) == 0 {
		return nil
	}
	slices.SortStableFunc(f.List, func(a, b Fault) int { return cmp.Compare(a.Line, b.Line) })
	return f
}

func (f *Faults) Error() string {
	texts := make([]string, 0, len(f.List)+1)
	for _, fault := range f.List {
		texts = append(texts, fault.Error())
	}
	if f.More > 0 {
		texts = append(texts, fmt.Sprintf("%s: and %d more", f.File, f.More))
	}
	return strings.Join(texts, "\n")
}

// Unwrap lets errors.As find each fault.
func (f *Faults) Unwrap() []error {
	errs := make([]error, len(f.List))
	for i, fault := range f.List {
		errs[i] = fault
	}
	return errs
}
