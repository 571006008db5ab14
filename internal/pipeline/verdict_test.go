package pipeline

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/report"
	"github.com/loadline/loadline/internal/result"
)

// judged makes an entry with costs per month by seed, a share over the SLO, and the same cost and
// share in the fluid engine.
func judged(label, role, policy string, over float64, months ...float64) Entry {
	e := Entry{Label: label, Role: role, Policy: policy, Over: result.Number(over), WorstOver: result.Number(over),
		Stretches: []Figures{{Stretch: "peak", Over: result.Number(over)}}, ReplicaChanges: 4}
	for i, m := range months {
		e.months = append(e.months, m)
		e.overs = append(e.overs, over*(1+0.01*float64(i%2)))
		e.PerMonth += result.Number(m / float64(len(months)))
	}
	e.Whole = &Whole{e.PerMonth, e.Over}
	return e
}

func todayAt(over float64, months ...float64) Entry {
	return judged(TodayLabel, RoleBaseline, "hpa:target=80", over, months...)
}

func ruleAt(over float64, months ...float64) Entry {
	e := judged("hpa (calibrated)", RoleBaseline, "hpa:limits=keep,request=keep,target=62,down-window=60s", over, months...)
	e.Calibrated = true
	return e
}

func candidateAt(over float64, months ...float64) Entry {
	return judged("c", RoleCandidate, "model:file=c.safetensors", over, months...)
}

// conclusion of three deployments. Loadline's own cost is 1 a month.
func conclusion(today, rule, candidate Entry) (Verdict, bool) {
	entries := []Entry{today, rule, candidate}
	if rule.Label == today.Label {
		entries = []Entry{today, candidate}
	}
	e := &Evaluation{Entries: entries, Own: 1, Currency: "USD", Seeds: len(candidate.months), Looks: 1,
		Settings: Settings{Axes: []string{"Horizontal"}, Today: today.Policy}, Selection: Selection{Rule: rule.Label, Choice: "c"}}
	e.compare()
	return e.conclude(DefaultMaxChurn)
}

