// Package handover moves the control of replicas from today's autoscalers to a LoadLine and back,
// one write at a time.
//
// Control passes without a moment in which two decide. To take over, the LoadLine is set to Act
// first: while another autoscaler is in control, it reports a conflict and changes nothing. Then
// each autoscaler is made inert where it is, with what it was in an annotation of the same write.
// To give back, the LoadLine is set to Recommend first, and autoscalers are restored after its
// controller has read that. In between replicas stay as they are, for about one interval of
// decisions.
//
// Next is a function of what the cluster shows, so that a process that is killed at any point
// leaves nothing half-done: the next one continues, or goes back.
//
// Reading order: handover.go (the order of steps), keep.go (autoscalers made inert and restored),
// run.go (reading and writing).
package handover

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/kube"
)

// Direction of a handover.
type Direction int

// Directions.
const (
	TakeOver Direction = iota // from autoscalers to the LoadLine
	GiveBack
)

// State is what a cluster shows.
type State struct {
	LoadLine *v1alpha1.LoadLine          // nil = it does not exist
	Objects  []unstructured.Unstructured // HPAs, ScaledObjects and VPAs of the namespace
	// NoController: no controller runs, and none is waited for.
	NoController bool
}

// Action is one write, or something to wait for.
type Action struct {
	Sentence string
	Mode     v1alpha1.Mode              // to set in the LoadLine; "" = leave it
	Object   *unstructured.Unstructured // to update; nil = none
}

// Waits reports whether there is nothing to write.
func (a *Action) Waits() bool { return a.Mode == "" && a.Object == nil }

// Next action for the LoadLine of a name; nil = the handover is complete.
func Next(d Direction, name string, s State) (*Action, error) {
	if d == GiveBack {
		return giveBack(name, s)
	}
	return takeOver(name, s)
}

func takeOver(name string, s State) (*Action, error) {
	l := s.LoadLine
	switch {
	case l == nil:
		return nil, fmt.Errorf("there is no LoadLine %s: create one, for example with loadline init --apply", name)
	case l.DeletionTimestamp != nil:
		return nil, fmt.Errorf("LoadLine %s is being deleted", name)
	case l.Pause().All:
		return nil, fmt.Errorf("LoadLine %s is paused (%s), so that nothing would scale its services: resume it first", name, l.Pause().Why)
	}
	if l.Spec.Mode != v1alpha1.Act {
		if c := meta.FindStatusCondition(l.Status.Conditions, v1alpha1.ConditionReady); c == nil || c.Status != metav1.ConditionTrue {
			return nil, fmt.Errorf("LoadLine %s is not ready to decide%s: see to that first, or nothing would scale its services", name,
				reason(c))
		}
		return &Action{Mode: v1alpha1.Act,
			Sentence: fmt.Sprintf("LoadLine %s is set to Act; it changes nothing beside another autoscaler", name)}, nil
	}
	active := meta.FindStatusCondition(l.Status.Conditions, v1alpha1.ConditionActive)
	if seen := current(l) && active != nil && (active.Status == metav1.ConditionTrue || active.Reason == v1alpha1.ReasonConflict); !seen &&
		!s.NoController {
		return &Action{Sentence: "waiting for the controller to read mode Act" + reason(active)}, nil
	}
	for i := range s.Objects {
		o := &s.Objects[i]
		if !concerns(l, o) {
			continue
		}
		changed, err := keep(o, name)
		if err != nil {
			return nil, err
		}
		if changed != nil {
			return &Action{Object: changed, Sentence: fmt.Sprintf("%s %s changes nothing any more; what it was is in its annotation %s",
				o.GetKind(), o.GetName(), v1alpha1.TakenOverAnnotation)}, nil
		}
		if o.GetKind() == kube.ScaledObjects.Kind && hasHPA(s.Objects, o) {
			return &Action{Sentence: fmt.Sprintf("waiting for KEDA to delete the HPA of ScaledObject %s", o.GetName())}, nil
		}
	}
	if !s.NoController && active.Status != metav1.ConditionTrue {
		return &Action{Sentence: "waiting for LoadLine " + name + " to act" + reason(active)}, nil
	}
	return nil, nil
}

