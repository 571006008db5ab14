package papers

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/result"
)

// TestElasticRepeatsAndGoesOn: the second time with the models of the first, one of which is
// torn, and with another number of parallel runs.
func TestElasticRepeatsAndGoesOn(t *testing.T) {
	o := tiny(t, 1)
	o.Seeds, o.few, o.Steps = 1, true, 80
	var texts [2]bytes.Buffer
	for i := range texts {
		r, err := ElasticDQN(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.WriteJSON(&texts[i]); err != nil {
			t.Fatal(err)
		}
		models, err := filepath.Glob(filepath.Join(o.Models, "*.safetensors"))
		if err != nil || len(models) != 2*2 {
			t.Fatalf("%d models (%v), want two trials of two rivals", len(models), err)
		}
		for _, rival := range elasticRivals {
			at := rowNamed(r.Tables[0].Rows, rival.learner)
			if at == nil || len(at.Ours) == 0 || len(at.Paper) != 3 || !strings.Contains(at.Note, "chosen: rate") {
				t.Errorf("%s: %+v", rival.learner, at)
			}
		}
		for _, absent := range elasticAbsent {
			if at := rowNamed(r.Tables[0].Rows, absent.Name); at == nil || len(at.Ours) != 0 || !strings.Contains(at.Note, "not here") {
				t.Errorf("%s: %+v", absent.Name, at)
			}
		}
		if err := os.Truncate(models[0], 20); err != nil {
			t.Fatal(err)
		}
		o.Workers = 3
	}
	if !bytes.Equal(texts[0].Bytes(), texts[1].Bytes()) {
		t.Error("the same seeds gave other figures")
	}
}

func rowNamed(rows []Row, name string) *Row {
	for i := range rows {
		if rows[i].Name == name {
			return &rows[i]
		}
	}
	return nil
}

func TestElasticGivesEverybodyAsManyTrials(t *testing.T) {
	settings := elasticSettings()
	if len(settings) != len(elasticWeights) {
		t.Errorf("%d factors on learning rates, elastic-dqn has %d weights", len(settings), len(elasticWeights))
	}
	seen := map[float64]bool{}
	for _, s := range settings {
		if seen[s.Rate] || !(s.Rate > 0) || s.Name == "" {
			t.Errorf("%+v of %+v", s, settings)
		}
		seen[s.Rate] = true
	}
}

func TestElasticRefusesWhatCannotBeTrained(t *testing.T) {
	o := tiny(t, 1)
	o.Steps = 20
	if _, err := ElasticDQN(context.Background(), o); err == nil || !strings.Contains(err.Error(), "steps is 20, must be at least 40") {
		t.Error(err)
	}
	o = tiny(t, 1)
	o.Models = ""
	if _, err := ElasticDQN(context.Background(), o); err == nil || !strings.Contains(err.Error(), "--out") {
		t.Error(err)
	}
}

func TestChooseTheCheapestWithinTheSLO(t *testing.T) {
	tried := func(cost, over result.Number) result.Result {
		return result.Result{CoreHours: cost, OverSLORatio: over, DegradedRatio: over}
	}
	got := choose([][]result.Result{
		{tried(3, 0), tried(1, 0.2), tried(2, 0.001)}, // the second violates the SLO
		{tried(3, 0.3), tried(9, 0.1), tried(1, 0.2)}, // all violate it
		{tried(2, 0), tried(2, 0)},                    // equal
	})
	if len(got) != 3 || got[0] != 2 || got[1] != 1 || got[2] != 0 {
		t.Errorf("chose %v, want 2, 1 and 0", got)
	}
	if text := tally(got, []string{"a", "b", "c"}); text != "a by 1, b by 1, c by 1" {
		t.Error(text)
	}
	if text := tally([]int{1, 1}, []string{"a", "b"}); text != "b by 2" {
		t.Error(text)
	}
}

// TestElasticFindingsAreOfTheRivals: each implemented rival has a verdict of its own, by all
// three of the paper's figures.
func TestElasticFindingsAreOfTheRivals(t *testing.T) {
	row := func(name string, response, cost, over float64) Row {
		exactly := func(v float64) bench.Interval {
			return bench.Interval{Mean: result.Number(v), Low: result.Number(v), High: result.Number(v)}
		}
		return Row{Name: name, Ours: []bench.Interval{exactly(response), exactly(cost), exactly(over), exactly(1), exactly(1)}}
	}
	r := &Report{}
	elasticFindings(r, "shop", []Row{
		row("msars", 20, 2, 2), row("drpc", 5, 2, 2), row(elasticOurs, 10, 1, 1),
		row(elasticHPA, 10, 1, 1), row(elasticCalibrated, 10, 1, 1), row(elasticOracle, 10, 1, 1),
	})
	verdicts := map[string]Verdict{}
	for _, f := range r.Findings {
		for _, rival := range elasticRivals {
			if strings.Contains(f.Claim, "than "+rival.title+".") {
				verdicts[rival.learner] = f.Verdict
			}
		}
	}
	if verdicts["msars"] != Holds || verdicts["drpc"] != Partly {
		t.Errorf("%v: better than msars in all, than drpc in cost and violations", verdicts)
	}
}
