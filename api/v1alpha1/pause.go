package v1alpha1

import (
	"fmt"
	"slices"
	"strings"
)

// PausedAnnotation pauses: on a LoadLine "true" pauses the whole application, a
// comma-separated list of names these services; on a workload "true" pauses the
// service.
const PausedAnnotation = "loadline.dev/paused"

// Pause is what is paused.
type Pause struct {
	All      bool
	Services []string // names, if not all
	// Reason is the reason of the condition Paused, and Why its message.
	Reason, Why string
}

// Of reports whether a service is paused.
func (p Pause) Of(service string) bool { return p.All || slices.Contains(p.Services, service) }

// Pause returns what the spec and the annotation pause. An annotation that names
// an unknown service pauses everything, because that is the safe reading.
func (l *LoadLine) Pause() Pause {
	if l.Spec.Paused {
		return Pause{All: true, Reason: ReasonPausedInSpec, Why: "spec.paused is true"}
	}
	p := Pause{Reason: ReasonNotPaused}
	var known []string
	for i := range l.Spec.Services {
		s := &l.Spec.Services[i]
		known = append(known, s.Name)
		if s.Paused {
			p.Services = append(p.Services, s.Name)
		}
	}
	text := l.Annotations[PausedAnnotation]
	all, named, unknown := readPause(text, known)
	if l.Spec.Selector != nil { // a service that is not found now is paused when it is
		named, unknown = append(named, unknown...), nil
	}
	switch {
	case len(unknown) > 0:
		return Pause{All: true, Reason: ReasonAnnotationNotUnderstood, Why: fmt.Sprintf(
			"annotation %s: no service is called %q: set it to true, false, or a comma-separated list of services; until then everything is paused", PausedAnnotation, unknown[0])}
	case all:
		return Pause{All: true, Reason: ReasonPausedByAnnotation, Why: fmt.Sprintf("annotation %s is %q", PausedAnnotation, text)}
	}
	for _, name := range named {
		if !slices.Contains(p.Services, name) {
			p.Services = append(p.Services, name)
		}
	}
	if len(p.Services) > 0 {
		slices.Sort(p.Services)
		p.Reason, p.Why = ReasonSomeServicesPaused, "paused: "+strings.Join(p.Services, ", ")
	}
	return p
}

// WorkloadPaused reports whether the annotation of a workload pauses it. Any
// value except false does.
func WorkloadPaused(annotations map[string]string) bool {
	text, there := annotations[PausedAnnotation]
	return there && !strings.EqualFold(strings.TrimSpace(text), "false")
}

func readPause(text string, known []string) (all bool, named, unknown []string) {
	for _, word := range strings.Split(text, ",") {
		word = strings.TrimSpace(word)
		switch {
		case word == "" || strings.EqualFold(word, "false"):
		case strings.EqualFold(word, "true"):
			all = true
		case slices.Contains(known, word):
			named = append(named, word)
		default:
			unknown = append(unknown, word)
		}
	}
	return all, named, unknown
}

// TakenOverAnnotation is on an autoscaler that loadline init --take-over has made inert. It
// has the LoadLine, and what --give-back restores.
const TakenOverAnnotation = "loadline.dev/taken-over"
