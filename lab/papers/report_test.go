package papers

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/loadline/loadline/internal/bench"
)

func TestReportShowsThePaperBesideOurs(t *testing.T) {
	nan := math.NaN()
	r := &Report{
		Name: "x", Title: "A paper", Seeds: 3, Setup: []string{"What was run."},
		Tables: []Table{{Name: "Table", Of: "policy", Measures: []Measure{{"delay ms", 0}, {"cost", 2}}, Rows: []Row{
			{Name: "theirs", Paper: numbers(94, nan), Note: "not here yet"},
			{Name: "ours", Paper: none(2), Ours: intervals([][]float64{{10, 1}, {12, 1.5}, {14, nan}})},
		}}},
	}
	r.find("It is quick.", Holds, "See above.")
	var text, markdown, data bytes.Buffer
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if err := r.WriteMarkdown(&markdown); err != nil {
		t.Fatal(err)
	}
	if err := r.WriteJSON(&data); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"DELAY MS (PAPER)", "12 ± 5", "1.25 ± 3.18", "not here yet", "HOLDS: It is quick."} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in\n%s", want, text.String())
		}
	}
	if strings.Contains(text.String(), "COST (PAPER)") {
		t.Error("a column for figures that the paper does not have")
	}
	for _, want := range []string{"| policy | delay ms (paper) | delay ms | cost | note |", "| theirs | 94 | - | - | not here yet |",
		"- **holds**: It is quick. See above."} {
		if !strings.Contains(markdown.String(), want) {
			t.Errorf("%q is not in\n%s", want, markdown.String())
		}
	}
	var back Report
	if err := json.Unmarshal(data.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if !math.IsNaN(float64(back.Tables[0].Rows[0].Paper[1])) || back.Tables[0].Rows[1].Ours[0].Mean != 12 {
		t.Errorf("read back %+v", back.Tables[0].Rows)
	}
}

func TestBelow(t *testing.T) {
	of := func(values ...float64) bench.Interval { return bench.IntervalOf(values) }
	for name, row := range map[string]struct {
		a, b bench.Interval
		want Verdict
	}{
		"apart":               {of(1, 1.1, 1.2), of(5, 5.1, 5.2), Holds},
		"apart the other way": {of(5, 5.1, 5.2), of(1, 1.1, 1.2), Not},
		"overlapping":         {of(1, 5, 9), of(2, 6, 10), Undecided},
		"the same":            {of(1, 1, 1), of(1, 1, 1), Not},
	} {
		if got := below(row.a, row.b); got != row.want {
			t.Errorf("%s: %s, want %s", name, got, row.want)
		}
	}
}

func TestReadGoogle(t *testing.T) {
	head := "job,t_s,cpu,max_cpu,mem,tasks\n"
	w, err := ReadGoogle(strings.NewReader(head + "1,0,9,9,9,9\n" + googleJob + ",0,0.5,1,1,1\n" + googleJob + ",300,2,1,1,1\n" +
		googleJob + ",600,1,1,1,1\n"))
	if err != nil {
		t.Fatal(err)
	}
	if w.Step.Seconds() != 300 || len(w.Rates) != 3 || w.Rates[0] != 0.25 || w.Rates[1] != 1 || w.Rates[2] != 0.5 {
		t.Errorf("%v in bins of %v", w.Rates, w.Step)
	}
	for text, want := range map[string]string{
		"a,b\n1,2\n":                         "must have job, t_s and cpu",
		head + "1,0,9,9,9,9\n":               "is not in it",
		head + googleJob + ",0,much,1,1,1\n": `line 2: cpu is "much", must be a number`,
		head + googleJob + ",0,1,1,1\n":      "wrong number of fields",
		"":                                   "EOF",
	} {
		if _, err := ReadGoogle(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
