package apps

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// need reads a required figure.
func need[T any](o object, field string, is rule[T]) T {
	a, ok := o.need(field, is.want)
	if !ok {
		var zero T
		return zero
	}
	return scalar(o.r, a, is)
}

// orDefault reads a figure, or uses and records the format's default.
func orDefault[T any](o object, field string, is rule[T], byDefault T) T {
	if a, ok := o.fields[field]; ok {
		return scalar(o.r, a, is)
	}
	o.r.defaulted(o.path(field), byDefault)
	return byDefault
}

// orNone reads a figure whose absence has a meaning: no limit, no timeout, a call made once.
func orNone[T any](o object, field string, is rule[T], none T) T {
	if a, ok := o.fields[field]; ok {
		return scalar(o.r, a, is)
	}
	return none
}

func (r *reader) defaulted(path string, value any) {
	r.figures = append(r.figures, Figure{Field: path, Value: fmt.Sprint(value)})
}

// scalar reads one figure and records its origin.
func scalar[T any](r *reader, a at, is rule[T]) T {
	var zero T
	if a.Kind != yaml.ScalarNode {
		r.fault(a.Line, a.path, a.text(), is.want)
		return zero
	}
	v, ok := is.parse(a.Value)
	if !ok {
		r.fault(a.Line, a.path, a.text(), is.want)
		return zero
	}
	r.figures = append(r.figures, Figure{Field: a.path, Line: a.Line, Value: a.Value, Origin: a.origin})
	return v
}

// span reads a pair [least, most].
func span[T int | int64 | float64](o object, field string, is rule[T]) (least, most T) {
	want := "a pair [least, most], each " + is.want
	a, ok := o.need(field, want)
	if !ok {
		return 0, 0
	}
	if a.Kind != yaml.SequenceNode || len(a.Content) != 2 {
		o.r.fault(a.Line, a.path, a.text(), want)
		return 0, 0
	}
	found := len(o.r.faults)
	least = scalar(o.r, o.r.enter(a.Content[0], a.path+"[0]", a.origin), is)
	most = scalar(o.r, o.r.enter(a.Content[1], a.path+"[1]", a.origin), is)
	if len(o.r.faults) > found {
		return 0, 0
	}
	if least > most {
		written := fmt.Sprintf("[%s, %s]", a.Content[0].Value, a.Content[1].Value)
		o.r.fault(a.Line, a.path, written, "a pair [least, most], the least first")
		return 0, 0
	}
	return least, most
}
