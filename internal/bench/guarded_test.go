package bench

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/result"
)

func TestPoliciesAreReadWithTheirSuffixes(t *testing.T) {
	for text, want := range map[string]Policy{
		"hpa:target=60":            {Spec: "hpa:target=60", Label: "hpa:target=60"},
		"planner@warm@guarded":     {Spec: "planner", Label: "planner (warm) (guarded)", Warm: true, Guard: "hpa"},
		"planner@guarded@warm":     {Spec: "planner", Label: "planner (warm) (guarded)", Warm: true, Guard: "hpa"},
		"hpa@brownout":             {Spec: "hpa", Label: "hpa (guarded, brownout)", Guard: "hpa", Brownout: true},
		"tight: hpa@calibrated":    {Spec: "hpa", Label: "tight", Calibrated: true},
		"rules@calibrated-once":    {Spec: "rules", Label: "rules (calibrated once)", Calibrated: true, Once: true},
		"drpc:file=a@b.json":       {Spec: "drpc:file=a@b.json", Label: "drpc:file=a@b.json"},
		"drpc:whoo=teach@trained":  {Spec: "drpc:whoo=teach", Label: "drpc:whoo=teach (trained)", Trained: true},
		"one: hpa:target=9@warmer": {Spec: "hpa:target=9@warmer", Label: "one"},
	} {
		got := ParsePolicy(text)
		if got.Spec != want.Spec || got.Label != want.Label || got.Warm != want.Warm || got.Guard != want.Guard ||
			got.Brownout != want.Brownout || got.Calibrated != want.Calibrated || got.Once != want.Once || got.Trained != want.Trained {
			t.Errorf("%s: got %+v, want %+v", text, got, want)
		}
	}
}

// crowded is an application whose optional service is what its users wait for.
func crowded() Matrix {
	m := smallMatrix()
	app := smallApp()
	app.Model.Kinds[1].Root.Stages[0][0].Optional = true
	app.Model.Services[1].OptionalPrice = 0.5
	app.Model.Services[1].Bounds.MaxReplicas = 1
	app.Model.Services[1].Replicas = 1
	m.Apps, m.Seeds = []App{app}, 1
	m.Workloads = []Workload{smallLoad("constant:rps=100", 15*time.Minute)}
	return m
}

func TestBrownoutIsChargedAgainstTheSLO(t *testing.T) {
	m := crowded()
	for _, p := range []string{"hpa", "hpa@guarded", "hpa@brownout"} {
		m.Policies = append(m.Policies, ParsePolicy(p))
	}
	results, err := Run(context.Background(), m, Options{Dir: t.TempDir(), Program: "test", Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	figures := map[string]map[string]Interval{}
	for _, row := range results.Rows {
		figures[row.Case.Label] = row.Measures
	}
	for _, label := range []string{"hpa", "hpa (guarded)"} {
		of := figures[label]
		if of["optional_dropped_ratio"].Mean > 0 || of["degraded_ratio"].Mean != of["over_slo_ratio"].Mean {
			t.Errorf("%s dropped %v of the calls: degraded %v, over %v", label, of["optional_dropped_ratio"].Mean, of["degraded_ratio"].Mean,
				of["over_slo_ratio"].Mean)
		}
	}
	with := figures["hpa (guarded, brownout)"]
	dropped, over := float64(with["optional_dropped_ratio"].Mean), float64(with["over_slo_ratio"].Mean)
	if dropped < 0.1 || over >= float64(figures["hpa (guarded)"]["over_slo_ratio"].Mean) {
		t.Fatalf("brownout dropped %v of the calls, with %v over the SLO: it should have turned the service off", dropped, over)
	}
	// Every fourth request makes one optional call, at half a request over the SLO. Whole runs drop,
	// and the SLO is evaluated over the whole run.
	if got := float64(with["degraded_ratio"].Mean) - over; math.Abs(got-dropped*0.25*0.5) > 0.1*got {
		t.Errorf("the dropped calls cost %v, want about %v", got, dropped*0.25*0.5)
	}
	var text strings.Builder
	if err := results.WriteMarkdown(&text); err != nil || !strings.Contains(text.String(), "with dropped calls)") {
		t.Errorf("the table does not say what the dropped calls cost: %v\n%s", err, text.String())
	}
}

func TestSuffixesThatDoNotGoTogether(t *testing.T) {
	for spec, want := range map[string]string{
		"hpa@calibrated@guarded": "settings are searched without the guards",
		"oracle@guarded":         "cannot be guarded",
	} {
		m := crowded()
		m.Policies = []Policy{ParsePolicy(spec)}
		_, err := Run(context.Background(), m, Options{Dir: t.TempDir(), Program: "test", Workers: 1})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", spec, err, want)
		}
	}
}

func TestAllScenes(t *testing.T) {
	row := func(label, policy, load string, bill, over float64, met bool) Row {
		return Row{
			Case: Case{Label: label, Policy: policy, Workload: load}, Met: met,
			Measures: map[string]Interval{"bill": {Mean: result.Number(bill)}, "degraded_ratio": {Mean: result.Number(over)}},
		}
	}
	all := overAll([][]Row{
		{row("a", "hpa", "1", 4, 0.001, true), row("b", "hpa", "1", 8, 0.2, false), row("oracle", "oracle", "1", 2, 0, true),
			row("c", "hpa:target=90", "1", 3, 0.004, true), row("planner", "planner:reserve=on", "1", 2.5, 0, true)},
		{row("a", "hpa", "2", 9, 0.002, true), row("oracle", "oracle", "2", 1, 0, true),
			row("c", "hpa:target=90", "2", 2, 0.3, false), row("planner", "planner:reserve=on", "2", 4, 0.02, false)},
	})
	if len(all) != 4 || slices.ContainsFunc(all, func(o overall) bool { return o.label == "b" }) {
		t.Fatalf("got %+v: b did not run in every scene", all)
	}
	if a := all[0]; a.met != 2 || a.bill != 13 || math.Abs(a.mean-math.Sqrt(18)) > 1e-9 || a.worst != 9 || a.over != 0.002 {
		t.Errorf("got %+v", a)
	}
	// c is the best rule of the first scene and does not meet the SLO in the second; a is the safe one.
	for i, want := range map[int]overall{
		0: {hindsight: math.Sqrt(4. / 3 * 1), worstHindsight: 4. / 3, safe: 1},
		2: {hindsight: 1, worstHindsight: 1, safe: 5. / 13},
		3: {hindsight: 2.5 / 3, worstHindsight: 2.5 / 3, safe: 6.5 / 13},
	} {
		o := all[i]
		if math.Abs(o.hindsight-want.hindsight)+math.Abs(o.worstHindsight-want.worstHindsight)+math.Abs(o.safe-want.safe) > 1e-9 {
			t.Errorf("%s: got %+v, want %+v", o.label, o, want)
		}
	}
}