func TestVerdicts(t *testing.T) {
	met, violated := 0.002, 0.04
	churning := candidateAt(met, 70, 71, 69)
	churning.ReplicaChanges = 60
	stuck := candidateAt(met, 70, 71, 69)
	stuck.Bound = "max"
	fluidDisagrees := candidateAt(met, 70, 71, 69)
	fluidDisagrees.Whole.PerMonth = 103
	hidden := candidateAt(met, 70, 71, 69)
	hidden.Stretches[0].Over = 0.015
	tight := ruleAt(met, 70, 71, 69)
	tight.Policy = "hpa:target=150"
	nervous, uneasy := ruleAt(met, 70, 71, 69), ruleAt(met, 70, 71, 69)
	nervous.ReplicaChanges, uneasy.ReplicaChanges = 60, 9
	for _, row := range []struct {
		name                   string
		today, rule, candidate Entry
		kind                   Kind
		want                   string
	}{
		{"the candidate saves", todayAt(met, 100, 101, 99), ruleAt(met, 95, 96, 94), candidateAt(met, 79, 80, 78), Promote,
			"Promote c: it meets the objective and saves 20.0 %"},
		{"today violates the objective", todayAt(violated, 60, 61, 60), ruleAt(violated, 60, 61, 60), candidateAt(met, 79, 80, 78), Promote,
			"which HPA at 80 % violates (4.0"},
		{"a rule saves as much", todayAt(met, 100, 101, 99), ruleAt(met, 79, 80, 78), candidateAt(met, 79, 80, 78), Change,
			"Change HPA at 80 % to HPA at 62 % with a scale-down window of 60s: it meets the objective and saves 21.0 %"},
		{"pods run above their requests", todayAt(met, 100, 101, 99), tight, candidateAt(violated, 50, 51, 50), Change,
			"At 150 % pods run above their CPU requests"},
		{"today is too tight", todayAt(violated, 60, 61, 60), ruleAt(met, 79, 80, 78), candidateAt(met, 90, 91, 90), Change,
			"which HPA at 80 % violates"},
		{"nothing is better", todayAt(met, 100, 101, 99), todayTwice(), candidateAt(met, 104, 105, 104), Keep,
			"Keep HPA at 80 %: it meets the objective at 100 USD a month, and c costs 5.3 % more"},
		{"a broken model", todayAt(met, 100, 101, 99), todayTwice(), candidateAt(violated, 50, 51, 50), Keep, "c violates the objective"},
		{"too many changes", todayAt(met, 100, 101, 99), todayTwice(), churning, Keep, "60 times an hour, today's deployment 4 times"},
		{"own cost exceeds the saving", todayAt(met, 10, 10.1, 9.9), todayTwice(), candidateAt(met, 9.5, 9.6, 9.4), Keep, "costs 5.0 % more"},
		{"a rule with too many changes", todayAt(met, 100, 101, 99), nervous, candidateAt(met, 104, 105, 104), Keep, "c costs 5.3 % more"},
		{"only a nervous rule is cheaper", todayAt(met, 100, 101, 99), nervous, candidateAt(met, 79, 80, 78), Promote, "saves 20.0 %"},
		{"today violates, and the rule changes a lot", todayAt(violated, 60, 61, 60), nervous, candidateAt(met, 90, 91, 90), Change,
			"which HPA at 80 % violates"},
		{"a rule with about too many changes", todayAt(met, 100, 101, 99), uneasy, candidateAt(met, 104, 105, 104), Undecided,
			"changes replicas or sizes 9 times an hour, which is about the limit"},
		{"by chance", todayAt(met, 100, 101, 99), todayTwice(), candidateAt(met, 80, 110, 95), Undecided, "More runs (--seeds 6)"},
		{"two runs", todayAt(met, 100, 101), todayTwice(), candidateAt(met, 50, 51), Undecided, "2 runs of each deployment are too few"},
		{"engines disagree", todayAt(met, 100, 101, 99), todayTwice(), fluidDisagrees, Undecided, "by the fluid model +4.0 %"},
		{"one stretch is worse", todayAt(met, 100, 101, 99), todayTwice(), hidden, Undecided, `in the stretch "peak"`},
		{"at the maximum", todayAt(met, 100, 101, 99), todayTwice(), stuck, Undecided, "stays at its maximum"},
		{"nothing meets the objective", todayAt(violated, 100, 101, 99), todayTwice(), candidateAt(violated, 50, 51, 50), Undecided,
			"no deployment meets the objective"},
		{"candidate and rule are close", todayAt(met, 100, 101, 99), ruleAt(met, 80, 80, 80), candidateAt(met, 72, 84, 73), Undecided,
			"Until then, HPA at 62 % with a scale-down window of 60s saves 20.0 %"},
	} {
		v, _ := conclusion(row.today, row.rule, row.candidate)
		if v.Kind != row.kind || !strings.Contains(v.Sentence, row.want) {
			t.Errorf("%s: %s\n%s\n%q is not in it", row.name, v.Kind, v.Sentence, row.want)
		}
		if v.Choice != "c" || v.Policy == "" || len(v.Reasons) == 0 {
			t.Errorf("%s: %+v", row.name, v)
		}
	}
}

// todayTwice stands for a rule that is today's.
func todayTwice() Entry { return Entry{Label: TodayLabel} }

func TestMoreRunsAreMadeOnlyIfTheyHelp(t *testing.T) {
	if _, more := conclusion(todayAt(0.002, 100, 101, 99), ruleAt(0.002, 95, 96, 94), candidateAt(0.002, 60, 110, 95)); !more {
		t.Error("an interval that includes both answers: more runs narrow it")
	}
	wrong := candidateAt(0.002, 70, 71, 69)
	wrong.Whole.PerMonth = 103
	if _, more := conclusion(todayAt(0.002, 100, 101, 99), ruleAt(0.002, 95, 96, 94), wrong); more {
		t.Error("the engines disagree: more seeds of one do not change that")
	}
	hidden, today := candidateAt(0.002, 70, 71, 69), todayAt(0.002, 100, 101, 99)
	hidden.Stretches[0].Over = 0.05
	if v, more := conclusion(today, today, hidden); more || v.Kind != Undecided {
		t.Error("one stretch is worse, and everything else is clear")
	}
}

