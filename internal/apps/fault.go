package apps

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Fault is one fault of a model file, and how to fix it.
type Fault struct {
	File  string
	Line  int    // 0 = the file as a whole
	Field string // as a path, "services.front.cpu.mean"
	Value string // as written; empty = absent
	Want  string // what it must be, to follow "must be"
}

func (f Fault) Error() string {
	var b strings.Builder
	b.WriteString(f.File)
	if f.Line > 0 {
		fmt.Fprintf(&b, ":%d", f.Line)
	}
	b.WriteString(": ")
	if f.Field != "" {
		b.WriteString(f.Field)
	} else {
		b.WriteString("the file")
	}
	if f.Value == "" {
		b.WriteString(" is absent")
	} else {
		fmt.Fprintf(&b, " is %q", abridge(f.Value))
	}
	return b.String() + "; must be " + f.Want
}

// abridge shortens a whole block in place of a number.
func abridge(s string) string {
	const most = 120
	runes := []rune(s)
	if len(runes) <= most {
		return s
	}
	return string(runes[:most]) + "..."
}

// joinFaults sorts them in the order of the file.
func joinFaults(faults []Fault) error {
	slices.SortStableFunc(faults, func(a, b Fault) int { return cmp.Compare(a.Line, b.Line) })
	errs := make([]error, len(faults))
	for i, f := range faults {
		errs[i] = f
	}
	return errors.Join(errs...)
}
