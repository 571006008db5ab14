package pipeline

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/guard"
)

// TestFloorsOfTodayFollowTheHistory: a stretch of the morning has the floors of the morning, also
// where today's deployment is the fallback rule; floors of a calibration stay as they are.
func TestFloorsOfTodayFollowTheHistory(t *testing.T) {
	const today, tuned = "hpa:floor=08:00-20:00:5", "hpa:floor=01:00-02:00:5"
	p := &proof{EvaluationSettings: EvaluationSettings{Today: today}, folder: &Folder{}}
	c := comparison{
		from: time.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC),
		on:   []Stretch{{Name: "peak", From: 90 * time.Minute}, {Name: "quiet", From: 20 * time.Hour}},
		policies: []bench.Policy{{Spec: today, Label: TodayLabel}, {Spec: tuned, Label: "hpa (calibrated)"},
			{Spec: "model:file=x", Guard: today, Label: "c"}, {Spec: "model:file=x", Guard: "hpa", Label: "d"}},
	}
	all := p.onTheClock(c)
	for _, i := range []int{0, 2} {
		if d := all[i]; d.Clock["peak"] != 7*time.Hour+30*time.Minute || d.Clock["quiet"] != 2*time.Hour {
			t.Errorf("%s: %v", d.Label, d.Clock)
		}
	}
	if all[1].Clock != nil || all[3].Clock != nil || c.policies[0].Clock != nil {
		t.Errorf("%v, %v, %v", all[1].Clock, all[3].Clock, c.policies[0].Clock)
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
