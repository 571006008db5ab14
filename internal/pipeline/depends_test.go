package pipeline

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/result"
	"github.com/loadline/loadline/internal/sim/pool"
	"github.com/loadline/loadline/internal/twin"
	"github.com/loadline/loadline/internal/workload"
)

// under is a condition with the shares over the SLO of today's deployment, the rule and the
// candidate, of which the latter two save a fifth.
func under(figure twin.Figure, values []Value, needed, open bool, today, rule, candidate result.Number) Condition {
	c := Condition{Name: asFitted, Figure: figure, Values: values, Needed: needed, Open: open, Results: []ConditionResult{
		{Label: TodayLabel, Over: today}, {Label: "hpa (calibrated)", Over: rule, Saves: 0.2}, {Label: "c", Over: candidate, Saves: 0.2}}}
	if figure != "" {
		c.Name = c.title()
	}
	return c
}

func busyAt(level float64, needed, open bool, today, rule, candidate result.Number) Condition {
	return under(twin.Neighbours, []Value{{"", level, 0}}, needed, open, today, rule, candidate)
}

func workersOf(service string, n float64, today, rule, candidate result.Number) Condition {
	return under(twin.Workers, []Value{{service, n, 1000}}, true, true, today, rule, candidate)
}

// concludeUnder is the verdict of three deployments under conditions, the first as fitted.
func concludeUnder(today, rule, candidate Entry, conditions ...Condition) Verdict {
	e := &Evaluation{Entries: []Entry{today, rule, candidate}, Own: 1, Currency: "USD", Seeds: 3, Looks: 1, Conditions: conditions,
		Settings: Settings{Axes: []string{"Horizontal"}, Today: today.Policy}, Selection: Selection{Rule: rule.Label, Choice: "c"}}
	e.compare()
	v, _ := e.conclude(DefaultMaxChurn)
	return v
}

