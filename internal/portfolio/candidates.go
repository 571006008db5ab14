package portfolio

import (
	"math"
	"slices"

	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/pipeline"
	"github.com/loadline/loadline/internal/result"
)

const (
	// mostCandidates and mostCurves of an evaluation are kept: the file is also in a ConfigMap.
	mostCandidates = 64
	mostCurves     = 64
	// mostCurvePoints of one learning curve are kept.
	mostCurvePoints = 80
)

// Parts of the history that a candidate's figures are of.
const (
	OnTest      = "test"
	OnSelection = "selection"
)

// Evaluated is a policy of the evaluation, promoted or not, with its figures.
type Evaluated struct {
	Label  string `json:"label"`
	Role   string `json:"role"`             // as in an evaluation
	Method string `json:"method,omitempty"` // of a candidate
	Policy string `json:"policy,omitempty"` // in the notation of policies; none = it has a model
	On     string `json:"on"`               // part of the history that the figures are of
	SLO    string `json:"slo"`              // whether the objective is met

	PerMonth   result.Number    `json:"per_month"`
	MonthRange [2]result.Number `json:"per_month_range"` // null without an interval
	Over       result.Number    `json:"over_slo_ratio"`
	OverRange  [2]result.Number `json:"over_slo_range"`
	Front      bool             `json:"front"` // no other of this part is both cheaper and safer
	Promoted   bool             `json:"promoted,omitempty"`
}

// Curve is how a candidate learned.
type Curve struct {
	Candidate string       `json:"candidate"`
	Service   string       `json:"service"` // "*" = one network for all
	Points    []CurvePoint `json:"points"`
}

// CurvePoint is one point of a learning curve; unknown values are null.
type CurvePoint struct {
	Steps      int           `json:"steps"`
	Return     result.Number `json:"return"`
	Loss       result.Number `json:"loss"`
	Evaluation result.Number `json:"evaluation"`
}

// candidatesOf an evaluation: those that were judged on the test part, and of the others what the
// selection found.
func candidatesOf(e *pipeline.Evaluation, promoted string) (all []Evaluated) {
	add := func(on string, entries []pipeline.Entry) {
		for i := range entries {
			d := &entries[i]
			if len(all) == mostCandidates || slices.ContainsFunc(all, func(c Evaluated) bool { return c.Label == d.Label }) {
				continue
			}
			c := Evaluated{Label: d.Label, Role: d.Role, Method: d.Method, Policy: d.Policy, On: on, SLO: string(d.SLO),
				PerMonth: d.PerMonth, MonthRange: rangeOf(d.MonthRange), Over: d.Over, OverRange: rangeOf(d.OverRange),
				Front: d.Front, Promoted: d.Label == promoted}
			if d.SHA256 != "" {
				c.Policy = ""
			}
			all = append(all, c)
		}
	}
	add(OnTest, e.Entries)
	add(OnSelection, e.Selection.Entries)
	return all
}

// rangeOf an interval; one seed has none.
func rangeOf(i bench.Interval) [2]result.Number {
	if i == (bench.Interval{}) {
		return [2]result.Number{result.Number(math.NaN()), result.Number(math.NaN())}
	}
	return [2]result.Number{i.Low, i.High}
}

// curvesOf the candidates that learned, the promoted one first, each with a bounded number of points.
func curvesOf(outcomes []pipeline.Outcome, promoted string) (all []Curve) {
	for _, own := range []bool{true, false} {
		for i := range outcomes {
			o := &outcomes[i]
			if (o.Name == promoted) != own {
				continue
			}
			for _, c := range o.Curves {
				if len(all) < mostCurves && len(c.Points) > 0 {
					all = append(all, Curve{o.Name, c.Service, thin(c.Points)})
				}
			}
		}
	}
	return all
}

// thin keeps points at even distances, the first and the last among them.
func thin(points []pipeline.OutcomePoint) []CurvePoint {
	n := min(len(points), mostCurvePoints)
	kept := make([]CurvePoint, n)
	for i := range kept {
		from := 0
		if n > 1 {
			from = i * (len(points) - 1) / (n - 1)
		}
		p := points[from]
		kept[i] = CurvePoint{p.Steps, p.Return, p.Loss, p.Evaluation}
	}
	return kept
}
