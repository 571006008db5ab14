package crd

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/resource"
)

// The largest status there can be is taken, and is far from what etcd refuses.
func TestFullStatusFits(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	now, long := metav1.NewTime(at), strings.Repeat("w", 10000)
	l := typed(t, least(t))
	l.Status = v1alpha1.LoadLineStatus{
		ObservedGeneration: 7, Mode: v1alpha1.Act, Policy: strings.Repeat("p",
			256), SLOMet: "Unknown", ServicesMoved: "199/200", LastDecisionTime: &now,
		Ladder: resource.Ladder(guard.State{Rung: guard.Rule, Since: at, Why: long, Distrust: true, Recovery: time.Hour}),
	}
	for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionActive, v1alpha1.ConditionFallback,
		v1alpha1.ConditionPaused, v1alpha1.ConditionConflict, v1alpha1.ConditionStale} {
		l.Status.Conditions = append(l.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue,
			Reason: v1alpha1.ReasonAnnotationNotUnderstood, Message: resource.Text(long), LastTransitionTime: now})
	}
	met, ready := false, int32(100000)
	rate := resource.Measured(loadline.Sample{Value: 123456.789, At: at})
	for i := range 64 {
		l.Status.Objectives = append(l.Status.Objectives, v1alpha1.ObjectiveStatus{
			Kind: fmt.Sprintf("%0128d", i), Rate: rate, OverSLO: rate, Met: &met,
			Latency: &v1alpha1.Duration{Duration: 123456 * time.Microsecond},
		})
	}
	amounts := resource.Desired(loadline.Allocation{Replicas: 100000, Brownout: true,
		Size: loadline.Size{CPURequest: 12.345, CPULimit: 23.456, MemoryRequest: 123456789, MemoryLimit: 234567891}})
	for i := range 200 {
		l.Status.Services = append(l.Status.Services, v1alpha1.ServiceStatus{
			Name: fmt.Sprintf("%063d", i), State: v1alpha1.ServiceManualChange, Wanted: amounts, Applied: amounts,
			Why:            resource.Text(long),
			LastChangeTime: &now, ManualUntil: &now,
			Seen: &v1alpha1.Seen{Time: now, Rate: rate, P99OverSLO: rate, ReadyReplicas: &ready, CPU: amounts.CPULimit,
				MeasuredPods: "100000/100000"},
		})
	}
	resource.Remember(&l.Status, fullMemory(at, l.Status.Services))
	text, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > 600_000 {
		t.Errorf("a full status has %d bytes; docs/resource.md promises 600 kB", len(text))
	}
	if wrong := newServer(t).take(parse(t, string(text))); len(wrong) > 0 {
		t.Errorf("refused: %s", strings.Join(wrong, "\n"))
	}
	t.Logf("a full status has %d bytes", len(text))
}

// fullMemory has everything that the guards can remember of services.
func fullMemory(at time.Time, services []v1alpha1.ServiceStatus) guard.Memory {
	is := loadline.Allocation{Replicas: 100000,
		Size: loadline.Size{CPURequest: 12.345, CPULimit: 23.456, MemoryRequest: 123456789, MemoryLimit: 234567891}}
	m := guard.Memory{At: at, Services: map[string]guard.ServiceMemory{}}
	for i := range 64 {
		m.Kinds = append(m.Kinds, fmt.Sprintf("%0128d", i))
	}
	for i := range services {
		m.Brownout.Off = append(m.Brownout.Off, services[i].Name)
		m.Services[services[i].Name] = guard.ServiceMemory{
			Raised: loadline.Some(time.Hour), Reduced: loadline.Some(time.Hour),
			Watch: &guard.Watch{Stage: "unwatched", Age: time.Hour, Interrupted: true, Before: is, Target: is, Last: is, Low: 100000},
		}
	}
	return m
}

// Each name of a state or a rung that the types have is one that the schema takes.
func TestStatusNamesAreTaken(t *testing.T) {
	s := newServer(t)
	for _, state := range []v1alpha1.ServiceState{v1alpha1.ServiceMoved, v1alpha1.ServiceRecommended, v1alpha1.ServicePaused,
		v1alpha1.ServiceConflict, v1alpha1.ServiceRollingOut, v1alpha1.ServiceManualChange, v1alpha1.ServiceNotFound,
		v1alpha1.ServiceUnseen} {
		object := least(t)
		edit(t, object, "status.services[0]: {name: web, state: "+string(state)+"}")
		if wrong := s.take(object); len(wrong) > 0 {
			t.Error(wrong)
		}
	}
	for _, rung := range []guard.Rung{guard.Primary, guard.Rule, guard.Hold, guard.Floor} {
		object := least(t)
		edit(t, object, "status.ladder: {rung: "+string(resource.Ladder(guard.State{Rung: rung}).Rung)+"}")
		if wrong := s.take(object); len(wrong) > 0 {
			t.Error(wrong)
		}
	}
}
