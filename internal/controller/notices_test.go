package controller

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/notify"
)

// TestNoticesAreToldOnce: when something begins, when it changes, and when it is over.
func TestNoticesAreToldOnce(t *testing.T) {
	var told []string
	n := notices{send: func(n notify.Notice) {
		text := n.Kind + " " + n.Summary
		if n.Resolved {
			text = "over: " + text
		}
		told = append(told, text)
	}}
	l := load(t, shop)
	for _, summary := range []string{"", "the rung is rule", "the rung is rule", "the rung is hold", "", ""} {
		n.tell(l, noon, notify.Rung, "warning", summary, "why")
	}
	status := func(s metav1.ConditionStatus) *v1alpha1.LoadLineStatus {
		return &v1alpha1.LoadLineStatus{Conditions: []metav1.Condition{{Type: v1alpha1.ConditionDrift, Status: s, Reason: "DriftCPU"}}}
	}
	for _, s := range []metav1.ConditionStatus{"Unknown", "False", "True", "Unknown", "True", "False"} {
		n.drift(l, status(s), noon)
	}
	n.drift(l, &v1alpha1.LoadLineStatus{}, noon)
	want := []string{
		"rung ns/shop: the rung is rule", "rung ns/shop: the rung is hold", "over: rung ns/shop: the rung is hold is over",
		"drift ns/shop: the application does not behave as its twin: DriftCPU",
		"over: drift ns/shop: the application does not behave as its twin: DriftCPU is over",
	}
	if !slices.Equal(told, want) {
		t.Errorf("told\n%q\nwant\n%q", told, want)
	}
	(&notices{}).tell(l, noon, notify.Rung, "warning", "x", "") // without receivers
}
