package pipeline

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/workload"
)

// proofRun is a run on four hours of a load, with two candidates that have hardly learned.
func proofRun(t *testing.T, load string) *Folder {
	t.Helper()
	return proofRunOf(t, load, Model{Seed: 1}, smallLineUp(t, 2))
}

func proofRunOf(t *testing.T, load string, m Model, candidates []Candidate) *Folder {
	t.Helper()
	w, err := workload.Parse(load, 4*time.Hour, 15*time.Second, 1)
	if err != nil {
		t.Fatal(err)
	}
	s, err := FromApp(context.Background(), single(), w, m)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	trainInto(t, dir, s, candidates)
	f, err := OpenRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func mustEvaluate(t *testing.T, f *Folder, j EvaluationSettings) *Evaluation {
	t.Helper()
	j.Program = "test"
	e, err := Evaluate(context.Background(), f, j)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d openings before, %d looks: %s", len(e.Earlier), e.Looks, e.Verdict.Sentence)
	return e
}

// TestTenSettingsNeverGiveTheOpposite: how the test is made may leave the answer open, and nothing
// more. There is an answer for both loads: on the first, today's deployment is far too loose; on the
// second it is as an earlier evaluation advised.
func TestTenSettingsNeverGiveTheOpposite(t *testing.T) {
	if testing.Short() {
		t.Skip("runs two dozen evaluations")
	}
	loose := "diurnal:low=15,high=70,period=1h,peak=20m+noise:cv=0.05"
	t.Run("far too loose", func(t *testing.T) {
		base := EvaluationSettings{Today: "hpa:target=20", Stretch: 10 * time.Minute, Workers: 2, NeighboursGiven: true}
		kinds := tenSettings(t, loose, base)
		if nightly() { // more axes and other nodes are other questions, of which the answer is known here as well
			all, busy := base, base
			all.Axes = guard.AxisNames()
			busy.Cluster.Neighbours.Use, busy.Cluster.Neighbours.Request = 0.5, 0.5
			f := proofRun(t, loose)
			for _, j := range []EvaluationSettings{all, busy} {
				kinds[mustEvaluate(t, f, j).Verdict.Kind]++
			}
		}
		delete(kinds, Undecided)
		if len(kinds) == 0 || kinds[Keep] > 0 || kinds[Refused] > 0 {
			t.Errorf("verdicts: %v", kinds)
		}
	})
	t.Run("as advised", func(t *testing.T) {
		const load = "diurnal:low=60,high=180,period=1h,peak=20m+noise:cv=0.05"
		base := EvaluationSettings{Today: "hpa:target=400", Stretch: 12 * time.Minute, Workers: 2, NeighboursGiven: true}
		base.Today = mustEvaluate(t, proofRun(t, load), base).Verdict.Policy
		kinds := tenSettings(t, load, base)
		delete(kinds, Undecided)
		if len(kinds) != 1 || kinds[Keep] == 0 {
			t.Errorf("verdicts with %s: %v", base.Today, kinds)
		}
	})
}

// nightly: tests that train again for each setting run as well.
func nightly() bool { return os.Getenv("LOADLINE_NIGHTLY") != "" }

// tenSettings counts the verdicts with ways to make the test: stretches, seeds, limits, order,
// parallel runs, and at night candidates and the length of the test part.
func tenSettings(t *testing.T, load string, base EvaluationSettings) map[Kind]int {
	t.Helper()
	f := proofRun(t, load)
	other := func(m Model, candidates []Candidate) func(*EvaluationSettings) *Folder {
		return func(*EvaluationSettings) *Folder { return proofRunOf(t, load, m, candidates) }
	}
	same := func(change func(*EvaluationSettings)) func(*EvaluationSettings) *Folder {
		return func(j *EvaluationSettings) *Folder { change(j); return f }
	}
	settings := []func(*EvaluationSettings) *Folder{
		same(func(*EvaluationSettings) {}),
		same(func(j *EvaluationSettings) { j.Stretch = 6 * time.Minute }),
		same(func(j *EvaluationSettings) { j.Stretch = 15 * time.Minute }),
		same(func(j *EvaluationSettings) { j.Stretch = time.Hour }), // the whole part
		same(func(j *EvaluationSettings) { j.Seeds = 1 }),
		same(func(j *EvaluationSettings) { j.Seeds = 5 }),
		same(func(j *EvaluationSettings) { j.Workers = 1 }),
		same(func(j *EvaluationSettings) { slices.Reverse(f.Candidates) }),
		same(func(j *EvaluationSettings) {
			j.Baselines = DefaultBaselines([]string{guard.Horizontal})
			slices.Reverse(j.Baselines)
		}),
		same(func(j *EvaluationSettings) { j.MaxChurn = 4 }),
	}
	if nightly() {
		settings = append(settings, other(Model{Seed: 1, HeldOut: 0.3}, smallLineUp(t, 2)), other(Model{Seed: 1}, smallLineUp(t, 1)),
			other(Model{Seed: 1}, smallLineUp(t, 2, "loadline-dqn", "scaling-ops")))
	}
	kinds := map[Kind]int{}
	for i, setting := range settings {
		j := base
		on := setting(&j)
		e := mustEvaluate(t, on, j)
		kinds[e.Verdict.Kind]++
		if i < 6 && len(e.Earlier) != i {
			t.Errorf("setting %d: %d openings before", i, len(e.Earlier))
		}
	}
	return kinds
}

// TestClearCases: where the answer is known it is given.
func TestClearCases(t *testing.T) {
	if testing.Short() {
		t.Skip("runs several evaluations")
	}
	f := proofRun(t, "diurnal:low=60,high=180,period=1h,peak=20m+noise:cv=0.05")
	base := EvaluationSettings{Stretch: 12 * time.Minute, Workers: 2, NeighboursGiven: true}
	loose, tight := base, base
	loose.Today, tight.Today = "hpa:target=15", "hpa:target=400"
	e := mustEvaluate(t, f, loose)
	if e.Verdict.Kind != Change && e.Verdict.Kind != Promote || !(e.Verdict.Saved > 0) {
		t.Errorf("far too loose: %s", e.Verdict.Sentence)
	}
	if e = mustEvaluate(t, f, tight); e.Verdict.Kind != Change && e.Verdict.Kind != Promote || !strings.Contains(e.Verdict.Sentence, "violates") {
		t.Errorf("far too tight: %s", e.Verdict.Sentence)
	}
	// What an evaluation advised is kept by the next.
	tuned := base
	tuned.Today = e.Verdict.Policy
	if e = mustEvaluate(t, f, tuned); e.Verdict.Kind != Keep {
		t.Errorf("a tuned rule: %s", e.Verdict.Sentence)
	}
}

// TestRatesAloneAreRefused: a history of request rates says nothing about cost.
func TestRatesAloneAreRefused(t *testing.T) {
	h, err := recordOnce()
	if err != nil {
		t.Fatal(err)
	}
	bare := h.Cut(0, h.Steps)
	bare.Services = slices.Clone(bare.Services)
	for i := range bare.Services {
		for m := range bare.Services[i].Series {
			if history.ServiceMetric(m) != history.Rate {
				bare.Services[i].Series[m] = make(history.Series, bare.Steps)
			}
		}
	}
	s, err := FromHistory(bare, Past{Name: "shop", HeldOut: 0.25})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Guessed) != 1 || !strings.Contains(s.Guessed[0], "service server: CPU per request, response times, sizes, start-up time") {
		t.Errorf("guessed: %v", s.Guessed)
	}
	dir := t.TempDir()
	trainInto(t, dir, s, smallLineUp(t, 1, "loadline-dqn"))
	f, err := OpenRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	e := mustEvaluate(t, f, EvaluationSettings{})
	if e.Verdict.Kind != Refused || !strings.Contains(e.Verdict.Sentence, "preset cadvisor-ksm") {
		t.Errorf("%+v", e.Verdict)
	}
	if _, err := os.Stat(filepath.Join(dir, BenchDir)); err == nil {
		t.Error("the test part was used")
	}
}

