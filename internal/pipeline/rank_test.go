package pipeline

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/result"
)

// evaluatedAs makes an entry with the given costs, by seed, on two stretches.
func evaluatedAs(label, role string, met bool, over, ratio float64, costs ...float64) Entry {
	e := Entry{Label: label, Policy: label, Role: role, Met: met, Over: result.Number(over), WorstOver: result.Number(over),
		SLORatio: result.Number(ratio)}
	for seed, cost := range costs {
		for _, stretch := range []string{"peak", "typical"} {
			e.runs = append(e.runs, &bench.Record{Case: bench.Case{Workload: stretch}, Seed: uint64(seed),
				Result: result.Result{CoreHours: result.Number(cost)}})
		}
		e.CoreHours += result.Number(cost)
	}
	return e
}

func evaluationOf(entries ...Entry) *Evaluation {
	e := &Evaluation{Entries: entries, Prefer: PreferCost}
	e.rank()
	e.setVerdict()
	return e
}

func ruleAt(cost float64) Entry {
	rule := evaluatedAs("hpa (calibrated)", RoleBaseline, true, 0.005, 0.9, cost, cost, cost)
	rule.Policy, rule.Calibrated = "hpa:target=62,down-window=60s", true
	return rule
}

func TestRankedByCostSubjectToTheSLO(t *testing.T) {
	e := evaluationOf(
		evaluatedAs("cheap and violated", RoleCandidate, false, 0.2, 3, 1),
		evaluatedAs("dear", RoleCandidate, true, 0.001, 0.3, 9),
		evaluatedAs("worse violated", RoleCandidate, false, 0.5, 9, 2),
		evaluatedAs("cheapest", RoleCandidate, true, 0.008, 0.9, 5),
		evaluatedAs("oracle", RoleReference, true, 0.008, 0.9, 4),
	)
	var order []string
	for _, entry := range e.Entries {
		order = append(order, entry.Label)
	}
	if want := []string{"oracle", "cheapest", "dear", "cheap and violated", "worse violated"}; !slices.Equal(order, want) {
		t.Errorf("%v, want %v", order, want)
	}
	for label, front := range map[string]bool{"oracle": false, "cheap and violated": true, "cheapest": true, "dear": true,
		"worse violated": false} {
		if e.Entry(label).Front != front {
			t.Errorf("%s on the front: %v", label, !front)
		}
	}
	if e.Rule != "" || !strings.Contains(e.Verdict.Sentence, "no baseline") {
		t.Errorf("rule %q: %s", e.Rule, e.Verdict.Sentence)
	}
}

func TestRankedByPodsAsThePaperDoes(t *testing.T) {
	few, many := evaluatedAs("few", RoleCandidate, false, 1, 9, 1), evaluatedAs("many", RoleBaseline, true, 0, 1, 2)
	few.ENV2, many.ENV2 = &ENV2{MeanPods: 1, AtMin: 1}, &ENV2{MeanPods: 3}
	e := evaluationOf(many, evaluatedAs("blind", RoleCandidate, true, 0, 1, 1), few)
	if want := []string{"few", "many"}; !slices.Equal(e.ByPods, want) {
		t.Errorf("%v, want %v", e.ByPods, want)
	}
}

func TestTheRuleToBeat(t *testing.T) {
	dearer := ruleAt(12)
	dearer.Label = "kpa (calibrated)"
	broken := ruleAt(3)
	broken.Label, broken.Met = "vpa (calibrated)", false
	plain := evaluatedAs("hpa", RoleBaseline, true, 0.001, 0.5, 1)
	if e := evaluationOf(plain, broken, dearer, ruleAt(10)); e.Rule != "hpa (calibrated)" {
		t.Errorf("%q", e.Rule)
	}
	if e := evaluationOf(plain, broken); e.Rule != "vpa (calibrated)" {
		t.Errorf("a calibrated one, though it violates the SLO, before one that is not: %q", e.Rule)
	}
	if e := evaluationOf(evaluatedAs("static", RoleBaseline, true, 0, 1, 5), plain); e.Rule != "hpa" {
		t.Errorf("the best where none is calibrated: %q", e.Rule)
	}
}

func TestTheValidationRunsChoose(t *testing.T) {
	lucky := evaluatedAs("lucky", RoleCandidate, true, 0.002, 0.5, 5, 5, 5)
	lucky.Validation = &Validation{CoreHours: 12, Over: 0.002, SLORatio: 0.9, Met: true}
	steady := evaluatedAs("steady", RoleCandidate, true, 0.002, 0.5, 8, 8, 8)
	steady.Validation = &Validation{CoreHours: 8, Over: 0.002, SLORatio: 0.5, Met: true}
	broken := evaluatedAs("broken", RoleCandidate, true, 0.002, 0.5, 6, 6, 6)
	broken.Validation = &Validation{CoreHours: 4, Over: 0.02, SLORatio: 2, Met: false}
	rule := ruleAt(10)
	rule.Validation = &Validation{CoreHours: 10, SLORatio: 0.5, Met: true}
	e := evaluationOf(lucky, steady, broken, rule)
	for _, p := range Preferences() {
		if got := e.Choose(Preference(p)); got.Label != "steady" {
			t.Errorf("prefer %s: %s, though steady is best on validation", p, got.Label)
		}
	}
}