// TestAnIntervalIsNeverZero: a cost that is the same in every run is not known to a tenth of a
// percent.
func TestAnIntervalIsNeverZero(t *testing.T) {
	today, c := todayAt(0, 100, 100, 100), candidateAt(0, 74, 74, 74)
	d := c.costAgainst(&today, 0)
	if d.High-d.Low < 2*resolution-1e-9 || d.Saves != Yes {
		t.Errorf("%+v", d)
	}
	if d := c.costAgainst(&Entry{months: []float64{100, 100}}, 0); d.Saves != Unclear {
		t.Errorf("two pairs: %+v", d)
	}
}

// TestOpposites: whatever the runs of the event engine are, promote and keep exclude each other,
// since the fluid engine's figures over the whole part do not depend on them.
func TestOpposites(t *testing.T) {
	for _, fluid := range []float64{60, 90, 97.5, 99, 105} {
		kinds := map[Kind]bool{}
		for cost := 50.0; cost < 130; cost += 1.5 {
			for _, spread := range []float64{0.1, 2, 15} {
				for _, worst := range []result.Number{0.002, 0.05} {
					c := candidateAt(0.002, cost, cost+spread, cost-spread, cost+spread/2)
					c.Whole.PerMonth, c.Stretches[0].Over = result.Number(fluid), worst
					today := todayAt(0.002, 100, 101, 99, 100)
					v, _ := conclusion(today, today, c)
					kinds[v.Kind] = true
				}
			}
		}
		if kinds[Promote] && (kinds[Keep] || kinds[Change]) || len(kinds) < 2 {
			t.Errorf("fluid %v: %v", fluid, kinds)
		}
	}
}

func TestRankedByCostSubjectToTheSLO(t *testing.T) {
	entry := func(label, role string, slo State, over, month float64) Entry {
		e := judged(label, role, label, over, month)
		e.SLO = slo
		return e
	}
	few, many := entry("few", RoleCandidate, No, 0.6, 1), entry("many", RoleBaseline, Yes, 0.0005, 20)
	few.ENV2, many.ENV2 = &ENV2{MeanPods: 1, AtMin: 1}, &ENV2{MeanPods: 3}
	e := &Evaluation{Entries: []Entry{entry("cheap and violated", RoleCandidate, No, 0.2, 1.5), entry("dear", RoleCandidate, Yes, 0.001, 9),
		many, few, entry("perhaps", RoleBaseline, Unclear, 0.01, 3), entry("cheapest", RoleCandidate, Yes, 0.008, 5),
		entry("oracle", RoleReference, Yes, 0.008, 4)}}
	e.rank()
	var order, front []string
	for _, entry := range e.Entries {
		order = append(order, entry.Label)
		if entry.Front {
			front = append(front, entry.Label)
		}
	}
	if want := []string{"oracle", "cheapest", "dear", "many", "perhaps", "cheap and violated", "few"}; !slices.Equal(order, want) {
		t.Errorf("%v, want %v", order, want)
	}
	if want := []string{"cheapest", "dear", "many", "perhaps", "cheap and violated", "few"}; !slices.Equal(front, want) {
		t.Errorf("front %v, want %v", front, want)
	}
	if want := []string{"few", "many"}; !slices.Equal(e.ByPods, want) {
		t.Errorf("by pods %v, want %v", e.ByPods, want)
	}
}

// chosenOf are entries of a selection, whose order must not matter.
func chosenOf(prefer Preference, entries ...Entry) string {
	s := Selection{Rule: "hpa (calibrated)", Entries: entries}
	first := s.choose(prefer, DefaultMaxChurn)
	slices.Reverse(s.Entries)
	if s.choose(prefer, DefaultMaxChurn) != first {
		return "depends on the order"
	}
	return first
}

