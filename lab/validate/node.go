package validate

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/loadline/loadline/lab/data"
	"github.com/loadline/loadline/lab/nodestudy"
)

// NodeReport compares real pods with what was predicted before they were measured, and with what
// the event engine predicts now.
type NodeReport struct {
	Questions []NodeQuestion `json:"questions"`
	Rows      []NodeRow      `json:"rows"`
	// Discarded is how many runs were thrown away because the load generator was late; Late the
	// largest p99 of a request's lateness in ms, and Others the most cores that other processes used,
	// in the runs that were kept.
	Discarded float64 `json:"discarded"`
	Late      float64 `json:"late_ms"`
	Others    float64 `json:"others_cores"`
}

// NodeQuestion has the errors of one question's figures, over runs.
type NodeQuestion struct {
	Question string       `json:"question"`
	Runs     int          `json:"runs"` // with repeats
	Planned  int          `json:"planned"`
	Figures  []NodeFigure `json:"figures"`
}

// NodeFigure is one figure's errors.
type NodeFigure struct {
	Figure    string  `json:"figure"`
	Goal      float64 `json:"goal,omitzero"` // of the median; 0 = none
	Predicted Errors  `json:"predicted"`
	Now       Errors  `json:"now"`
}

// Met reports whether the prediction is within the goal.
func (f *NodeFigure) Met() bool { return f.Predicted.N > 0 && f.Predicted.Median <= f.Goal }

// NodeRow is one figure of one run: what was predicted, measured, and is predicted now.
type NodeRow struct {
	Question string     `json:"question"`
	Run      string     `json:"run"`
	Of       string     `json:"of"`
	Figure   string     `json:"figure"`
	Was      float64    `json:"predicted"`
	Range    [2]float64 `json:"range"` // central 90 % of the engine's runs
	Now      float64    `json:"now"`
	Measured []float64  `json:"measured"` // by repeat
}

func (r *NodeRow) measured() float64 { return median(r.Measured) }

// nodeGoals are the required accuracies, in the median over runs.
var nodeGoals = map[nodeKey]float64{
	{nodestudy.Weights, nodestudy.CPUSeconds}: 0.05, {nodestudy.Weights, nodestudy.P99Ms}: 0.20,
	{nodestudy.Quota, nodestudy.P99Ms}: 0.15, {nodestudy.Quota, nodestudy.Throttled}: 0.05,
	{nodestudy.Graph, nodestudy.CPUSeconds}: 0.05, {nodestudy.Graph, nodestudy.P99Ms}: 0.20,
}

type nodeKey struct{ question, figure string }

// Node compares the kept measurements of real pods with predictions.
func Node(ctx context.Context) (*NodeReport, error) {
	predicted, err := nodestudy.ReadPredictions(strings.NewReader(data.NodePredicted))
	if err != nil {
		return nil, fmt.Errorf("read predicted.csv: %w", err)
	}
	measured, err := nodestudy.ReadMeasurements(strings.NewReader(data.NodeMeasured))
	if err != nil {
		return nil, fmt.Errorf("read measured.csv: %w", err)
	}
	return newNodeReport(ctx, predicted, measured)
}

// PredictNode writes what the event engine predicts of all runs.
func PredictNode(w io.Writer) error {
	var all []nodestudy.Prediction
	for _, run := range nodestudy.Runs() {
		all = append(all, nodestudy.Predict(&run)...)
	}
	return nodestudy.WritePredictions(w, all)
}

// rowKey finds the row of a figure.
type rowKey struct {
	question, run string
	nodestudy.Figure
}

func newNodeReport(ctx context.Context, predicted []nodestudy.Prediction, measured []nodestudy.Measurement) (*NodeReport, error) {
	r := &NodeReport{}
	values := map[rowKey][]float64{}
	repeats := map[string]map[string]bool{}
	for _, m := range measured {
		key := rowKey{m.Question, m.Run, m.Figure}
		values[key] = append(values[key], m.Value)
		if repeats[m.Question] == nil {
			repeats[m.Question] = map[string]bool{}
		}
		repeats[m.Question][fmt.Sprintf("%s/%d", m.Run, m.Repeat)] = true
		switch m.Name {
		case nodestudy.ThrownAway:
			r.Discarded += m.Value
		case nodestudy.LateP99Ms:
			r.Late = max(r.Late, m.Value)
		case nodestudy.Others:
			r.Others = max(r.Others, m.Value)
		}
	}
	now, err := predictNow(ctx, repeats)
	if err != nil {
		return nil, err
	}
	for _, p := range predicted {
		key := rowKey{p.Question, p.Run, p.Figure}
		if len(values[key]) == 0 {
			continue
		}
		row := NodeRow{
			Question: p.Question, Run: p.Run, Of: p.Of, Figure: p.Name, Was: p.Median, Range: [2]float64{p.Low, p.High},
			Now: math.NaN(), Measured: values[key],
		}
		if v, found := now[key]; found {
			row.Now = v
		}
		r.Rows = append(r.Rows, row)
	}
	for _, run := range nodestudy.Runs() {
		at := slices.IndexFunc(r.Questions, func(q NodeQuestion) bool { return q.Question == run.Question })
		if at < 0 {
			at = len(r.Questions)
			r.Questions = append(r.Questions, NodeQuestion{Question: run.Question, Runs: len(repeats[run.Question])})
		}
		r.Questions[at].Planned += run.Repeats
	}
	for i := range r.Questions {
		r.Questions[i].Figures = r.figures(r.Questions[i].Question)
	}
	return r, nil
}