func TestVerdicts(t *testing.T) {
	brokenRule := ruleAt(10)
	brokenRule.Met, brokenRule.WorstOver = false, 0.03
	for name, row := range map[string]struct {
		candidate Entry
		rule      Entry
		promote   bool
		want      string
	}{
		"cheaper beyond doubt": {evaluatedAs("c", RoleCandidate, true, 0.002, 0.5, 8, 8.1, 7.9), ruleAt(10), true,
			"c meets the SLO and costs 20.0 % less than HPA at 62 % with a scale-down window of 60s"},
		"cheaper by chance": {evaluatedAs("c", RoleCandidate, true, 0.002, 0.5, 8, 11, 10.5), ruleAt(10), false,
			"HPA at 62 % with a scale-down window of 60s is as good: c costs 1.7 % less, which is not statistically significant"},
		"the same": {evaluatedAs("c", RoleCandidate, true, 0.002, 0.5, 10, 10, 10), ruleAt(10), false, "is as good"},
		"dearer": {evaluatedAs("c", RoleCandidate, true, 0.002, 0.5, 12, 12.1, 11.9), ruleAt(10), false,
			"is better: c costs 20.0 % more"},
		"cheap with the SLO violated": {evaluatedAs("c", RoleCandidate, false, 0.02, 2, 2, 2, 2), ruleAt(10), false,
			"c has 2.00 % of its requests over the SLO in its worst run on the held-out part, where HPA at 62 %"},
		"the rule breaks it": {evaluatedAs("c", RoleCandidate, true, 0.002, 0.5, 12, 12, 12), brokenRule, true,
			"meets the SLO on the held-out part, HPA at 62 % with a scale-down window of 60s does not (3.00 %"},
		"both break it": {evaluatedAs("c", RoleCandidate, false, 0.02, 2, 2, 2, 2), brokenRule, false, "Neither c nor HPA"},
	} {
		e := evaluationOf(row.candidate, row.rule)
		if e.Verdict.Promote != row.promote || e.Verdict.Choice != "c" || !strings.Contains(e.Verdict.Sentence, row.want) {
			t.Errorf("%s: %+v", name, e.Verdict)
		}
	}
	one := evaluatedAs("c", RoleCandidate, true, 0.002, 0.5, 8)
	one.runs = one.runs[:1]
	if e := evaluationOf(one, ruleAt(10)); e.Verdict.Promote {
		t.Errorf("one run proves nothing: %+v", e.Verdict)
	}
}

func TestChoices(t *testing.T) {
	cheap := evaluatedAs("cheap", RoleCandidate, true, 0.009, 0.95, 6, 6, 6)
	quick := evaluatedAs("quick", RoleCandidate, true, 0.001, 0.2, 9.5, 9.5, 9.5)
	quickest := evaluatedAs("quickest", RoleCandidate, true, 0, 0.1, 15, 15, 15)
	between := evaluatedAs("between", RoleCandidate, true, 0.004, 0.4, 7.2, 7.2, 7.2)
	stuck := evaluatedAs("stuck", RoleCandidate, true, 0, 0.01, 5, 5, 5)
	stuck.Bound = "max"
	e := evaluationOf(cheap, quick, quickest, between, stuck, ruleAt(10))
	for prefer, want := range map[Preference]string{PreferCost: "cheap", PreferLatency: "quick", PreferBalanced: "between"} {
		if got := e.Choose(prefer); got.Label != want {
			t.Errorf("%s: %s, want %s", prefer, got.Label, want)
		}
	}
	e = evaluationOf(quickest, ruleAt(10))
	if got := e.Choose(PreferLatency); got.Label != "quickest" {
		t.Errorf("dearer than the rule, and the only one: %s", got.Label)
	}
	e = evaluationOf(evaluatedAs("a", RoleCandidate, false, 0.3, 2, 1), evaluatedAs("b", RoleCandidate, false, 0.02, 2, 9), ruleAt(10))
	if got := e.Choose(PreferCost); got.Label != "b" {
		t.Errorf("none meets the SLO: %s", got.Label)
	}
	if e = evaluationOf(ruleAt(10)); e.Choose(PreferCost) != nil {
		t.Error("a rule was chosen")
	}
	if err := Preference("chaep").Check(); err == nil || !strings.Contains(err.Error(), "known: cost") {
		t.Error(err)
	}
}

func TestRuleNames(t *testing.T) {
	for spec, want := range map[string]string{
		"hpa":                             "HPA at 80 %",
		"hpa:target=62.5,down-window=60s": "HPA at 62.5 % with a scale-down window of 60s",
		"hpa:target=70,down-window=300s":  "HPA at 70 %",
		"kpa:target=4":                    "kpa:target=4",
	} {
		if got := RuleName(spec); got != want {
			t.Errorf("%s: %q, want %q", spec, got, want)
		}
	}
}

func TestTablesHaveNoHoles(t *testing.T) {
	c := evaluatedAs("c", RoleCandidate, true, 0.002, math.NaN(), 8)
	c.NotENV2 = "it needs more"
	rule := ruleAt(10)
	rule.ENV2 = &ENV2{MeanPods: 2, Bound: "min", AtMin: 1}
	var b strings.Builder
	if err := evaluationOf(c, rule).WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"it needs more (c)", "stays at its min", "hpa (calibrated) target=62, down-window=60s", "-20.0 %"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
}