func TestChoices(t *testing.T) {
	named := func(label string, over, ratio, month float64) Entry {
		e := judged(label, RoleCandidate, label, over, month)
		e.SLORatio = result.Number(ratio)
		return e
	}
	rules := []Entry{todayAt(0.002, 12), ruleAt(0.002, 10)}
	cheap, twin := named("cheap", 0.0035, 0.95, 6), named("cheap too", 0.0035, 0.95, 6)
	quick, quickest, between := named("quick", 0.001, 0.2, 9.5), named("quickest", 0, 0.1, 15), named("between", 0.003, 0.4, 7.2)
	stuck, churning := named("stuck", 0, 0.01, 5), named("churning", 0, 0.01, 5)
	stuck.Bound, churning.ReplicaChanges = "max", 100
	idle := named("idle", 0, 0.01, 5)
	idle.ReplicaChanges, idle.NotAllowed = 0, []string{"cpu"}
	all := append(slices.Clone(rules), twin, cheap, quick, quickest, between, stuck, churning, idle)
	for prefer, want := range map[Preference]string{PreferCost: "cheap", PreferLatency: "quick", PreferBalanced: "between"} {
		if got := chosenOf(prefer, all...); got != want {
			t.Errorf("%s: %s, want %s", prefer, got, want)
		}
	}
	if got := chosenOf(PreferLatency, append(slices.Clone(rules), quickest)...); got != "quickest" {
		t.Errorf("dearer than the rule, and the only one: %s", got)
	}
	if got := chosenOf(PreferCost, append(slices.Clone(rules), named("a", 0.3, 2, 1), named("b", 0.02, 2, 9))...); got != "b" {
		t.Errorf("none meets the SLO: %s", got)
	}
	if got := chosenOf(PreferCost, append(slices.Clone(rules), stuck)...); got != "stuck" {
		t.Errorf("the only one stays at its bound: %s", got)
	}
	if got := chosenOf(PreferCost, append(slices.Clone(rules), idle)...); got != "idle" {
		t.Errorf("the only one cannot act: %s", got)
	}
	if err := Preference("chaep").Check(); err == nil || !strings.Contains(err.Error(), "known: cost") {
		t.Error(err)
	}
}

func TestTheFallbackIsTheBestRule(t *testing.T) {
	broken := ruleAt(0.03, 3)
	broken.Label = "kpa (calibrated)"
	if got := bestRule([]Entry{todayAt(0.002, 12), broken, ruleAt(0.002, 10)}); got.Label != "hpa (calibrated)" {
		t.Errorf("%s", got.Label)
	}
	if got := bestRule([]Entry{todayAt(0.002, 10), ruleAt(0.002, 10)}); got.Label != TodayLabel {
		t.Errorf("the same cost: %s", got.Label)
	}
	if got := bestRule([]Entry{todayAt(0.05, 1), broken}); got.Label != broken.Label {
		t.Errorf("none meets the SLO: %s", got.Label)
	}
}

func TestRuleNames(t *testing.T) {
	for spec, want := range map[string]string{
		"hpa":                           "HPA at 80 %",
		"hpa:target=62,down-window=60s": "HPA at 62 % with a scale-down window of 60s",
		"hpa:limits=keep,request=keep,target=70,down-window=300s": "HPA at 70 %",
		"hpa:limits=lifted,target=70":                             "HPA at 70 %, CPU limits lifted",
		"hpa:rps-target=40,target=off":                            "hpa:rps-target=40,target=off",
		"kpa:target=4":                                            "kpa:target=4",
	} {
		if got := RuleName(spec); got != want {
			t.Errorf("%s: %q, want %q", spec, got, want)
		}
	}
}

// TestOneStory: the terminal, the page and the card say the sentence of the verdict.
func TestOneStory(t *testing.T) {
	today, c := todayAt(0.002, 100, 101, 99), candidateAt(0.002, 79, 80, 78)
	c.NotENV2, c.NotAllowed, c.SLORatio = "it needs more", []string{"cpu"}, result.Number(math.NaN())
	today.ENV2 = &ENV2{MeanPods: 2, Bound: "min", AtMin: 1}
	e := &Evaluation{Entries: []Entry{today, c}, Own: 1, Currency: "USD", Seeds: 3, Looks: 1, Objective: []string{"buy: 99 % within 250ms"},
		Assumptions: []string{"The objective is assumed, not yours."}, Earlier: []Opening{{}},
		Settings:  Settings{Axes: []string{"Horizontal"}, Today: "hpa"},
		Selection: Selection{Rule: TodayLabel, Fallback: "hpa", Choice: "c", Entries: []Entry{today, c}},
		Conditions: []Condition{under("", nil, true, false, 0.002, 0, 0.003), busyAt(0.7, true, true, 0.002, 0, 0.003),
			busyAt(0.85, false, true, 0.002, 0, 0.2)}}
	e.compare()
	e.Verdict, _ = e.conclude(DefaultMaxChurn)
	e.rank()
	var b strings.Builder
	if err := e.WriteVerdict(&b); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	if !strings.HasPrefix(lines[0], "The objective is assumed, not yours. Objective: buy: 99 %") || lines[1] != e.Verdict.Sentence {
		t.Errorf("%s", b.String())
	}
	if err := e.WriteText(&b, true); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"-20.0 % *", "it needs more (c)", "stays at its min", "may not change cpu", "today: HPA at 80 %",
		"which the axes Horizontal do not allow", "used once before with other settings", "it pays from 4.76 USD a month on", "; holds with nodes up to 70 % busy, not with 85 %.",
		"nodes 85 % busy  no", "20.0 % over !, -20.0 %"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
	lead := e.Lead()
	if len(lead.Points) != 2 || lead.Points[0].Label != e.Entries[0].Label || lead.Points[0].Cost[0] != e.Entries[0].PerMonth {
		t.Errorf("%+v", lead.Points)
	}
	if rows := lead.Conditions.Rows; len(rows) != 3 || len(rows[0]) != len(lead.Conditions.Columns) || rows[1][0] != "nodes 70 % busy" {
		t.Errorf("%+v", lead.Conditions)
	}
	if lead.Sentence != e.Verdict.Sentence || lead.Kind != "promote" || !slices.Contains(lead.Assumptions, e.Assumptions[0]) ||
		!slices.ContainsFunc(lead.Facts, func(f report.Fact) bool { return f.Name == "Saved" && strings.Contains(f.Value, "20.00 USD") }) {
		t.Errorf("%+v", lead)
	}
}