func TestConditionsEnterTheVerdict(t *testing.T) {
	const met, bad = 0.002, 0.04
	fitted := under("", nil, true, false, met, met, met)
	broken := candidateAt(0.05, 50, 51, 50)
	lost := busyAt(0.7, true, true, met, met, met)
	lost.Results[1].Saves, lost.Results[2].Saves = 0.01, 0.01
	base := fitted
	base.Results = slices.Clone(base.Results)
	loose, rule := todayAt(met, 100, 101, 99), ruleAt(met, 79, 80, 78)
	violating, dear := todayAt(0.04, 60, 61, 60), ruleAt(met, 79, 80, 78)
	hopeless := under("", nil, true, false, bad, met, met)
	for _, row := range []struct {
		name                   string
		today, rule, candidate Entry
		conditions             []Condition
		kind                   Kind
		want                   string
	}{
		{"a rule that holds on busy nodes", loose, rule, broken,
			[]Condition{fitted, busyAt(0.5, true, true, met, met, met), busyAt(0.7, true, true, met, met, met),
				busyAt(0.85, false, true, met, met, met)},
			Change, "saves 21.0 % (20.0 to 22.0 %), 21.00 of 100 USD a month; still holds with nodes 85 % busy."},
		{"a rule that fails beyond what must be expected", loose, rule, broken,
			[]Condition{fitted, busyAt(0.7, true, true, met, met, met), busyAt(0.85, false, true, met, bad, met)},
			Change, "; holds with nodes up to 70 % busy, not with 85 %."},
		{"a rule that needs empty nodes, and nothing is known of the nodes", loose, rule, broken,
			[]Condition{fitted, busyAt(0.5, true, true, met, met, met), busyAt(0.7, true, true, met, bad, bad)},
			Undecided, "saves 21.0 % (20.0 to 22.0 %), 21.00 of 100 USD a month, but it would violate the " +
				"objective with nodes 70 % busy (4.00 % of the requests over it), where HPA at 80 % meets it. Measuring how busy the nodes are"},
		{"a rule that needs empty nodes, and the nodes are known", loose, rule, broken,
			[]Condition{fitted, busyAt(0.6, true, false, met, bad, bad)}, Keep, "Keep HPA at 80 %"},
		{"today's fails there too", loose, rule, broken, []Condition{fitted, busyAt(0.7, true, true, bad, bad, bad)},
			Change, "; would not hold with nodes 70 % busy."},
		{"the candidate fails, and the rule holds", loose, ruleAt(met, 90, 91, 89), candidateAt(met, 70, 71, 69),
			[]Condition{fitted, busyAt(0.7, true, true, met, met, bad)}, Change, "Change HPA at 80 % to HPA at 62 %"},
		{"the rule fails, and the candidate holds and costs more than it", loose, ruleAt(met, 60, 61, 59), candidateAt(met, 79, 80, 78),
			[]Condition{fitted, busyAt(0.7, true, true, met, bad, met)}, Promote, "Promote c: it meets the objective and saves 20.0 %"},
		{"a guessed number of workers", loose, rule, broken,
			[]Condition{fitted, workersOf("checkout", 2, met, bad, bad), workersOf("checkout", 8, met, met, met),
				workersOf("checkout", 5, met, bad, bad)},
			Undecided, "but it would violate the objective with fewer than 8 workers in each pod of checkout, such as 2 (4.00 % " +
				"of the requests over it), where HPA at 80 % meets it. The number of requests " +
				"that a pod of checkout works on at once (its setting of workers or threads: --known SERVICE.workers=N)"},
		{"fewer workers break today's too", loose, rule, broken,
			[]Condition{fitted, workersOf("checkout", 2, bad, bad, bad), workersOf("checkout", 8, met, met, met),
				workersOf("checkout", 5, bad, bad, bad)},
			Change, "; would not hold if a pod of checkout had fewer than 8 workers, nor would HPA at 80 %."},
		{"every guess may be wrong", loose, rule, broken, []Condition{fitted, workersOf("checkout", 2, met, met, met)},
			Change, "; holds at both ends of the range of workers."},
		{"a twin that may be optimistic", loose, rule, broken,
			[]Condition{fitted, under(twin.ResponseTime, []Value{{"page", 1.1, 1}}, true, true, met, bad, met)}, Undecided,
			"but it would violate the objective with response times 10.0 % longer (4.00 % of the requests over it), where HPA at 80 % meets it. " +
				"A longer history, to which the twin can be fitted more precisely, would decide it."},
		{"a twin that may be optimistic, without consequences", loose, rule, broken,
			[]Condition{fitted, under(twin.ResponseTime, []Value{{"page", 1.1, 1}, {"buy", 1.025, 1}}, true, true, met, met, met)}, Change,
			"; holds with response times 2.5 to 10.0 % longer."},
		{"today's violates the objective by the twin's error alone", violating, dear, broken,
			[]Condition{hopeless, under(twin.ResponseTime, []Value{{"page", 0.9, 1}}, true, true, met, met, met)}, Undecided,
			"HPA at 80 % violates the objective with the twin as fitted, and would meet it with response times 10.0 % shorter"},
		{"a saving that is lost", loose, rule, broken, []Condition{base, lost}, Undecided, "would not save anything with nodes 70 % busy"},
		{"today's violates the objective by a guess alone", violating, dear, broken,
			[]Condition{hopeless, workersOf("checkout", 2000, met, met, met)}, Undecided,
			"HPA at 80 % violates the objective with the twin as fitted, and would meet it with 2000 workers in each pod of checkout"},
		{"today's violates the objective whatever the guess", violating, dear, broken,
			[]Condition{hopeless, workersOf("checkout", 2000, bad, met, met)}, Change, "which HPA at 80 % violates"},
	} {
		v := concludeUnder(row.today, row.rule, row.candidate, row.conditions...)
		if v.Kind != row.kind || !strings.Contains(v.Sentence, row.want) {
			t.Errorf("%s: %s\n%s\n%q is not in it", row.name, v.Kind, v.Sentence, row.want)
		}
		for _, d := range v.Depends {
			if v.Kind != Undecided && !strings.Contains(v.Sentence, d.Text) {
				t.Errorf("%s: %q is not in the sentence", row.name, d.Text)
			}
		}
	}
}

// TestTodayIsTheMeasure: in the hardest stretches today's deployment may be over the limit as
// fitted. Others are held to what it has there.
func TestTodayIsTheMeasure(t *testing.T) {
	fitted, busy := under("", nil, true, false, 0.014, 0.014, 0.014), busyAt(0.7, true, true, 0.02, 0.021, 0.06)
	e := &Evaluation{Entries: []Entry{todayAt(0.004, 100, 101, 99)}, Conditions: []Condition{fitted, busy}}
	e.Entries[0].SLO = Yes
	e.hold()
	if c := &e.Conditions[1]; !c.TodayMeets || !c.Results[1].Holds || c.Results[2].Holds {
		t.Errorf("%+v", c)
	}
	e.Entries[0].SLO = No
	e.hold()
	if c := &e.Conditions[1]; c.TodayMeets || c.Results[1].Holds {
		t.Errorf("today's violates the SLO: %+v", c)
	}
}

