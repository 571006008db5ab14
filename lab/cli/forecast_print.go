package cli

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/loadline/loadline/internal/atomicfile"
	"github.com/loadline/loadline/internal/cli"
	"github.com/loadline/loadline/internal/draw"
	"github.com/loadline/loadline/internal/forecast"
	"github.com/loadline/loadline/internal/modelfile"
)

// evalResult is the result of forecast eval.
type evalResult struct {
	Workload    string              `json:"workload"`
	Series      []string            `json:"series"`
	StepSeconds float64             `json:"step_s"`
	Part        string              `json:"part"`
	Seed        uint64              `json:"seed"`
	History     int                 `json:"history_bins"`
	Tested      int                 `json:"tested_bins"`
	Missing     int                 `json:"missing_bins"`
	Models      []forecast.Errors   `json:"models"`
	GRU         *forecast.GRUReport `json:"gru,omitempty"`

	task  forecast.Task
	frame forecast.Frame
	plan  forecast.Plan
	walks []forecast.Walk
	gru   *forecast.GRU
}

func (r *evalResult) print(out io.Writer) error {
	step := r.frame.Step
	fmt.Fprintf(out, "%s, %s: %v of history, then %v of %s, in steps of %v; %d of %d samples are missing\n\n",
		r.Workload, r.Series[0], time.Duration(r.History)*step, time.Duration(r.Tested)*step, r.Part, step, r.Missing, r.frame.Bins())
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "AHEAD\tMODEL\tMSE\tNMSE\tMAPE\tMSE/PERSISTENCE\tMSE/SEASONAL\tINSIDE\tSAMPLES")
	for h := range r.task.Horizons {
		for _, m := range r.Models {
			a := m.Horizons[h]
			fmt.Fprintf(t, "%v\t%s\t%.4g\t%.4g\t%s\t%s\t%s\t%s\t%d\n", a.Ahead, m.Model, a.MSE, a.NormalisedMSE,
				cli.Percent(a.MAPE), r.against("persistence", h, a.MSE), r.against("seasonal", h, a.MSE), cli.Percent(a.Inside), a.Samples)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out, "\nShare of outcomes at or below each quantile, at the longest horizon:")
	fmt.Fprint(t, "MODEL")
	for _, l := range r.task.Levels {
		fmt.Fprintf(t, "\t%g %%", 100*l)
	}
	fmt.Fprintln(t, "\tCLAIMED SKILL")
	for i, m := range r.Models {
		fmt.Fprint(t, m.Model)
		for _, c := range m.Horizons[len(m.Horizons)-1].Covered {
			fmt.Fprintf(t, "\t%s", cli.Percent(c))
		}
		fmt.Fprintf(t, "\t%s\n", claimedSkill(r.walks[i]))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if r.GRU != nil {
		fmt.Fprintf(out, "\nGRU: %d windows, best after passes %v, loss %.4g on the validation part of its training\n", r.GRU.Windows,
			r.GRU.Epochs, r.GRU.Loss)
	}
	width, colour := cli.Screen(out)
	drawn := r.Models
	if !colour && len(drawn) > 2 { // more than two lines cannot be distinguished
		drawn = []forecast.Errors{drawn[0], drawn[len(drawn)-1]}
	}
	_, err := fmt.Fprintf(out, "\n%s\n%s", r.errorFigure(drawn).Terminal(width, colour), r.storyFigure().Terminal(width, colour))
	return err
}

// claimedSkill is the skill that a model reports for its last forecast.
func claimedSkill(w forecast.Walk) string {
	for i := len(w.Answers) - 1; i >= 0; i-- {
		if w.Silent[i] {
			continue
		}
		ahead := w.Answers[i].Ahead
		if skill := ahead[len(ahead)-1].Recent.Skill(); !math.IsNaN(skill) {
			return fmt.Sprintf("%.2f", skill)
		}
		break
	}
	return "-"
}

// against is an error as a ratio to another model's.
func (r *evalResult) against(model string, h int, mse float64) string {
	for _, m := range r.Models {
		if m.Model == model && m.Horizons[h].MSE > 0 {
			return fmt.Sprintf("%.2f", mse/m.Horizons[h].MSE)
		}
	}
	return "-"
}

// errorFigure is the errors by horizon, a panel for each kind.
func (r *evalResult) errorFigure(models []forecast.Errors) draw.Figure {
	error, inside := draw.Panel{Title: "Root of MSE"}, draw.Panel{Title: "Outcomes within the outermost quantiles", Unit: "%"}
	for _, m := range models {
		e, c := draw.Line{Name: m.Model}, draw.Line{Name: m.Model}
		for _, a := range m.Horizons {
			e.X, e.Y = append(e.X, a.Seconds), append(e.Y, math.Sqrt(a.MSE))
			c.X, c.Y = append(c.X, a.Seconds), append(c.Y, 100*a.Inside)
		}
		error.Lines, inside.Lines = append(error.Lines, e), append(inside.Lines, c)
	}
	inside.Marks = []draw.HLine{{Name: "claimed", Y: 100 * r.Models[0].Horizons[0].Claimed}}
	return draw.Figure{
		Title: "Errors of forecasts by time ahead", Subtitle: r.Workload + ", " + r.Series[0] + ", " + r.Part,
		Panels: []draw.Panel{error, inside},
	}
}

// storyFigure is the actual series and the last model's forecasts at the middle horizon, over
// the test part.
func (r *evalResult) storyFigure() draw.Figure {
	h := len(r.task.Horizons) / 2
	steps, walk := r.task.Horizons[h], r.walks[len(r.walks)-1]
	came := draw.Line{Name: "came"}
	said, low, high := draw.Line{Name: walk.Model}, draw.Line{Name: "5 %"}, draw.Line{Name: "95 %"}
	for i := range walk.Answers {
		x := float64(i) * r.StepSeconds
		came.X, came.Y = append(came.X, x), append(came.Y, r.frame.Rows[walk.From+i][0])
		median, bottom, top := math.NaN(), math.NaN(), math.NaN()
		if from := i - steps; from >= 0 && !walk.Silent[from] {
			a := walk.Answers[from].Ahead[h]
			median, bottom, top = a.Median, a.Quantiles[0], a.Quantiles[len(a.Quantiles)-1]
		}
		for line, v := range map[*draw.Line]float64{&said: median, &low: bottom, &high: top} {
			line.X, line.Y = append(line.X, x), append(line.Y, v)
		}
	}
	ahead := (time.Duration(steps) * r.frame.Step).String()
	return draw.Figure{
		Title: "Forecasts made " + ahead + " before", Subtitle: r.Workload + ", " + r.Series[0] + ", " + r.Part,
		Panels: []draw.Panel{
			{Title: "Outcome, and the forecast of " + walk.Model, Lines: []draw.Line{came, said}, Free: true},
			{Title: "Quantiles of the forecast, and the outcome", Lines: []draw.Line{low, high, came}, Free: true},
		},
	}
}

// writeFiles writes the requested files besides the table.
func (e *forecastEval) writeFiles(r *evalResult) error {
	for path, figure := range map[string]func() draw.Figure{e.svg: func() draw.Figure { return r.errorFigure(r.Models) },
		e.story: r.storyFigure} {
		if path == "" {
			continue
		}
		write := func(w io.Writer) error {
			_, err := w.Write(figure().SVG())
			return err
		}
		if err := atomicfile.Write(path, write); err != nil {
			return err
		}
	}
	if e.log != "" {
		if err := atomicfile.Write(e.log, r.writeCurves); err != nil {
			return err
		}
	}
	if e.save == "" {
		return nil
	}
	file, err := r.gru.File(e.source.name, r.results())
	if err != nil {
		return err
	}
	return file.Write(e.save)
}

// writeCurves writes the learning curves of the GRU's networks, of the last training.
func (r *evalResult) writeCurves(w io.Writer) error {
	out := csv.NewWriter(w)
	_ = out.Write([]string{"network", "pass", "loss", "held_back_loss"}) // out.Error reports
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	for member, curve := range r.GRU.Curves {
		for pass, loss := range curve {
			_ = out.Write([]string{strconv.Itoa(member + 1), strconv.Itoa(pass + 1), number(loss.Trained), number(loss.Held)})
		}
	}
	out.Flush()
	return out.Error()
}

// results are the GRU's errors for its model file, beside persistence's.
func (r *evalResult) results() []modelfile.Result {
	var out []modelfile.Result
	on := fmt.Sprintf("%s, %v", r.Part, time.Duration(r.Tested)*r.frame.Step)
	for _, m := range r.Models {
		if m.Model != "gru" {
			continue
		}
		for h, a := range m.Horizons {
			out = append(out,
				modelfile.Result{Name: fmt.Sprintf("MSE, %v ahead", a.Ahead), On: on, Value: a.MSE, Baseline: "persistence",
					Against: r.Models[0].Horizons[h].MSE},
				modelfile.Result{Name: fmt.Sprintf("inside 5..95 %%, %v ahead", a.Ahead), On: on, Value: a.Inside, Baseline: "claimed",
					Against: a.Claimed})
		}
	}
	return out
}
