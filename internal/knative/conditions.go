package knative

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Conditions of a PodAutoscaler. Ready follows from the other three.
const (
	conditionReady       = "Ready"
	conditionActive      = "Active"
	conditionInitialized = "ScaleTargetInitialized"
	conditionSKSReady    = "SKSReady"
)

var terminal = []string{conditionActive, conditionInitialized, conditionSKSReady}

// Statuses of a condition.
const (
	isTrue    = "True"
	isFalse   = "False"
	isUnknown = "Unknown"
)

// conditions are those of one PodAutoscaler, changed at one instant.
type conditions struct {
	list []Condition
	now  time.Time
}

// newConditions takes the conditions so far; those that do not exist yet are unknown.
func newConditions(so []Condition, now time.Time) *conditions {
	c := &conditions{list: slices.Clone(so), now: now}
	for _, kind := range append([]string{conditionReady}, terminal...) {
		if find(c.list, kind) == nil {
			c.put(Condition{Type: kind, Status: isUnknown})
		}
	}
	return c
}

func (c *conditions) status(kind string) string { return find(c.list, kind).Status }

// active is the status of Active: True, False (inactive) or Unknown (activating).
func (c *conditions) active() string { return c.status(conditionActive) }

// activeFor is how long Active has had its status.
func (c *conditions) activeFor() time.Duration {
	return c.now.Sub(find(c.list, conditionActive).LastTransitionTime.Time)
}

// mark a condition, and Ready with it.
func (c *conditions) mark(kind, status, reason, message string) {
	c.put(Condition{Type: kind, Status: status, Reason: reason, Message: message})
	c.put(c.ready())
}

// ready is False as soon as one of the others is, Unknown as long as one of them is, and has the
// reason of the latest of these.
func (c *conditions) ready() Condition {
	var because *Condition
	for _, kind := range terminal {
		o := find(c.list, kind)
		switch {
		case o.Status == isTrue:
		case because == nil, because.Status == isUnknown && o.Status == isFalse,
			because.Status == o.Status && o.LastTransitionTime.After(because.LastTransitionTime.Time):
			because = o
		}
	}
	if because == nil {
		return Condition{Type: conditionReady, Status: isTrue}
	}
	return Condition{Type: conditionReady, Status: because.Status, Reason: because.Reason, Message: because.Message}
}

// put a condition in its place by name. The time changes with anything else.
func (c *conditions) put(to Condition) {
	i, found := slices.BinarySearchFunc(c.list, to.Type, func(o Condition, kind string) int { return strings.Compare(o.Type, kind) })
	if !found {
		// A list that others wrote in another order is searched in full.
		if i = slices.IndexFunc(c.list, func(o Condition) bool { return o.Type == to.Type }); i < 0 {
			to.LastTransitionTime = metav1.NewTime(c.now)
			c.list = append(c.list, to)
			slices.SortFunc(c.list, func(a, b Condition) int { return strings.Compare(a.Type, b.Type) })
			return
		}
	}
	to.LastTransitionTime = c.list[i].LastTransitionTime
	if to != c.list[i] {
		to.LastTransitionTime = metav1.NewTime(c.now)
		c.list[i] = to
	}
}