// names and duties of the conditions that a proof would try.
func namesOf(all []Condition) (names []string) {
	for _, c := range all {
		name := c.Name
		if c.Needed {
			name += "*"
		}
		if c.Open {
			name += "?"
		}
		names = append(names, name)
	}
	return names
}

func beside(use float64) EvaluationSettings {
	return EvaluationSettings{NeighboursGiven: true, Cluster: pool.Cluster{Neighbours: pool.Neighbours{Use: use}}}
}

func TestConditionsFollowWhatIsKnown(t *testing.T) {
	ranges := []twin.Range{
		{Figure: twin.Workers, Service: "web", Low: 2, Likely: 1000, High: 1000},
		{Figure: twin.Workers, Service: "db", Low: 5, Likely: 16, High: 64},
		{Figure: twin.Startup, Service: "db", Low: 1, Likely: 20, High: 60}, {Figure: twin.NodeSize, Low: 2, Likely: 16, High: 64},
	}
	for name, row := range map[string]struct {
		knowledge Knowledge
		settings  EvaluationSettings
		want      string
	}{
		"nothing is known": {Knowledge{}, EvaluationSettings{}, "as fitted* | nodes 50 % busy*? | nodes 70 % busy*? | nodes 85 % busy?"},
		"the nodes were measured": {Knowledge{Others: &Others{Neighbours: pool.Neighbours{Use: 0.4}, Busiest: 0.56}}, EvaluationSettings{},
			"as fitted* | nodes 50 % busy* | nodes 56 % busy* | nodes 70 % busy | nodes 85 % busy"},
		"no others were measured": {Knowledge{Others: &Others{}}, EvaluationSettings{},
			"as fitted* | nodes 50 % busy | nodes 70 % busy | nodes 85 % busy"},
		"the nodes are the user's alone": {Knowledge{}, beside(0), "as fitted*"},
		"neighbours are given": {Knowledge{}, beside(0.7),
			"as fitted* | nodes 85 % busy"},
		"figures are guessed": {Knowledge{Ranges: ranges}, beside(0.85),
			"as fitted* | 2 to 5 workers in each pod*? | 64 workers in each pod of db*? | pods of db that take 1 s to start*? | " +
				"pods of db that take 60 s to start*? | nodes of 2 cores*? | nodes of 64 cores*?"},
		"the pool is given": {Knowledge{Ranges: ranges[3:]}, EvaluationSettings{NeighboursGiven: true,
			Cluster: pool.Cluster{Pools: []pool.Pool{{}}, Neighbours: pool.Neighbours{Use: 0.85}}}, "as fitted*"},
		"the twin is off": {Knowledge{Services: []ServiceKnowledge{{"web", 0.03, 10}, {"db", 0.05, 10}, {"x", result.Number(math.NaN()), 1}}},
			beside(0.85), "as fitted* | requests that take 3.0 to 5.0 % less CPU*? | requests that take 3.0 to 5.0 % more CPU*?"},
	} {
		f := &Folder{}
		f.Subject.Knowledge = row.knowledge
		p := &proof{EvaluationSettings: row.settings.known(f), folder: f}
		if got := strings.Join(namesOf(p.conditions()), " | "); got != row.want {
			t.Errorf("%s:\n%s, want\n%s", name, got, row.want)
		}
	}
}

// TestMeasuredNeighboursKeepTheirClock: each stretch has the usual day from its own time of day on.
func TestMeasuredNeighboursKeepTheirClock(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	f := &Folder{}
	f.Subject.Knowledge.Others = &Others{From: noon, Neighbours: pool.Neighbours{Use: 0.4,
		Shape: pool.Shape{Name: "history", Step: 6 * time.Hour, Factor: []float64{1, 2, 0.5, 0.5}}}}
	j := EvaluationSettings{}.known(f)
	for hours, want := range map[int][]float64{0: {1, 2, 0.5, 0.5}, 6: {2, 0.5, 0.5, 1}, 25: {1, 2, 0.5, 0.5}, -6: {0.5, 1, 2, 0.5}} {
		c := j.from(f, noon.Add(time.Duration(hours)*time.Hour))
		if c.Neighbours.Use != 0.4 || !slices.Equal(c.Neighbours.Shape.Factor, want) {
			t.Errorf("%d h later: %+v", hours, c.Neighbours)
		}
	}
	j = EvaluationSettings{NeighboursGiven: true}.known(f)
	if c := j.from(f, noon); c.Neighbours.Use != 0 {
		t.Errorf("the user says that there are none: %+v", c.Neighbours)
	}
}