func TestSLOStates(t *testing.T) {
	for name, row := range map[string]struct {
		overs []float64
		fluid float64
		want  State
	}{
		"met":                       {[]float64{0.001, 0.002, 0.001}, 0.001, Yes},
		"violated":                  {[]float64{0.05, 0.051, 0.052}, 0.04, No},
		"slightly violated":         {[]float64{0.015, 0.0151, 0.0152}, 0.04, No},
		"slightly, and not by both": {[]float64{0.015, 0.0151, 0.0152}, 0.02, Unclear},
		"grossly":                   {[]float64{0.3, 0.31, 0.32}, 0, No},
		"met, and not by both":      {[]float64{0.001, 0.002, 0.001}, 0.2, Unclear},
		"around the limit":          {[]float64{0.005, 0.02, 0.009}, 0.01, Unclear},
		"two runs":                  {[]float64{0, 0}, 0, Unclear},
	} {
		e := Entry{overs: row.overs, Whole: &Whole{Over: result.Number(row.fluid)}}
		if e.judgeSLO(); e.SLO != row.want {
			t.Errorf("%s: %s, want %s (%+v)", name, e.SLO, row.want, e.OverRange)
		}
	}
}

// TestFiguresStandForTheWhole: stretches count by the time that they stand for.
func TestFiguresStandForTheWhole(t *testing.T) {
	record := func(stretch string, seed uint64, cores, requests, over float64) *bench.Record {
		return &bench.Record{Case: bench.Case{Workload: stretch}, Seed: seed, ReplicaChanges: 2, Resizes: 1, Result: result.Result{
			DurationSeconds: 3600, CoreHours: result.Number(cores), Requests: result.Number(requests), OverSLORatio: result.Number(over),
			Services: []result.Service{{Name: "web", CoreHours: result.Number(cores)}}}}
	}
	e := Entry{runs: []*bench.Record{record("peak", 2, 8, 1000, 0.04), record("quiet", 2, 2, 100, 0), record("peak", 1, 8, 1000, 0.04),
		record("quiet", 1, 2, 100, 0)}}
	e.weigh(part{app: single(), weights: map[string]float64{"peak": 0.25, "quiet": 0.75}})
	if want := 730 * 3.5 * 0.031611; math.Abs(float64(e.PerMonth)/want-1) > 1e-9 || math.Abs(float64(e.Services[0].PerMonth)/want-1) > 1e-9 {
		t.Errorf("%v a month, want %v", e.PerMonth, want)
	}
	if want := 0.25 * 1000 * 0.04 / (0.25*1000 + 0.75*100); math.Abs(float64(e.Over)-want) > 1e-9 {
		t.Errorf("%v over the SLO, want %v", e.Over, want)
	}
	if e.Cores != 3.5 || e.ReplicaChanges != 2 || e.Resizes != 1 || len(e.months) != 2 {
		t.Errorf("%+v", e)
	}
}
