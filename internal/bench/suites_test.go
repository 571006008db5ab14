package bench

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/workload"
)

func TestEverySuiteCanBeRun(t *testing.T) {
	for _, s := range Suites() {
		t.Run(s.Name, func(t *testing.T) {
			m, err := SuiteNamed(s.Name)
			if err != nil {
				t.Fatal(err)
			}
			if s.About == "" || m.Runs() == 0 {
				t.Error("says nothing, or has nothing to run")
			}
			if _, err := m.Check(""); err != nil && !errors.Is(err, errNoTrace) { // all of functions is a trace
				t.Error(err)
			}
		})
	}
}

func TestRivalsAreAllThere(t *testing.T) {
	m, err := SuiteNamed("rivals")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(m.Policies); n != 13 || m.Seeds != 5 || len(m.Apps) != 3 || len(m.Workloads) != 6 {
		t.Errorf("%d policies, %d seeds, %d apps, %d workloads", n, m.Seeds, len(m.Apps), len(m.Workloads))
	}
	leftOut, err := m.Check(t.TempDir())
	if err != nil || strings.Join(leftOut, " ") != "twitter nasa" {
		t.Errorf("left out %v, %v", leftOut, err)
	}
	for _, w := range m.Workloads[:4] {
		made, err := new(opened).open(w, testPart, 1)
		if err != nil {
			t.Fatal(err)
		}
		if peak := made.Max(); peak < 30 || peak > 60 {
			t.Errorf("%s peaks at %v requests/s, want about 40", w.Name, peak)
		}
	}
}

func TestImpossibleComparisonsAreRefusedAtOnce(t *testing.T) {
	bookinfo, err := LoadApp("bookinfo")
	if err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		change func(*Matrix)
		want   string
	}{
		"an unknown policy": {func(m *Matrix) { m.Policies[0] = ParsePolicy("hps") }, `did you mean "hpa"`},
		"an unknown setting": {func(m *Matrix) { m.Policies[0] = ParsePolicy("hpa:traget=60") },
			`did you mean "target"`},
		"an unknown perturbation": {func(m *Matrix) { m.Perturbations = []string{"late-2"} }, `did you mean "late-1"`},
		"an unknown workload":     {func(m *Matrix) { m.Workloads[0].Spec = "bursti" }, "bursty"},
		"an unknown engine":       {func(m *Matrix) { m.Engine = "fluit" }, `did you mean "fluid"`},
		"an unknown baseline":     {func(m *Matrix) { m.Baseline = "hpb" }, `did you mean "hpa"`},
		"a shifted mix of one kind": {func(m *Matrix) { m.Apps, m.Perturbations = []App{bookinfo}, []string{"mix-shift"} },
			"no mix to shift"},
		"the last node lost": {func(m *Matrix) { m.Perturbations = []string{"node-lost"}; m.Apps[0].Model.Nodes = nil },
			"needs another beside it"},
		"a policy with nothing to calibrate": {func(m *Matrix) { m.Policies[0] = ParsePolicy("static@calibrated") },
			"nothing to calibrate"},
		"one label twice":                    {func(m *Matrix) { m.Policies = append(m.Policies, m.Policies[0]) }, "there twice"},
		"no policy":                          {func(m *Matrix) { m.Policies = nil }, "no policy"},
		"seeds that are kept for validation": {func(m *Matrix) { m.FirstSeed = validationSeed }, "kept for validation"},
		"a warm-up longer than the run":      {func(m *Matrix) { m.WarmUp = time.Hour }, "warm-up"},
		"a crowd in a run that is too short": {func(m *Matrix) { m.Perturbations = []string{"flash-5x"}; m.Workloads[0].Options.Duration = time.Minute }, "too short"},
		"an oracle that is calibrated too": {func(m *Matrix) { m.Policies[0] = ParsePolicy("oracle@calibrated") },
			"cannot be calibrated"},
	} {
		t.Run(name, func(t *testing.T) {
			m := smallMatrix("hpa", "static")
			row.change(&m)
			if _, err := m.Check(""); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%v does not say %q", err, row.want)
			}
		})
	}
}

