package controller

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/decisionlog"
	"github.com/loadline/loadline/internal/guard"
)

// maxNote is the most characters that an Event's note may have.
const maxNote = 1024

// eventWriter writes Kubernetes Events, each only when its content is new.
type eventWriter struct {
	events events.EventRecorder // nil = none
	said   map[string]string    // by subject
}

func (d *eventWriter) say(l *v1alpha1.LoadLine, about, kind, reason, action, note string) {
	if d.events == nil || d.said[about] == reason+note {
		return
	}
	if d.said == nil {
		d.said = map[string]string{}
	}
	d.said[about] = reason + note
	if runes := []rune(note); len(runes) > maxNote {
		note = string(runes[:maxNote-1]) + "…"
	}
	d.events.Eventf(l, nil, kind, reason, action, "%s", note)
}

// pass writes what a pass changed, and what it could not.
func (d *eventWriter) pass(l *v1alpha1.LoadLine, v *view) {
	if v.app.Mode == v1alpha1.Act && v.applied {
		for _, p := range v.plan.Services {
			sv := &v.services[p.Service]
			name := v.app.App.Services[p.Service].Name
			note := fmt.Sprintf("%s: %s", name, decisionlog.DescribeChange(sv.before, sv.desired))
			if why := v.why(p.Service); why != "" {
				note += " (" + why + ")"
			}
			d.say(l, "change of "+name, corev1.EventTypeNormal, "Changed", "Apply", note)
		}
	}
	d.unscaled(l, v)
	about := "apply"
	if v.err != nil && strings.HasPrefix(v.err.Error(), "apply") {
		d.say(l, about, corev1.EventTypeWarning, "ApplyFailed", "Apply", v.err.Error())
	} else if v.applied && len(v.plan.Services) > 0 {
		delete(d.said, about)
	}
}

// unscaled writes which services neither Loadline nor KEDA scales at present.
func (d *eventWriter) unscaled(l *v1alpha1.LoadLine, v *view) {
	for i := range v.services {
		about := "KEDA of " + v.app.App.Services[i].Name
		if why := v.services[i].unscaled; why != "" {
			d.say(l, about, corev1.EventTypeWarning, "NotScaled", "Observe", why)
		} else {
			delete(d.said, about)
		}
	}
}

// rung writes a step on the ladder.
func (d *eventWriter) rung(l *v1alpha1.LoadLine, t guard.Transition) {
	kind := corev1.EventTypeWarning
	if t.To == guard.Primary {
		kind = corev1.EventTypeNormal
	}
	d.say(l, "rung", kind, "Rung", "Decide", fmt.Sprintf("from %v to %v: %s", t.From, t.To, t.Why))
}

// conditions writes those that changed.
func (d *eventWriter) conditions(l *v1alpha1.LoadLine, before, after []metav1.Condition) {
	for i := range after {
		c := &after[i]
		was := meta.FindStatusCondition(before, c.Type)
		if was != nil && was.Status == c.Status && was.Reason == c.Reason || c.Type == v1alpha1.ConditionFallback {
			continue // the step on the ladder has an Event of its own
		}
		good := metav1.ConditionFalse
		if c.Type == v1alpha1.ConditionReady || c.Type == v1alpha1.ConditionActive || c.Type == v1alpha1.ConditionFleet {
			good = metav1.ConditionTrue
		}
		kind := corev1.EventTypeNormal
		if c.Status != good && c.Status != metav1.ConditionUnknown && (c.Type != v1alpha1.ConditionActive &&
			c.Type != v1alpha1.ConditionPaused) {
			kind = corev1.EventTypeWarning
		}
		if was == nil && c.Status == good || c.Status == metav1.ConditionUnknown {
			continue // the initial state is no change
		}
		if watched := c.Type == v1alpha1.ConditionDrift || c.Type == v1alpha1.ConditionRunnerUpAhead; watched && c.Status == good &&
			was.Status == metav1.ConditionUnknown {
			continue // it was compared, or estimated, for the first time
		}
		d.say(l, c.Type, kind, c.Reason, "Observe", fmt.Sprintf("%s is %s: %s", c.Type, c.Status, orDash(c.Message)))
	}
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