func TestAModelOfAnotherApplicationIsRefused(t *testing.T) {
	f := trainInto(t, t.TempDir(), smallSubject(t), smallLineUp(t, 1))
	f.Subject.Name = "another"
	all, err := f.Trained()
	if err != nil {
		t.Fatal(err)
	}
	if why := f.refusal(all); !strings.Contains(why, "scaling-ops-1 was trained for single, this is another") {
		t.Error(why)
	}
}

// TestAnInterruptedOpeningCounts: the test part is recorded as used before its first run.
func TestAnInterruptedOpeningCounts(t *testing.T) {
	f := &Folder{Dir: t.TempDir()}
	f.Subject.Digest = "one"
	for i, seeds := range []int{3, 3, 5, 3, 7} {
		earlier, err := f.open(Settings{Seeds: seeds, Axes: []string{guard.Horizontal}})
		if want := []int{0, 0, 1, 1, 2}[i]; err != nil || len(earlier) != want {
			t.Errorf("%d seeds: %d openings before, want %d; %v", seeds, len(earlier), want, err)
		}
	}
	f.Subject.Digest = "another history"
	if earlier, err := f.open(Settings{Seeds: 3}); err != nil || len(earlier) != 0 {
		t.Errorf("%v, %v", earlier, err)
	}
	if err := os.WriteFile(filepath.Join(f.Dir, OpeningsFile), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := f.open(Settings{}); err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Error(err)
	}
}

func TestBaselinesAreDeploymentsOnTheSameAxes(t *testing.T) {
	f := &Folder{}
	for axes, want := range map[string]string{
		"Horizontal":                                 "today=hpa tuned=rules:limits=keep,request=keep",
		"Horizontal,VerticalRequests":                "today=hpa tuned=rules:limits=keep",
		"Horizontal,VerticalRequests,VerticalLimits": "today=hpa tuned=rules autothrottle=autothrottle",
	} {
		j := EvaluationSettings{Axes: strings.Split(axes, ",")}.withDefaults()
		var got []string
		for _, b := range j.baselines(f) {
			got = append(got, fmt.Sprintf("%s=%s", b.Label, b.Spec))
			if b.Guard != "" || !slices.Equal(b.Axes, j.Axes) {
				t.Errorf("%s: guard %q, axes %v", b.Label, b.Guard, b.Axes)
			}
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s: %s", axes, text)
		}
	}
	f.Subject.Today = "kpa"
	if spec, known := (EvaluationSettings{}).today(f); spec != "kpa" || !known {
		t.Errorf("as the history shows: %s", spec)
	}
	if spec, known := (EvaluationSettings{Today: "hpa:target=50"}).today(f); spec != "hpa:target=50" || !known {
		t.Errorf("as it is set: %s", spec)
	}
}
