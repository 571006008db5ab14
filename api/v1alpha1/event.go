package v1alpha1

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EventsAnnotation announces events in the form NAME=START/END*FACTOR,
// comma-separated, for tools that cannot edit the spec:
// sale=2026-11-27T08:00:00Z/2026-11-27T20:00:00Z*3. An event of the same name in the
// spec counts instead.
const EventsAnnotation = "loadline.dev/events"

// Event is an announced change of the load.
//
// +kubebuilder:validation:XValidation:rule="self.start < self.end",message="end must be after start"
type Event struct {
	// Name of the event, such as sale.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9]([-_.A-Za-z0-9]*[A-Za-z0-9])?$')",message="must consist of letters, digits, hyphens, underscores and dots"
	Name string `json:"name"`

	// When it begins, such as 2026-11-27T08:00:00Z.
	// +required
	Start metav1.Time `json:"start"`

	// When it ends.
	// +required
	End metav1.Time `json:"end"`

	// How many times as many requests users send during the event as they would
	// otherwise.
	// +required
	// +kubebuilder:validation:XValidation:rule="double(string(self)) >= 0.01 && double(string(self)) <= 1000.0",message="must be from 0.01 to 1000"
	Factor Number `json:"factor"`
}

// Announced returns the events of the spec and of the annotation that are not over,
// by their start. The error names each part of the annotation that is not
// understood; the others are returned all the same.
func (l *LoadLine) Announced(now time.Time) ([]Event, error) {
	all := slices.Clone(l.Spec.Events)
	more, err := parseEvents(l.Annotations[EventsAnnotation])
	for _, e := range more {
		if !slices.ContainsFunc(all, func(o Event) bool { return o.Name == e.Name }) {
			all = append(all, e)
		}
	}
	all = slices.DeleteFunc(all, func(e Event) bool { return !now.Before(e.End.Time) })
	slices.SortStableFunc(all, func(a, b Event) int { return a.Start.Compare(b.Start.Time) })
	return all, err
}

// maxEvents in the spec, and in the annotation.
const maxEvents = 64

func parseEvents(text string) ([]Event, error) {
	var events []Event
	var faults []error
	for _, part := range strings.Split(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		e, err := parseEvent(part)
		switch {
		case err != nil:
			faults = append(faults, fmt.Errorf("annotation %s: %q: %w: write NAME=START/END*FACTOR, such as "+
				"sale=2026-11-27T08:00:00Z/2026-11-27T20:00:00Z*3", EventsAnnotation, part, err))
		case slices.ContainsFunc(events, func(o Event) bool { return o.Name == e.Name }):
			faults = append(faults, fmt.Errorf("annotation %s: the event %q occurs twice: rename one", EventsAnnotation, e.Name))
		default:
			events = append(events, e)
		}
	}
	if len(events) > maxEvents {
		faults = append(faults, fmt.Errorf("annotation %s: it has %d events: the first %d count", EventsAnnotation, len(events), maxEvents))
		events = events[:maxEvents]
	}
	return events, errors.Join(faults...)
}

func parseEvent(text string) (Event, error) {
	name, rest, named := strings.Cut(text, "=")
	start, rest, ended := strings.Cut(rest, "/")
	end, factor, sized := strings.Cut(rest, "*")
	if !named || !ended || !sized || name == "" {
		return Event{}, errors.New("a part is missing")
	}
	e := Event{Name: name, Factor: Number(intstr.Parse(factor))}
	for _, at := range []struct {
		to   *metav1.Time
		text string
	}{{&e.Start, start}, {&e.End, end}} {
		t, err := time.Parse(time.RFC3339, at.text)
		if err != nil {
			return Event{}, fmt.Errorf("%q is no time", at.text)
		}
		at.to.Time = t
	}
	if !e.Start.Time.Before(e.End.Time) {
		return Event{}, errors.New("the end must be after the start")
	}
	if f, err := e.Factor.Float(); err != nil || f < 0.01 || f > 1000 {
		return Event{}, fmt.Errorf("the factor %q must be a number from 0.01 to 1000", factor)
	}
	return e, nil
}