func giveBack(name string, s State) (*Action, error) {
	l := s.LoadLine
	if l != nil && l.Spec.Mode == v1alpha1.Act {
		return &Action{Mode: v1alpha1.Recommend,
			Sentence: fmt.Sprintf("LoadLine %s is set to Recommend; replicas stay as they are", name)}, nil
	}
	if l != nil && !s.NoController {
		if active := meta.FindStatusCondition(l.Status.Conditions, v1alpha1.ConditionActive); !current(l) ||
			active != nil && (active.Status == metav1.ConditionTrue || active.Reason == v1alpha1.ReasonConflict) {
			return &Action{Sentence: "waiting for the controller to read mode " + string(l.Spec.Mode) + reason(active)}, nil
		}
	}
	for i := range s.Objects {
		o := &s.Objects[i]
		restored, err := restore(o, name)
		if err != nil {
			return nil, err
		}
		if restored != nil {
			return &Action{Object: restored, Sentence: fmt.Sprintf("%s %s is as it was, and scales again", o.GetKind(), o.GetName())}, nil
		}
	}
	if l == nil {
		return nil, errNothing(name)
	}
	for i := range s.Objects {
		if o := &s.Objects[i]; o.GetKind() == kube.ScaledObjects.Kind && concerns(l, o) && !kube.PausedInKEDA(o.GetAnnotations()) &&
			!hasHPA(s.Objects, o) {
			return &Action{Sentence: fmt.Sprintf("waiting for KEDA to make the HPA of ScaledObject %s", o.GetName())}, nil
		}
	}
	return nil, nil
}

// ErrNothing means that nothing was taken over for a LoadLine that does not exist.
var ErrNothing = errors.New("nothing to give back")

func errNothing(name string) error {
	return fmt.Errorf("%w: there is no LoadLine %s, and no autoscaler with the annotation %s of it", ErrNothing, name,
		v1alpha1.TakenOverAnnotation)
}

// current reports whether the status is about the present spec.
func current(l *v1alpha1.LoadLine) bool { return l.Status.ObservedGeneration >= l.Generation }

func reason(c *metav1.Condition) string {
	if c == nil {
		return ""
	}
	text := c.Reason
	if c.Message != "" {
		text += ": " + strings.TrimSuffix(c.Message, ".")
	}
	return " (" + text + ")"
}

// concerns reports whether an autoscaler is for a service that the LoadLine scales itself. HPAs that
// KEDA makes go with their ScaledObject.
func concerns(l *v1alpha1.LoadLine, o *unstructured.Unstructured) bool {
	field := "scaleTargetRef"
	switch o.GetKind() {
	case "HorizontalPodAutoscaler":
		if kube.ScaledObjectOf(o) != "" {
			return false
		}
	case kube.VerticalPodAutoscalers.Kind:
		field = "targetRef"
	case kube.ScaledObjects.Kind:
	default:
		return false
	}
	at := kube.RefIn(o.Object, field)
	for i := range l.Spec.Services {
		s := &l.Spec.Services[i]
		if kube.RefOf(s.TargetRef.APIVersion, s.TargetRef.Kind, s.TargetRef.Name) == at {
			return s.MovedBy != v1alpha1.ByKEDA || o.GetKind() == kube.VerticalPodAutoscalers.Kind
		}
	}
	return false
}

// hasHPA reports whether KEDA's HPA of a ScaledObject is among the objects.
func hasHPA(all []unstructured.Unstructured, scaled *unstructured.Unstructured) bool {
	for i := range all {
		if all[i].GetKind() == "HorizontalPodAutoscaler" && kube.ScaledObjectOf(&all[i]) == scaled.GetName() {
			return true
		}
	}
	return false
}