func TestASavingThatWasNeverMeasuredIsDoubtful(t *testing.T) {
	today, rule := todayAt(0.002, 100, 101, 99), ruleAt(0.002, 79, 80, 78)
	e := &Evaluation{Entries: []Entry{today, rule}}
	e.compare()
	d := e.Entry(rule.Label)
	e.knowledge = Knowledge{Services: []ServiceKnowledge{{"web", 0.01, 20}}}
	e.rates = map[string]map[string]float64{TodayLabel: {"web": 18}, rule.Label: {"web": 29}}
	if got := e.extrapolates(d, "HPA at 120 %"); got != nil {
		t.Errorf("a little beyond: %s", got.does)
	}
	if got := e.beyondMeasured(d, "HPA at 120 %"); !strings.Contains(got, "web serves 29 requests/s, and the history shows 20 at most") {
		t.Error(got)
	}
	if got := e.beyondMeasured(e.Entry(TodayLabel), "HPA"); got != "" {
		t.Error(got)
	}
	e.rates[rule.Label]["web"] = 42
	if got := e.extrapolates(d, "HPA at 169 %"); got == nil || !got.open ||
		!strings.Contains(got.does, "a pod of web serve 42 requests/s, 2.1 times the highest that the history shows (20)") {
		t.Errorf("%+v", got)
	}
	e.rates[TodayLabel]["web"] = 45
	if got := e.extrapolates(d, "HPA at 169 %"); got != nil {
		t.Errorf("today's pods serve more: %s", got.does)
	}
	e.Extrapolation = Extrapolation{Lowest: 20, Highest: 100, Beyond: 0.3, covered: map[string]float64{TodayLabel: 4, rule.Label: 3}}
	if got := e.extrapolates(d, "HPA"); got != nil {
		t.Errorf("it saves within the range too: %s", got.does)
	}
	e.Extrapolation.covered[rule.Label] = 4.1
	if got := e.extrapolates(d, "HPA"); got == nil || !strings.Contains(got.does, "only at others, which are 30 % of the test part") {
		t.Errorf("%+v", got)
	}
}

func TestTheTestPartMayLeaveTheRange(t *testing.T) {
	flat := func(rate float64) *workload.Workload {
		w := &workload.Workload{Name: "flat", Step: time.Minute}
		for range 60 {
			w.Rates = append(w.Rates, rate)
		}
		return w
	}
	f := &Folder{Training: flat(50), Selection: flat(100), HeldOut: flat(70)}
	p := &proof{folder: f}
	if x := p.coverage(nil); x.Beyond != 0 || x.Lowest != 50 || x.Highest != 100 {
		t.Errorf("within: %+v", x)
	}
	f.HeldOut = flat(140)
	if x := p.coverage(nil); math.Abs(float64(x.Beyond)-1) > 1e-9 {
		t.Errorf("beyond: %+v", x)
	}
}

func TestKnownFiguresReplaceGuesses(t *testing.T) {
	f := &Folder{App: single()}
	f.Subject.Services = []string{"server"}
	f.Subject.Knowledge.Ranges = []twin.Range{{Figure: twin.Workers, Service: "server", Low: 2, Likely: 1000, High: 1000}}
	with, err := f.With([]string{"server.workers=16", "server.startup=20s"})
	if err != nil {
		t.Fatal(err)
	}
	if s := with.App.Services[0]; s.Workers != 16 || s.Startup.Mean != 20*time.Second || len(with.Subject.Knowledge.Ranges) != 0 {
		t.Errorf("%+v, %+v", s, with.Subject.Knowledge.Ranges)
	}
	if f.App.Services[0].Workers == 16 || len(f.Subject.Knowledge.Ranges) != 1 {
		t.Error("the run was changed")
	}
	_, err = f.With([]string{"server.workers=0", "serve.workers=3", "server.wrokers=3", "server.startup=soon", "workers"})
	for _, want := range []string{`workers are "0"`, `unknown service "serve"`, `unknown figure "wrokers"`,
		`start-up is "soon"`, `"workers" must be SERVICE.workers=N`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
}
