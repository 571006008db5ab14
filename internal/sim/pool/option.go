package pool

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/loadline/loadline/internal/suggest"
)

// option is one key of a text "key=value,key=value" about a T. The same table parses,
// checks and writes it.
type option[T any] struct {
	key       string
	unit      unit
	low, high float64 // of the value
	get       func(*T) float64
	set       func(*T, float64)
	mayBeZero bool // outside the range, 0 is allowed in a T: it means the default
}

// want is what a value must be.
func (o option[T]) want() string {
	if o.unit.words {
		return "must be " + o.unit.is
	}
	want := fmt.Sprintf("must be %s from %s to %s", o.unit.is, o.unit.format(o.low), o.unit.format(o.high))
	if o.unit.sample != "" {
		want += ", such as " + o.unit.sample
	}
	return want
}

func (o option[T]) allows(x float64) bool {
	return x >= o.low && x <= o.high || o.unit.is == spanOrNever.is && x == -1
}

// check that the value which x has is allowed.
func (o option[T]) check(x *T) error {
	if v := o.get(x); !o.allows(v) && !(v == 0 && o.mayBeZero) {
		return fmt.Errorf("%s=%s: %s", o.key, o.unit.format(v), o.want())
	}
	return nil
}

func (o option[T]) read(to *T, value string) error {
	x, ok := o.unit.parse(value)
	if !ok || !o.allows(x) {
		return fmt.Errorf("%s=%s: %s", o.key, value, o.want())
	}
	o.set(to, x)
	return nil
}

// field is one "key=value" of a text.
type field struct{ key, value string }

// fields of a text. A first field without "=" is a name if there may be one.
func fields(text string, mayBeNamed bool) (name string, all []field, faults []error) {
	for i, part := range strings.Split(text, ",") {
		key, value, found := strings.Cut(strings.TrimSpace(part), "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		switch {
		case found && key != "":
			if hasKey(all, key) {
				faults = append(faults, fmt.Errorf("key %q is given twice", key))
			}
			all = append(all, field{key, value})
		case i == 0 && mayBeNamed && key != "" && !found:
			name = key
		default:
			faults = append(faults, fmt.Errorf("%q must be key=value", part))
		}
	}
	return name, all, faults
}

// readFields sets what the fields name and returns those that are not options.
func readFields[T any](to *T, all []field, options []option[T]) (others []field, faults []error) {
	for _, f := range all {
		i := slices.IndexFunc(options, func(o option[T]) bool { return o.key == f.key })
		if i < 0 {
			others = append(others, f)
			continue
		}
		if err := options[i].read(to, f.value); err != nil {
			faults = append(faults, err)
		}
	}
	return others, faults
}

// written is the options in which a value differs from another.
func written[T any](x, base *T, options []option[T]) []string {
	var all []string
	for _, o := range options {
		if v := o.get(x); v != o.get(base) {
			all = append(all, o.key+"="+o.unit.format(v))
		}
	}
	return all
}

func checked[T any](x *T, options []option[T]) []error {
	var faults []error
	for _, o := range options {
		if err := o.check(x); err != nil {
			faults = append(faults, err)
		}
	}
	return faults
}

func unknownKey(key string, known []string) error {
	return fmt.Errorf("unknown key %q%s", key, suggest.Hint(key, known))
}

func keysOf[T any](options []option[T]) []string {
	keys := make([]string, len(options))
	for i, o := range options {
		keys[i] = o.key
	}
	return keys
}

// about says of every fault what it is of.
func about(what string, faults []error) error {
	for i, err := range faults {
		faults[i] = fmt.Errorf("%s: %w", what, err)
	}
	return errors.Join(faults...)
}

func hasKey(all []field, key string) bool {
	return slices.ContainsFunc(all, func(f field) bool { return f.key == key })
}
