package pipeline

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/guard"
)

// TestStretchesBeginAtTheirTimeOfDay: floors by the clock, also those of a fallback rule, are those of
// the time that a stretch stands for.
func TestStretchesBeginAtTheirTimeOfDay(t *testing.T) {
	app, load := single(), waves(time.Hour)
	p := &proof{EvaluationSettings: EvaluationSettings{Today: "hpa:floor=08:00-20:00:5"}, folder: &Folder{App: app}}
	from := time.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC)
	m, err := p.matrix(comparison{
		from: from, length: 20 * time.Minute, calibration: []Stretch{{From: time.Hour, Load: load}},
		on: []Stretch{{Name: "peak", From: 90 * time.Minute, Load: load}, {Name: "quiet", From: 20 * time.Hour, Load: load}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !m.Scenes[0].Begin.Equal(from.Add(90*time.Minute)) || !m.Scenes[1].Begin.Equal(from.Add(20*time.Hour)) ||
		!m.Scenes[0].Workload.Given.Begins[0].Equal(from.Add(time.Hour)) {
		t.Errorf("%v, %v, %v", m.Scenes[0].Begin, m.Scenes[1].Begin, m.Scenes[0].Workload.Given.Begins)
	}
}

// TestBoundsOfObjectsAreThoseOfTheRun: for all deployments, and as a setting of the evaluation.
func TestBoundsOfObjectsAreThoseOfTheRun(t *testing.T) {
	app := single()
	f := &Folder{App: app, known: []string{"server.workers=8"}}
	b := app.Services[0].Bounds
	if same := f.Within([]loadline.Bounds{b}); len(same.known) != 1 {
		t.Errorf("the same bounds: %q", same.known)
	}
	b.MinReplicas, b.MaxReplicas = 30, 40
	with := f.Within([]loadline.Bounds{b})
	if s := with.App.Services[0]; s.Bounds != b || s.Replicas != 30 || f.App.Services[0].Bounds == b {
		t.Errorf("%+v", s)
	}
	is := func(k string) bool { return strings.HasPrefix(k, "server.bounds=30-40 replicas") }
	if !slices.ContainsFunc(with.known, is) || len(f.known) != 1 {
		t.Errorf("%q, %q", with.known, f.known)
	}
}

func TestWhatTodayRestsOnIsSaid(t *testing.T) {
	f := &Folder{App: single()}
	j := EvaluationSettings{Today: "hpa+vpa", Axes: []string{guard.Horizontal},
		Objects: Objects{LeftOut: []string{"A: b"}, Notes: []string{"C d"}, Aside: []string{"E f"}}}
	text := strings.Join(j.todayAssumed(f), "\n")
	for _, want := range []string{"Today's figures leave out what no policy here does: A: b.", "C d.", "Left aside: E f.",
		"Pods of server are sized by a VerticalPodAutoscaler today, which the axes Horizontal do not allow"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	j.Axes = guard.AxisNames()
	if text := strings.Join(j.todayAssumed(f), "\n"); strings.Contains(text, "sized by") {
		t.Error(text)
	}
	if text := (EvaluationSettings{}).todayAssumed(f); len(text) != 1 || !strings.Contains(text[0], "HPA at 80 % stands in") {
		t.Error(text)
	}
	for spec, want := range map[string]string{
		"by-service:others=static,web=hpa(target=60)|vpa(cpu=off)": "HPA at 60 % with vpa:cpu=off for web, nothing for the others",
		"by-service:web=keda(threshold=20;polling=10s),others=hpa,cart=hpa": "keda:threshold=20,polling=10s for web, HPA at 80 % for cart, " +
			"HPA at 80 % for the others",
	} {
		if got := RuleName(spec); got != want {
			t.Errorf("%s is %q, want %q", spec, got, want)
		}
	}
}
