package pipeline

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/workload"
)

// misconfigured is a run without candidates on an application with requests several times as large as
// needed, and limits that throttle.
func misconfigured(t *testing.T) *Folder {
	t.Helper()
	app := single()
	s := &app.Services[0]
	s.Size.CPURequest, s.Size.CPULimit, s.Bounds.MinReplicas, s.Replicas = 0.5, 0.5, 3, 3
	app.Kinds[0].SLO.Latency = 80 * time.Millisecond
	w, err := workload.Parse("diurnal:low=15,high=70,period=1h,peak=20m+noise:cv=0.05", 4*time.Hour, 15*time.Second, 1)
	if err != nil {
		t.Fatal(err)
	}
	subject, err := FromApp(context.Background(), app, w, Model{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err := Begin(dir, "test", subject, nil, false); err != nil {
		t.Fatal(err)
	}
	f, err := OpenRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// tuning is rules alone, on all axes and on nodes of one's own.
func tuning() EvaluationSettings {
	return EvaluationSettings{Rules: true, Stretch: 10 * time.Minute, Workers: 2, NeighboursGiven: true, Axes: guard.AxisNames(),
		Baselines: TunedBaselines("", guard.AxisNames())}
}

// TestTuneFindsSizes: the verdict names right-sized requests and the limit that it lifts, and
// resuming an interrupted search gives the same bytes.
func TestTuneFindsSizes(t *testing.T) {
	if testing.Short() {
		t.Skip("runs two evaluations")
	}
	f := misconfigured(t)
	e := mustEvaluate(t, f, tuning())
	v := e.Verdict
	if v.Kind != Change || v.Choice != "" || !(v.Saved > 0) {
		t.Fatalf("%+v", v)
	}
	for _, want := range []string{"lower the CPU request of server from 500m to ", "the CPU limit of server",
		"it meets the objective and saves"} {
		if !strings.Contains(v.Sentence, want) {
			t.Errorf("%q is not in: %s", want, v.Sentence)
		}
	}
	_, values, err := policy.Read(v.Policy, f.App)
	if err != nil {
		t.Fatal(err)
	}
	if size := policy.SizeUnder(values["request"], values["limits"], &f.App.Services[0]); size.CPURequest > 0.4 || size.CPULimit <= 0.5 {
		t.Errorf("%s: %+v", v.Policy, size)
	}
	if len(e.Selection.Tried) == 0 {
		t.Error("the settings that were tried are not kept")
	}
	var text bytes.Buffer
	if err := e.WriteText(&text, true); err != nil || !strings.Contains(text.String(), "Search of the best rules") ||
		strings.Contains(text.String(), "Candidates run behind") {
		t.Errorf("%s, %v", text.String(), err)
	}

	other := misconfigured(t)
	ctx, stop := context.WithCancel(context.Background())
	j := tuning()
	j.Program = "test"
	j.Progress = func(share float64) {
		if share > 0.3 {
			stop()
		}
	}
	if _, err := Evaluate(ctx, other, j); !errors.Is(err, context.Canceled) {
		t.Fatalf("not interrupted: %v", err)
	}
	mustEvaluate(t, other, tuning())
	whole, err := os.ReadFile(filepath.Join(f.Dir, TuneFile))
	if err != nil {
		t.Fatal(err)
	}
	if resumed, err := os.ReadFile(filepath.Join(other.Dir, TuneFile)); err != nil || !bytes.Equal(whole, resumed) {
		t.Errorf("an interrupted search ends in other bytes: %v", err)
	}
}

// TestARunWithoutCandidates cannot be evaluated, and says what can be done with it.
func TestARunWithoutCandidates(t *testing.T) {
	f := misconfigured(t)
	if _, err := Evaluate(context.Background(), f, EvaluationSettings{Program: "test"}); err == nil ||
		!strings.Contains(err.Error(), "loadline tune "+f.Dir+" judges rules alone") {
		t.Error(err)
	}
}

// TestThePlannerIsACandidateWithoutTraining: it competes behind the guard, and what was judged can be
// promoted.
func TestThePlannerIsACandidateWithoutTraining(t *testing.T) {
	if testing.Short() {
		t.Skip("runs an evaluation")
	}
	candidates, err := LineUp(nil, 2, 1)
	if n := len(untrained); err != nil || len(candidates) != n+2 || candidates[0].Policy != "planner" || candidates[n].Policy != "" {
		t.Fatalf("%+v, %v", candidates, err)
	}
	if candidates, err = LineUp([]string{"planner"}, 9, 1); err != nil || len(candidates) != len(untrained) {
		t.Fatalf("%+v, %v", candidates, err)
	}
	for _, c := range candidates {
		if _, err := policy.New(c.Policy, single()); err != nil || c.Method != "planner" {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if candidates, err = LineUp([]string{"planner"}, 1, 1); err != nil || len(candidates) != 1 {
		t.Fatalf("%+v, %v", candidates, err)
	}
	subject := smallSubject(t)
	dir := t.TempDir()
	if f := trainInto(t, dir, subject, candidates); f.Missing() != 0 {
		t.Errorf("%d are missing", f.Missing())
	}
	f, err := OpenRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	e := mustEvaluate(t, f, EvaluationSettings{Today: "hpa:target=30", Stretch: 6 * time.Minute, Workers: 2, NeighboursGiven: true})
	entry := e.Entry("planner")
	if e.Selection.Choice != "planner" || entry == nil || entry.Policy != "planner" || entry.Fallback == "" || entry.Role != RoleCandidate {
		t.Errorf("%s: %+v", e.Selection.Choice, entry)
	}
}

// TestFloorsOfTheTrainingPart: replicas by the hour, of working days and of weekends.
func TestFloorsOfTheTrainingPart(t *testing.T) {
	app := single()
	app.Services[0].Size.CPURequest = 0.25
	w, err := workload.Parse("diurnal:low=5,high=100,peak=14h", 8*24*time.Hour, time.Minute, 1)
	if err != nil {
		t.Fatal(err)
	}
	f := &Folder{App: app, Training: w}
	f.Subject.Training = Span{From: time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)} // a Monday
	floors := policy.FloorsOf(f.floors())
	days := map[int]int{}
	for _, floor := range floors {
		days[len(floor.Days)]++
	}
	most := slices.MaxFunc(floors, func(a, b policy.Floor) int { return a.Replicas - b.Replicas })
	if most.Replicas < 3 || most.From > 14*time.Hour || most.To <= 14*time.Hour || days[5] == 0 || days[2] == 0 || len(days) != 2 {
		t.Errorf("%+v are the most, the peak is at 14:00; %s", most, f.floors())
	}
}
