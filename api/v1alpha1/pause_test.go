package v1alpha1_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/loadline/loadline/api/v1alpha1"
)

func TestPause(t *testing.T) {
	for _, row := range []struct {
		name       string
		annotation string
		spec       bool
		service    string // paused in the spec
		all        bool
		services   string
		reason     string
	}{
		{name: "nothing is paused", reason: v1alpha1.ReasonNotPaused},
		{name: "false is not paused", annotation: "false", reason: v1alpha1.ReasonNotPaused},
		{name: "the spec pauses everything", spec: true, all: true, reason: v1alpha1.ReasonPausedInSpec},
		{name: "the annotation pauses everything", annotation: "True", all: true, reason: v1alpha1.ReasonPausedByAnnotation},
		{name: "the annotation pauses some", annotation: "web, cart", services: "cart,web", reason: v1alpha1.ReasonSomeServicesPaused},
		{name: "the spec pauses one", service: "cart", services: "cart", reason: v1alpha1.ReasonSomeServicesPaused},
		{name: "both pause", annotation: "web,cart", service: "cart", services: "cart,web", reason: v1alpha1.ReasonSomeServicesPaused},
		{name: "a misspelt service pauses everything", annotation: "wbe", all: true, reason: v1alpha1.ReasonAnnotationNotUnderstood},
		{name: "yes pauses everything", annotation: "yes", all: true, reason: v1alpha1.ReasonAnnotationNotUnderstood},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := v1alpha1.LoadLine{}
			if row.annotation != "" {
				l.Annotations = map[string]string{v1alpha1.PausedAnnotation: row.annotation}
			}
			l.Spec.Paused = row.spec
			for _, name := range []string{"web", "cart"} {
				l.Spec.Services = append(l.Spec.Services, v1alpha1.Service{Name: name, Paused: name == row.service})
			}
			p := l.Pause()
			if p.All != row.all || strings.Join(p.Services, ",") != row.services || p.Reason != row.reason {
				t.Errorf("got %+v", p)
			}
			if (p.Why == "") != (row.reason == v1alpha1.ReasonNotPaused) {
				t.Errorf("why is %q", p.Why)
			}
			for _, name := range []string{"web", "cart"} {
				if want := row.all || slices.Contains(strings.Split(row.services, ","), name); p.Of(name) != want {
					t.Errorf("%s paused: %v", name, !want)
				}
			}
		})
	}
}

func TestWorkloadPaused(t *testing.T) {
	for text, want := range map[string]bool{"true": true, "false": false, " False ": false, "": true, "until friday": true} {
		if got := v1alpha1.WorkloadPaused(map[string]string{v1alpha1.PausedAnnotation: text}); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	if v1alpha1.WorkloadPaused(nil) {
		t.Error("paused without an annotation")
	}
}

// With a selector a service may be named that is not found at present: it is paused when it is. Without
// one the name is a mistake, and everything is paused until it is corrected.
func TestPauseOfWhatASelectorMayFind(t *testing.T) {
	l := &v1alpha1.LoadLine{}
	l.Annotations = map[string]string{v1alpha1.PausedAnnotation: "later"}
	l.Spec.Services = []v1alpha1.Service{{Name: "web"}}
	if p := l.Pause(); !p.All {
		t.Errorf("without a selector: %+v", p)
	}
	l.Spec.Selector = &v1alpha1.Selector{}
	if p := l.Pause(); p.All || len(p.Services) != 1 || p.Services[0] != "later" {
		t.Errorf("with a selector: %+v", p)
	}
}