func TestPoliciesAreLabelled(t *testing.T) {
	for text, want := range map[string]Policy{
		"hpa":                   {Spec: "hpa", Label: "hpa"},
		"hpa@calibrated-once":   {Spec: "hpa", Label: "hpa (calibrated once)", Calibrated: true, Once: true},
		"hpa@calibrated":        {Spec: "hpa", Label: "hpa (calibrated)", Calibrated: true},
		"tight: hpa:target=90":  {Spec: "hpa:target=90", Label: "tight"},
		"best: kpa@calibrated":  {Spec: "kpa", Label: "best", Calibrated: true},
		"hpa:down-window=0s":    {Spec: "hpa:down-window=0s", Label: "hpa:down-window=0s"},
		"oracle:level=0.5":      {Spec: "oracle:level=0.5", Label: "oracle:level=0.5"},
		"clairvoyant:level=0.5": {Spec: "oracle:level=0.5", Label: "oracle:level=0.5"},
		"clairvoyant":           {Spec: "oracle", Label: "oracle"},
	} {
		if got := ParsePolicy(text); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v", text, got)
		}
	}
	if !ParsePolicy("oracle").needsSearch() || ParsePolicy("oracle:level=0.5").needsSearch() {
		t.Error("an oracle with a level needs no search, one without does")
	}
}

func TestFlashCrowdIsFiveTimesWithinAMinute(t *testing.T) {
	w, err := workload.Parse("constant:rps=10", time.Hour, time.Minute, 1)
	if err != nil {
		t.Fatal(err)
	}
	crowd, err := flashCrowd(nil, w)
	if err != nil {
		t.Fatal(err)
	}
	at := func(t time.Duration) float64 { return crowd.Rates[int(t/crowd.Step)] }
	for when, want := range map[time.Duration]float64{
		23 * time.Minute: 10, 24*time.Minute + 30*time.Second: 30, 26 * time.Minute: 50, 34 * time.Minute: 50, 45 * time.Minute: 10,
	} {
		if got := at(when); math.Abs(got-want) > 2 {
			t.Errorf("at %v: %v, want %v", when, got, want)
		}
	}
}

func TestShiftedMixSwapsSharesInMidRun(t *testing.T) {
	app := smallApp().Model
	w, err := workload.Parse("constant:rps=40", 10*time.Minute, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	shifted, err := shiftMix(app, w)
	if err != nil {
		t.Fatal(err)
	}
	load, err := shifted.For(app)
	if err != nil {
		t.Fatal(err)
	}
	before, _ := load.Rate(0, 4*time.Minute)
	after, _ := load.Rate(0, 6*time.Minute)
	if before != 30 || after != 10 {
		t.Errorf("get: %v then %v requests/s, want 30 and 10", before, after)
	}
}

// TestFunctionsAreFifty: ten of each class, each with the load of its own in both parts of the day.
func TestFunctionsAreFifty(t *testing.T) {
	scenes, err := functionScenes()
	if err != nil || len(scenes) != len(functionClasses) {
		t.Fatal(len(scenes), err)
	}
	seen := map[string]bool{}
	for _, s := range scenes {
		if len(s.App.Model.Services) != 10 || len(s.Workload.Of) != 10 || len(s.App.Model.Tenants) != 10 {
			t.Errorf("%s: %d services, %d workloads", s.Name, len(s.App.Model.Services), len(s.Workload.Of))
		}
	}
	for _, f := range drawnFunctions {
		if seen[f.hash] || len(f.hash) != 64 || f.median > f.slowest || f.average <= 0 {
			t.Errorf("%+v", f)
		}
		seen[f.hash] = true
	}
	if len(seen) != 50 {
		t.Errorf("%d functions", len(seen))
	}
}
