package study

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/loadline/loadline/internal/rl"
)

// Number is written as null if it is NaN.
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	if v := float64(n); !math.IsNaN(v) && !math.IsInf(v, 0) {
		return json.Marshal(v)
	}
	return []byte("null"), nil
}

// Report is the result of a study. Cells are in the order of the grid.
type Report struct {
	Task     string `json:"environment"`
	Agent    string `json:"agent"`
	Vary     []Axis `json:"vary"`
	Steps    int    `json:"steps"`
	Solved   Number `json:"solved_at_return"`
	Runs     int    `json:"runs"`
	Finished int    `json:"finished"`
	Cells    []Cell `json:"cells"`
}

// Cell is one combination of settings and the runs of it that have finished.
type Cell struct {
	Settings []Assignment `json:"settings"`
	Outcomes []*Outcome   `json:"outcomes"`
}

// MarshalJSON writes an assignment as {"key": ..., "value": ...}.
func (a Assignment) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]string{"key": a.Key, "value": a.Value})
}

// Outcome is one run.
type Outcome struct {
	Seed        uint64  `json:"seed"`
	Score       Number  `json:"score"`           // mean return of the best policy, on separate episodes
	SolvedAfter *int    `json:"solved_after"`    // steps to the first evaluation that was good enough; null = none
	Curve       []Point `json:"curve,omitempty"` // during training
}

// Point of a learning curve.
type Point struct {
	Steps      int    `json:"steps"`
	Episodes   int    `json:"episodes"`
	Return     Number `json:"return"`
	Loss       Number `json:"loss"`
	Evaluation Number `json:"evaluation"`
}

func newOutcome(seed uint64, score float64, curve []rl.Point, solved float64) *Outcome {
	o := &Outcome{Seed: seed, Score: Number(score)}
	for _, p := range curve {
		o.Curve = append(o.Curve, Point{p.Steps, p.Episodes, Number(p.Return), Number(p.Loss), Number(p.Evaluation)})
		if o.SolvedAfter == nil && p.Evaluation >= solved {
			o.SolvedAfter = &p.Steps
		}
	}
	return o
}

func (b *board) report(jobs []job) *Report {
	r := &Report{
		Task: b.spec.Task.Name, Agent: b.spec.Agent, Vary: b.spec.Vary, Steps: b.spec.Training.Steps,
		Solved: Number(b.spec.Task.Solved), Runs: b.total, Finished: b.finished,
	}
	for _, settings := range b.settings {
		r.Cells = append(r.Cells, Cell{Settings: settings, Outcomes: []*Outcome{}})
	}
	for i, o := range b.outcomes {
		if o != nil {
			r.Cells[jobs[i].cell].Outcomes = append(r.Cells[jobs[i].cell].Outcomes, o)
		}
	}
	return r
}

// Values of a cell's settings, in the order of the axes.
func (c Cell) Values() string {
	var values []string
	for _, a := range c.Settings {
		values = append(values, a.Value)
	}
	return strings.Join(values, ", ")
}

// Mean score of the runs; NaN without any.
func (c Cell) Mean() float64 {
	sum := 0.0
	for _, o := range c.Outcomes {
		sum += float64(o.Score)
	}
	return sum / float64(len(c.Outcomes))
}

// SolvedAfter is the number of runs that solved the task, and their median steps.
func (c Cell) SolvedAfter() (runs, medianSteps int) {
	var steps []int
	for _, o := range c.Outcomes {
		if o.SolvedAfter != nil {
			steps = append(steps, *o.SolvedAfter)
		}
	}
	if len(steps) == 0 {
		return 0, 0
	}
	slices.Sort(steps)
	return len(steps), steps[len(steps)/2]
}

// Ranked are the cells that have runs, the best mean first.
func (r *Report) Ranked() []Cell {
	var ranked []Cell
	for _, c := range r.Cells {
		if len(c.Outcomes) > 0 {
			ranked = append(ranked, c)
		}
	}
	slices.SortStableFunc(ranked, func(a, b Cell) int {
		switch x, y := a.Mean(), b.Mean(); {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	return ranked
}

// WriteText writes a table, the best cell first.
func (r *Report) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, axis := range r.Vary {
		fmt.Fprintf(t, "%s\t", strings.ToUpper(axis.Key))
	}
	fmt.Fprintln(t, "MEAN RETURN\tWORST\tBEST\tSOLVED\tAFTER STEPS\tLEARNING")
	for _, c := range r.Ranked() {
		for _, a := range c.Settings {
			fmt.Fprintf(t, "%s\t", a.Value)
		}
		worst, best := math.Inf(1), math.Inf(-1)
		for _, o := range c.Outcomes {
			worst, best = min(worst, float64(o.Score)), max(best, float64(o.Score))
		}
		solved, after := c.SolvedAfter()
		median := "-"
		if solved > 0 {
			median = strconv.Itoa(after)
		}
		fmt.Fprintf(t, "%.1f\t%.1f\t%.1f\t%d of %d\t%s\t%s\n", c.Mean(), worst, best, solved, len(c.Outcomes), median, r.spark(c, 16))
	}
	return t.Flush()
}

// WriteJSON writes everything.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// WriteCSV writes the learning curves, one row for each point of each run.
func (r *Report) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	var head []string
	for _, axis := range r.Vary {
		head = append(head, axis.Key)
	}
	_ = out.Write(append(head, "seed", "steps", "episodes", "return", "loss", "evaluation")) // Error reports
	number := func(n Number) string {
		if math.IsNaN(float64(n)) {
			return ""
		}
		return strconv.FormatFloat(float64(n), 'g', -1, 64)
	}
	for _, c := range r.Cells {
		var row []string
		for _, a := range c.Settings {
			row = append(row, a.Value)
		}
		for _, o := range c.Outcomes {
			for _, p := range o.Curve {
				_ = out.Write(append(slices.Clone(row), strconv.FormatUint(o.Seed, 10), strconv.Itoa(p.Steps), strconv.Itoa(p.Episodes),
					number(p.Return), number(p.Loss), number(p.Evaluation)))
			}
		}
	}
	out.Flush()
	return out.Error()
}
