package validate

import (
	"bytes"
	"strings"
	"testing"

	"github.com/loadline/loadline/lab/nodestudy"
)

// measuredAsPredicted are measurements that are the predictions times a factor.
func measuredAsPredicted(question string, factor float64) ([]nodestudy.Prediction, []nodestudy.Measurement) {
	var predicted []nodestudy.Prediction
	var measured []nodestudy.Measurement
	for _, run := range nodestudy.Runs() {
		if run.Question != question {
			continue
		}
		for _, p := range nodestudy.Predict(&run) {
			predicted = append(predicted, p)
			measured = append(measured, nodestudy.Measurement{
				Question: p.Question, Run: p.Run, Repeat: 1, Figure: p.Figure, Value: factor * p.Median,
			})
		}
	}
	return predicted, measured
}

func TestTheNodeReportHasTheErrorsOfItsData(t *testing.T) {
	predicted, measured := measuredAsPredicted(nodestudy.Weights, 1/1.1)
	measured = append(measured, nodestudy.Measurement{Question: nodestudy.Weights, Run: "50", Repeat: 1,
		Figure: nodestudy.Figure{Of: nodestudy.Generator, Name: nodestudy.ThrownAway}, Value: 2})
	r, err := newNodeReport(t.Context(), predicted, measured)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Questions[0].Figures {
		if f.Predicted.Median < 0.0999 || f.Predicted.Median > 0.1001 || f.Predicted.Bias < 0 || f.Now.Median != f.Predicted.Median {
			t.Errorf("%s: predicted 10 %% more than measured: %+v", f.Figure, f)
		}
		switch f.Figure {
		case nodestudy.CPUSeconds:
			if f.Met() || f.Predicted.N != 10 {
				t.Errorf("10 figures of CPU are 10 %% off, the goal is 5 %%: %+v", f)
			}
		case nodestudy.P99Ms:
			if !f.Met() {
				t.Errorf("p99s are 10 %% off, the goal is 20 %%: %+v", f)
			}
		}
	}
	if r.Discarded != 2 {
		t.Errorf("%v runs were thrown away, want 2", r.Discarded)
	}
	var text bytes.Buffer
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"weights    5 of 10", "quota      0 of 15  not measured", "thrown away because the generator was late: 2"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the report has no %q:\n%s", want, text.String())
		}
	}
}

func TestFaultsInNodeTablesAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"question,run,of,figure,value\n":                                         "the columns are",
		"question,run,repeat,of,figure,value\nweights,50,one,a,cpu_s,4.8\n":      "line 2",
		"question,run,repeat,of,figure,value\nweights,50,1,a,cpu_s,much\n":       "line 2",
		"question,run,repeat,of,figure,value\nweights,50,1,a,cpu_s\n":            "wrong number of fields",
		"question,run,repeat,of,figure,value\nweights,50,1,a,cpu_s,4.8\n\"open,": "line 3",
	} {
		if _, err := nodestudy.ReadMeasurements(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// The errors of the present event engine on what was measured, with a margin for the noise of single
// runs. docs/realpods.md has the goals.
func TestTheEventEngineAgreesWithRealPods(t *testing.T) {
	r, err := Node(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	bounds := map[nodeKey]float64{
		{nodestudy.Weights, nodestudy.CPUSeconds}: askedCPU, {nodestudy.Weights, nodestudy.P99Ms}: askedTail,
	}
	for _, q := range r.Questions {
		for _, f := range q.Figures {
			if bound, bounded := bounds[nodeKey{q.Question, f.Figure}]; bounded {
				atMost(t, q.Question+": median error of "+f.Figure, f.Now.Median, bound)
				delete(bounds, nodeKey{q.Question, f.Figure})
			}
		}
	}
	if len(bounds) > 0 {
		t.Errorf("not measured: %v", bounds)
	}
}
