package pipeline

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loadline/loadline/internal/result"
)

// later is a subject of the same application under a load that differs.
func later(t *testing.T, s *Subject) *Subject {
	t.Helper()
	other := *s
	other.HeldOut = mustScale(t, s.HeldOut, 1.5)
	other.Today = ""
	return &other
}

// TestARunGoesOnWithALaterHistory: the candidates stay as they were trained, the subject is the new
// one, what ran before is today's, and what the run was is kept.
func TestARunGoesOnWithALaterHistory(t *testing.T) {
	s, candidates := smallSubject(t), smallLineUp(t, 1)
	dir := t.TempDir()
	f := trainInto(t, dir, s, candidates)
	model := f.Candidates[0].SHA256
	e := &Evaluation{Format: RunFormat, Digest: f.Subject.Digest,
		Verdict: Verdict{Kind: Promote, Policy: "planner", Fallback: "hpa:target=50", Saved: result.Number(nan)}}
	if err := e.write(dir); err != nil {
		t.Fatal(err)
	}
	past, err := Again(dir)
	if err != nil || past.Name != s.Name || len(past.Objectives) != 1 || past.Objectives[0].SLO != s.App.Kinds[0].SLO {
		t.Fatalf("%+v, %v", past, err)
	}
	if again, err := Continue(dir, "newer", s); err != nil || again.Program != "test" || again.Origin != nil {
		t.Errorf("with the same subject: %+v, %v", again, err)
	}
	fresh := later(t, s)
	if _, err := Continue(dir, "newer", fresh); err != nil {
		t.Fatal(err)
	}
	again, err := OpenRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	if again.Candidates[0].SHA256 != model || again.Program != "newer" || again.HeldOut.Max() != fresh.HeldOut.Max() ||
		again.Subject.Today != "planner" || again.Subject.TodayGuard != "hpa:target=50" || again.Origin == nil ||
		again.Origin.Digest != f.Subject.Digest {
		t.Errorf("%+v", again.Run)
	}
	if _, err := again.Trained(); err != nil {
		t.Error(err)
	}
	if _, err := ReadEvaluation(again); err == nil {
		t.Error("the evaluation is of another history")
	}
	before, err := OpenRun(filepath.Join(dir, EarlierDir, f.Subject.Digest))
	if err != nil || before.HeldOut.Max() != s.HeldOut.Max() {
		t.Errorf("%v", err)
	}
	if kept, err := ReadEvaluation(before); err != nil || kept.Verdict.Policy != "planner" {
		t.Errorf("%+v, %v", kept, err)
	}
	deployments := EvaluationSettings{}.known(again).baselines(again)
	if d := deployments[0]; d.Label != TodayLabel || d.Spec != "planner" || d.Guard != "hpa:target=50" || d.Interval != interval {
		t.Errorf("today's deployment: %+v", d)
	}
	if d := (EvaluationSettings{Today: "hpa:target=70"}).known(again).baselines(again)[0]; d.Guard != "" {
		t.Errorf("what is given runs without a guard: %+v", d)
	}
}

// TestAnInterruptedContinuationIsMadeWhole: the files of both subjects are mixed, and the same call
// mends that.
func TestAnInterruptedContinuationIsMadeWhole(t *testing.T) {
	s := smallSubject(t)
	dir := t.TempDir()
	f := trainInto(t, dir, s, smallLineUp(t, 1))
	fresh := later(t, s)
	if err := keepEarlier(dir, f.Subject.Digest); err != nil {
		t.Fatal(err)
	}
	if err := f.writeSubject(fresh); err != nil { // and run.json is not written
		t.Fatal(err)
	}
	if _, err := OpenRun(dir); err == nil {
		t.Fatal("the files do not belong together")
	}
	if past, err := Again(dir); err != nil || past.Name != s.Name {
		t.Fatalf("%+v, %v", past, err)
	}
	if _, err := Continue(dir, "test", fresh); err != nil {
		t.Fatal(err)
	}
	if again, err := OpenRun(dir); err != nil || again.HeldOut.Max() != fresh.HeldOut.Max() {
		t.Error(err)
	}
	if before, err := OpenRun(filepath.Join(dir, EarlierDir, f.Subject.Digest)); err != nil || before.HeldOut.Max() != s.HeldOut.Max() {
		t.Errorf("what was kept is overwritten: %v", err)
	}
}

// TestHistoriesThatDoNotContinueARun are refused, and nothing is changed.
func TestHistoriesThatDoNotContinueARun(t *testing.T) {
	s := smallSubject(t)
	dir := t.TempDir()
	trainInto(t, dir, s, smallLineUp(t, 1))
	text, err := os.ReadFile(filepath.Join(dir, RunFile))
	if err != nil {
		t.Fatal(err)
	}
	named, grown := later(t, s), later(t, s)
	named.Name = "store"
	app := *s.App
	app.Services = append(app.Services[:1:1], app.Services[0])
	app.Services[1].Name = "cart"
	grown.App = &app
	for want, subject := range map[string]*Subject{
		"is a run on single, and this is a history of store": named,
		"were trained for other services (cart is new)":      grown,
	} {
		if _, err := Continue(dir, "test", subject); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if now, err := os.ReadFile(filepath.Join(dir, RunFile)); err != nil || string(now) != string(text) {
		t.Errorf("run.json was changed: %v", err)
	}
}

// TestTheFallbackIsARule: a LoadLine that runs today is not the fallback of what replaces it.
func TestTheFallbackIsARule(t *testing.T) {
	today := todayAt(0.001, 5)
	today.Policy, today.Fallback = "planner", "hpa:target=50"
	if got := bestRule([]Entry{today, ruleAt(0.002, 10)}); got.Label != "hpa (calibrated)" {
		t.Error(got.Label)
	}
	if got := bestRule([]Entry{today}); got.Fallback != "hpa:target=50" {
		t.Error(got.Label)
	}
}