// predictNow plays the runs of the questions that were measured.
func predictNow(ctx context.Context, questions map[string]map[string]bool) (map[rowKey]float64, error) {
	runs := slices.DeleteFunc(nodestudy.Runs(), func(r nodestudy.Run) bool { return questions[r.Question] == nil })
	answers := make([][]nodestudy.Prediction, len(runs))
	err := each(ctx, len(runs), func(i int) { answers[i] = nodestudy.Predict(&runs[i]) })
	out := map[rowKey]float64{}
	for _, answer := range answers {
		for _, p := range answer {
			out[rowKey{p.Question, p.Run, p.Figure}] = p.Median
		}
	}
	return out, err
}

// figures of a question, in the order of their rows. Small numbers of events are chance: they are in
// the rows only.
func (r *NodeReport) figures(question string) []NodeFigure {
	var names []string
	was, now := map[string]*pairs{}, map[string]*pairs{}
	for i := range r.Rows {
		row := &r.Rows[i]
		counts := row.Figure == nodestudy.Throttled || row.Figure == nodestudy.Failed
		if row.Question != question || counts && row.measured() < throttledKnown {
			continue
		}
		if was[row.Figure] == nil {
			names = append(names, row.Figure)
			was[row.Figure], now[row.Figure] = &pairs{}, &pairs{}
		}
		was[row.Figure].add(row.Was, row.measured())
		now[row.Figure].add(row.Now, row.measured())
	}
	var out []NodeFigure
	for _, name := range names {
		if f := (NodeFigure{name, nodeGoals[nodeKey{question, name}], was[name].errors(), now[name].errors()}); f.Predicted.N > 0 {
			out = append(out, f)
		}
	}
	return out
}

// WriteText prints the report.
func (r *NodeReport) WriteText(w io.Writer) error {
	p := newPrinter(w)
	p.printf("Real pods under a real kubelet, beside the event engine\n\n")
	p.printf("Predictions were committed before the measurement; \"now\" is the present engine. Overhead of the image: %v of CPU\n"+
		"for a visit, %v for a call, %v of waiting.\n\n", nodestudy.Measured.Visit, nodestudy.Measured.Call, nodestudy.Measured.Wait)
	p.row("question", "runs", "figure", "of", "median error", "90 %", "bias", "goal", "", "now")
	for _, q := range r.Questions {
		runs := fmt.Sprintf("%d of %d", q.Runs, q.Planned)
		if len(q.Figures) == 0 {
			p.row(q.Question, runs, "not measured")
		}
		for i := range q.Figures {
			f := &q.Figures[i]
			goal, verdict := "", ""
			if f.Goal > 0 {
				goal, verdict = percent(f.Goal), met(f.Met())
			}
			p.row(q.Question, runs, f.Figure, fmt.Sprint(f.Predicted.N), percent(f.Predicted.Median), percent(f.Predicted.P90),
				signed(f.Predicted.Bias), goal, verdict, percent(f.Now.Median))
		}
	}
	p.flush()
	if len(r.Rows) > 0 {
		p.printf("\nRuns thrown away because the generator was late: %.0f. In those kept, requests were sent at most %.2f ms late (p99), "+
			"and other processes used at most %.2f cores.\n\n", r.Discarded, r.Late, r.Others)
	}
	p.row("question", "run", "of", "figure", "predicted", "central 90 %", "measured", "error", "now")
	for i := range r.Rows {
		row := &r.Rows[i]
		wrong := ""
		if m := row.measured(); m > 0 {
			wrong = signed(row.Was/m - 1)
		}
		var all []string
		for _, v := range row.Measured {
			all = append(all, fmt.Sprintf("%.4g", v))
		}
		p.row(row.Question, row.Run, row.Of, row.Figure, fmt.Sprintf("%.4g", row.Was), fmt.Sprintf("%.4g-%.4g", row.Range[0], row.Range[1]),
			strings.Join(all, " "), wrong, fmt.Sprintf("%.4g", row.Now))
	}
	p.flush()
	return p.err()
}
