package v1alpha1_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loadline/loadline/api/v1alpha1"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func event(name string, start, end time.Duration, factor float64) v1alpha1.Event {
	return v1alpha1.Event{Name: name, Start: metav1.NewTime(noon.Add(start)), End: metav1.NewTime(noon.Add(end)),
		Factor: v1alpha1.Decimal(factor)}
}

func TestAnnounced(t *testing.T) {
	for _, row := range []struct {
		name, annotation, want, fault string
		spec                          []v1alpha1.Event
	}{
		{name: "nothing"},
		{name: "by their start", want: "soon*3 late*2",
			spec: []v1alpha1.Event{event("late", time.Hour, 2*time.Hour, 2), event("soon", time.Minute, time.Hour, 3)}},
		{name: "past events are left out", spec: []v1alpha1.Event{event("past", -2*time.Hour, 0, 2), event("runs", -time.Hour, 1, 3)},
			want: "runs*3"},
		{name: "of the annotation", annotation: "sale=2026-03-01T13:00:00Z/2026-03-01T14:00:00Z*1.5, " +
			"film=2026-03-01T15:00:00+01:00/2026-03-01T18:00:00Z*3",
			want: "sale*1.5 film*3"},
		{name: "the spec counts", annotation: "sale=2026-03-01T13:00:00Z/2026-03-01T14:00:00Z*9",
			spec: []v1alpha1.Event{event("sale", time.Hour, 2*time.Hour, 2)}, want: "sale*2"},
		{name: "the good part of a bad annotation", want: "sale*2",
			annotation: "sale=2026-03-01T13:00:00Z/2026-03-01T14:00:00Z*2,film=tomorrow/2026-03-01T14:00:00Z*2",
			fault:      `annotation loadline.dev/events: "film=tomorrow/2026-03-01T14:00:00Z*2": "tomorrow" is no time: write NAME=`},
		{name: "no end", annotation: "sale=2026-03-01T13:00:00Z*2", fault: "a part is missing"},
		{name: "no name", annotation: "=2026-03-01T13:00:00Z/2026-03-01T14:00:00Z*2", fault: "a part is missing"},
		{name: "an end before the start", annotation: "sale=2026-03-01T14:00:00Z/2026-03-01T13:00:00Z*2",
			fault: "the end must be after the start"},
		{name: "a factor that is none", annotation: "sale=2026-03-01T13:00:00Z/2026-03-01T14:00:00Z*NaN",
			fault: `the factor "NaN" must be a number from 0.01 to 1000`},
		{name: "one twice", annotation: "a=2026-03-01T13:00:00Z/2026-03-01T14:00:00Z*2,a=2026-03-01T15:00:00Z/2026-03-01T16:00:00Z*2",
			want: "a*2", fault: `the event "a" occurs twice`},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := v1alpha1.LoadLine{Spec: v1alpha1.LoadLineSpec{Events: row.spec}}
			l.Annotations = map[string]string{v1alpha1.EventsAnnotation: row.annotation}
			events, err := l.Announced(noon)
			var got []string
			for _, e := range events {
				got = append(got, e.Name+"*"+e.Factor.String())
			}
			if strings.Join(got, " ") != row.want {
				t.Errorf("got %v, want %q", got, row.want)
			}
			if (err == nil) != (row.fault == "") || !strings.Contains(fmt.Sprint(err), row.fault) {
				t.Errorf("error %v, want %q", err, row.fault)
			}
		})
	}
}

func TestTheAnnotationIsBounded(t *testing.T) {
	var parts []string
	for i := range 70 {
		parts = append(parts, fmt.Sprintf("e%d=2026-03-01T13:00:00Z/2026-03-01T14:00:00Z*2", i))
	}
	l := v1alpha1.LoadLine{}
	l.Annotations = map[string]string{v1alpha1.EventsAnnotation: strings.Join(parts, ",")}
	if events, err := l.Announced(noon); len(events) != 64 || err == nil {
		t.Errorf("%d events, %v", len(events), err)
	}
}
