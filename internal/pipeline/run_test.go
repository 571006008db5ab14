package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/twin"
	"github.com/loadline/loadline/internal/workload"
)

const smallLoad = "diurnal:low=40,high=180,period=1h,peak=20m+noise:cv=0.05"

var recordOnce = sync.OnceValues(func() (*history.History, error) {
	s, err := FromApp(context.Background(), single(), waves(4*time.Hour), Model{Seed: 1})
	if err != nil {
		return nil, err
	}
	return s.History, nil
})

// smallSubject trains on an hour and a quarter of one service; the rest of two hours is for
// selection and test.
func smallSubject(t *testing.T) *Subject {
	t.Helper()
	s, err := FromApp(context.Background(), single(), waves(2*time.Hour), Model{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// smallLineUp is candidates of scaling-ops, whose episodes are short, unless others are given.
func smallLineUp(t *testing.T, n int, formulations ...string) []Candidate {
	t.Helper()
	if len(formulations) == 0 {
		formulations = []string{"scaling-ops"}
	}
	candidates, err := LineUp(formulations, n, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range candidates {
		candidates[i].Steps = 200
		change(t, &candidates[i], func(v *policy.DQNVariant) { v.Agent.Hidden = []int{8} })
	}
	return candidates
}

// change the settings of a candidate of a formulation.
func change(t *testing.T, c *Candidate, how func(*policy.DQNVariant)) {
	t.Helper()
	var v policy.DQNVariant
	if err := json.Unmarshal(c.Settings, &v); err != nil {
		t.Fatal(err)
	}
	how(&v)
	var err error
	if c.Settings, err = json.Marshal(v); err != nil {
		t.Fatal(err)
	}
}

func trainInto(t *testing.T, dir string, s *Subject, candidates []Candidate) *Folder {
	t.Helper()
	f, err := Begin(dir, "test", s, candidates, false)
	if err != nil {
		t.Fatal(err)
	}
	have, err := f.Have()
	if err != nil {
		t.Fatal(err)
	}
	if err := TrainEach(context.Background(), s, candidates, Each{Workers: 2, Have: have, Done: f.Keep}); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestAnInterruptedTrainingGoesOn(t *testing.T) {
	s, candidates := smallSubject(t), smallLineUp(t, 3)
	dir := filepath.Join(t.TempDir(), "run")
	f, err := Begin(dir, "test", s, candidates, false)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	err = TrainEach(ctx, s, candidates, Each{Workers: 1, Done: func(done *Trained) error {
		defer stop() // after the first
		return f.Keep(done)
	}})
	if !errors.Is(err, context.Canceled) || f.Missing() != 2 {
		t.Fatalf("%d are missing: %v", f.Missing(), err)
	}
	f, err = Begin(dir, "test", s, candidates, false)
	if err != nil || f.Missing() != 2 {
		t.Fatalf("%d are missing: %v", f.Missing(), err)
	}
	f = trainInto(t, dir, s, candidates)
	whole := trainInto(t, filepath.Join(t.TempDir(), "whole"), s, candidates)
	for i := range candidates {
		if f.Candidates[i].SHA256 != whole.Candidates[i].SHA256 || len(f.Candidates[i].Curves) == 0 {
			t.Errorf("%s differs from one that was not interrupted", candidates[i].Name)
		}
	}
}

func TestARunIsReadBack(t *testing.T) {
	s, candidates := smallSubject(t), smallLineUp(t, 1)
	dir := t.TempDir()
	trainInto(t, dir, s, candidates)
	f, err := OpenRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	if f.HeldOut.Duration() != s.HeldOut.Duration() || f.Training.Max() != s.Training.Max() || f.App.Name != "single" ||
		!f.Subject.HeldOut.From.Equal(s.HeldOutFrom) {
		t.Errorf("%+v", f.Subject)
	}
	if all, err := f.Trained(); err != nil || len(all) != 1 || !bytes.Equal(all[0].Settings, candidates[0].Settings) ||
		len(all[0].Curves) == 0 {
		t.Errorf("%+v, %v", all, err)
	}
	// A model that is changed after the training is detected.
	path := f.ModelPath(candidates[0].Name)
	if err := os.WriteFile(path, []byte("torn"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Trained(); err == nil || !strings.Contains(err.Error(), "is not the file that was trained") {
		t.Error(err)
	}
	if again, err := Begin(dir, "test", s, candidates, false); err != nil || again.Missing() != 1 {
		t.Errorf("it is to be made again: %v", err)
	}
}

func TestRunsThatDoNotFitAreRefused(t *testing.T) {
	s, candidates := smallSubject(t), smallLineUp(t, 2)
	dir := t.TempDir()
	if _, err := Begin(dir, "test", s, candidates, false); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(dir, RunFile))
	if err != nil {
		t.Fatal(err)
	}
	longer := smallLineUp(t, 2)
	longer[1].Steps = 300
	other := *s
	other.HeldOut = mustScale(t, s.HeldOut, 2)
	for want, begin := range map[string]func() error{
		"has candidate scaling-ops-2 with steps 200, this is 300": func() error {
			_,
				err := Begin(dir, "test", s, longer, false)
			return err
		},
		"is a run on single, and":          func() error { _, err := Begin(dir, "test", &other, candidates, false); return err },
		`was begun by "test", and this is`: func() error { _, err := Begin(dir, "newer", s, candidates, false); return err },
	} {
		if err := begin(); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--redo") {
			t.Errorf("%q is not in: %v", want, err)
		}
		if after, err := os.ReadFile(filepath.Join(dir, RunFile)); err != nil || !bytes.Equal(before, after) {
			t.Error("run.json was changed")
		}
	}
	if _, err := Begin(dir, "newer", &other, longer, true); err != nil {
		t.Errorf("begun anew: %v", err)
	}
	for content, want := range map[string]string{`{"format":7}`: "has format 7, and this program reads 2", `{`: "is not a run",
		`{"format":2,"candidates":[{"name":"../x"}]}`: "is not the name of a file"} {
		if err := os.WriteFile(filepath.Join(dir, RunFile), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenRun(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", content, err)
		}
	}
	if _, err := OpenRun(t.TempDir()); !errors.Is(err, ErrNoRun) {
		t.Error(err)
	}
}

func TestChangedFilesOfARunAreNoticed(t *testing.T) {
	s := smallSubject(t)
	dir := t.TempDir()
	if _, err := Begin(dir, "test", s, smallLineUp(t, 1), false); err != nil {
		t.Fatal(err)
	}
	f, err := OpenRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Trained(); err == nil || !strings.Contains(err.Error(), "no candidate") {
		t.Error(err)
	}
	if err := writeJSON(filepath.Join(dir, HeldOutFile), keptWorkload(mustScale(t, s.HeldOut, 0.5)), ""); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenRun(dir); err == nil || !strings.Contains(err.Error(), "do not belong together") {
		t.Error(err)
	}
}

func TestBadCandidatesAreNamedBeforeAnythingIsTrained(t *testing.T) {
	s := smallSubject(t)
	candidates := smallLineUp(t, 2)
	candidates[1].Name, candidates[1].From, candidates[1].Steps = candidates[0].Name, "nobody", 0
	change(t, &candidates[1], func(v *policy.DQNVariant) { v.Params = map[string]float64{"wieght": 1} })
	err := TrainEach(context.Background(), s, candidates, Each{})
	for _, want := range []string{"there twice", "weights of nobody", "0 steps", `no constant "wieght"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	full := errors.New("no space left on device")
	err = TrainEach(context.Background(), s, smallLineUp(t, 2), Each{Done: func(*Trained) error { return full }})
	if !errors.Is(err, full) {
		t.Error(err)
	}
}

func TestEvaluate(t *testing.T) {
	s, candidates := smallSubject(t), smallLineUp(t, 2, "scaling-ops", "loadline-dqn")
	dir := t.TempDir()
	f := trainInto(t, dir, s, candidates)
	f, err := OpenRun(f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	judging := EvaluationSettings{
		Seeds: 1, Stretch: 5 * time.Minute, Program: "test", Workers: runtime.GOMAXPROCS(0), Today: "hpa:target=70",
		Baselines: []string{"hpa", "hpa (calibrated): hpa:limits=keep,request=keep@calibrated"},
	}
	e, err := Evaluate(context.Background(), f, judging)
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Entries) != 4 || len(e.Stretches) == 0 || e.Verdict.Kind == "" || e.Verdict.Sentence == "" || len(e.Earlier) != 0 {
		t.Errorf("%+v", e)
	}
	// Two candidates and three baselines were compared before the test, one candidate was judged.
	if s := &e.Selection; len(s.Entries) != 5 || entryOf(s.Entries, s.Rule) == nil || e.Entry(s.Choice).Role != RoleCandidate {
		t.Errorf("%+v", s)
	}
	for i := range e.Entries {
		entry := &e.Entries[i]
		if !(entry.PerMonth > 0) || len(entry.Stretches) != len(e.Stretches) || len(entry.Services) != 1 || entry.Whole == nil {
			t.Errorf("%+v", entry)
		}
		// What is judged is what runs: a candidate behind the guard with the rule as its fallback, a
		// rule as people run it.
		if guarded := entry.Fallback != ""; guarded != (entry.Role == RoleCandidate) || guarded && entry.Fallback != e.Selection.Fallback {
			t.Errorf("%s runs with the fallback %q, the rule is %q", entry.Label, entry.Fallback, e.Selection.Fallback)
		}
		// Scaling-Ops' equations have the inputs of its own policy and of HPA, not of ours.
		if on := entry.ENV2 != nil; on != (entry.Method != "loadline-dqn") || !on && entry.NotENV2 == "" {
			t.Errorf("%s on ENV2: %v, %s", entry.Label, on, entry.NotENV2)
		}
		if entry.Label != TodayLabel && entry.AgainstToday.Pairs != e.Seeds {
			t.Errorf("%s has %d pairs", entry.Label, entry.AgainstToday.Pairs)
		}
		if target := settingsOf(entry.Policy)["target"]; strings.Contains(target, ".") {
			t.Errorf("%s: a target of %s %% cannot be set", entry.Label, target)
		}
	}
	read, err := ReadEvaluation(f)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := json.Marshal(e)
	b, _ := json.Marshal(read)
	if !bytes.Equal(a, b) {
		t.Errorf("read back:\n%s\nwas\n%s", b, a)
	}
	// Finished runs are not repeated, and give the same result, also where nothing can be written.
	runs, _ := filepath.Glob(filepath.Join(dir, BenchDir, "runs", "*.json"))
	again, err := Evaluate(context.Background(), f, judging)
	if err != nil {
		t.Fatal(err)
	}
	if c, _ := json.Marshal(again); !bytes.Equal(a, c) {
		t.Errorf("another outcome:\n%s\nwas\n%s", c, a)
	}
	if err := os.Remove(filepath.Join(dir, EvaluationFile)); err != nil {
		t.Fatal(err)
	}
	if again, err = Evaluate(context.Background(), f, judging); err != nil {
		t.Fatal(err)
	}
	if c, _ := json.Marshal(again); !bytes.Equal(a, c) {
		t.Errorf("another outcome of the same runs:\n%s\nwas\n%s", c, a)
	}
	if after, _ := filepath.Glob(filepath.Join(dir, BenchDir, "runs", "*.json")); len(after) != len(runs) {
		t.Errorf("%d runs became %d", len(runs), len(after))
	}
	// Another training of the same name is another policy.
	candidates = candidates[:1]
	candidates[0].Seed = 7
	if f, err = Begin(dir, "test", s, candidates, true); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadEvaluation(f); err != nil {
		t.Errorf("the subject is the same: %v", err)
	}
	trainInto(t, dir, s, candidates)
	f, _ = OpenRun(dir)
	other, err := Evaluate(context.Background(), f, judging)
	if err != nil {
		t.Fatal(err)
	}
	if entryOf(other.Selection.Entries, "scaling-ops-1").SHA256 == entryOf(e.Selection.Entries, "scaling-ops-1").SHA256 {
		t.Error("the same model")
	}
	if len(other.Earlier) != 1 || !reflect.DeepEqual(other.Earlier[0].Settings, e.Settings) {
		t.Errorf("the test part was used before: %+v", other.Earlier)
	}
	if after, _ := filepath.Glob(filepath.Join(dir, BenchDir, "runs", "*.json")); len(after) <= len(runs) {
		t.Error("the other model was not run")
	}
	if _, err := Evaluate(context.Background(), f, EvaluationSettings{Program: "newer", Seeds: 1,
		Stretch: 5 * time.Minute}); !errors.As(err,
		new(*bench.OtherVersionError)) {
		t.Errorf("runs of another version: %v", err)
	}
}

func TestFromHistory(t *testing.T) {
	h, err := recordOnce()
	if err != nil {
		t.Fatal(err)
	}
	s, err := FromHistory(h, Past{Name: "shop", HeldOut: 0.25})
	if err != nil {
		t.Fatal(err)
	}
	later := len(s.Selection.Rates)
	if s.App.Name != "shop" || s.History.Steps+later+len(s.HeldOut.Rates) != h.Steps ||
		!s.SelectionFrom.Equal(h.At(s.History.Steps-1)) || !s.HeldOutFrom.Equal(h.At(s.History.Steps+later-1)) {
		t.Errorf("%d steps of %d for training, %d for selection from %v, %d held out from %v", s.History.Steps, h.Steps, later,
			s.SelectionFrom, len(s.HeldOut.Rates), s.HeldOutFrom)
	}
	if want, err := policy.TodayOf(s.App, h.Manifest.Autoscalers); err == nil && s.Today != want.Spec {
		t.Errorf("today %q, the history shows %q", s.Today, want.Spec)
	}
	if !s.AssumedObjective || len(s.Guessed) > 0 {
		t.Errorf("assumed objective %v, guessed %v", s.AssumedObjective, s.Guessed)
	}
	d, known := s.Delays["server"]
	if !known || !(d.SLA > 0) || d.Smoothing != 0.4 || !(d.MeanCPU > 0.05 && d.MeanCPU < 2) || !(d.MeanReplicas >= 1) {
		t.Errorf("%+v", s.Delays)
	}
	if _, err := apps.Parse("twin.yaml", s.Model); err != nil {
		t.Error(err)
	}
	if !strings.Contains(strings.Join(s.Notes, "\n"), "--objective") {
		t.Errorf("an assumed objective is not named: %q", s.Notes)
	}
	s, err = FromHistory(h, Past{HeldOut: 0.25, Objectives: []twin.Objective{{SLO: single().Kinds[0].SLO}}})
	if err != nil || strings.Contains(strings.Join(s.Notes, "\n"), "--objective") {
		t.Errorf("with an objective: %v", err)
	}
	if _, err := FromHistory(h.Cut(0, 100), Past{}); err == nil || !strings.Contains(err.Error(), "too short") {
		t.Error(err)
	}
	if _, err := FromHistory(h, Past{HeldOut: 0.1}); err == nil || !strings.Contains(err.Error(), "--held-out") {
		t.Errorf("too little held out: %v", err)
	}
}

func TestFromAppRefusesWhatIsTooShort(t *testing.T) {
	ctx := context.Background()
	if _, err := FromApp(ctx, single(), waves(30*time.Minute), Model{}); err == nil || !strings.Contains(err.Error(),
		"must be at least 1h") {
		t.Error(err)
	}
	nothing := waves(2 * time.Hour)
	clear(nothing.Rates)
	if _, err := FromApp(ctx, single(), nothing, Model{}); err == nil || !strings.Contains(err.Error(),
		"the training part has no requests") {
		t.Error(err)
	}
	if _, err := FromApp(ctx, single(), waves(2*time.Hour), Model{HeldOut: 2}); err == nil || !strings.Contains(err.Error(),
		"held-out share") {
		t.Error(err)
	}
}

func waves(d time.Duration) *workload.Workload {
	w, err := workload.Parse(smallLoad, d, 15*time.Second, 1)
	if err != nil {
		panic(err)
	}
	return w
}

func single() *loadline.App {
	m, err := apps.Load("single")
	if err != nil {
		panic(err)
	}
	return m.App
}
