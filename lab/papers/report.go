package papers

import (
	"encoding/json"
	"io"
	"math"

	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/result"
)

// Report is the result of an experiment.
type Report struct {
	Name     string    `json:"name"`
	Title    string    `json:"title"`
	Seeds    int       `json:"seeds"`
	Setup    []string  `json:"setup"` // what was run, sentence by sentence
	Tables   []Table   `json:"tables"`
	Findings []Finding `json:"findings"`
}

// Table compares rows by measures, the paper's figures beside ours.
type Table struct {
	Name     string    `json:"name"`
	Note     string    `json:"note,omitempty"`
	Of       string    `json:"of"` // what a row is
	Measures []Measure `json:"measures"`
	Rows     []Row     `json:"rows"`
}

// Measure is a column, or two if the paper has figures for it.
type Measure struct {
	Name   string `json:"name"`
	Digits int    `json:"digits"` // behind the point
}

// Row of a table. Both slices have one value for each measure; unknown values are NaN.
type Row struct {
	Name  string           `json:"name"`
	Paper []result.Number  `json:"paper"`
	Ours  []bench.Interval `json:"ours"`
	Note  string           `json:"note,omitempty"`
}

// Verdict on a claim.
type Verdict string

// Verdicts.
const (
	Holds     Verdict = "holds"
	Partly    Verdict = "partly"
	Not       Verdict = "does not hold"
	Undecided Verdict = "undecided" // the intervals are too wide
)

// Finding is a claim and its verdict here.
type Finding struct {
	Claim   string  `json:"claim"`
	Verdict Verdict `json:"verdict"`
	Because string  `json:"because"`
}

// WriteJSON writes everything.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// find adds the verdict on a claim.
func (r *Report) find(claim string, v Verdict, because string) {
	r.Findings = append(r.Findings, Finding{claim, v, because})
}

// numbers of a paper; NaN where it gives none.
func numbers(values ...float64) []result.Number {
	out := make([]result.Number, len(values))
	for i, v := range values {
		out[i] = result.Number(v)
	}
	return out
}

// none is NaN for figures that the paper does not give.
func none(n int) []result.Number {
	out := make([]result.Number, n)
	for i := range out {
		out[i] = result.Number(math.NaN())
	}
	return out
}

// intervals over seeds, one for each measure; values are by seed.
func intervals(values [][]float64) []bench.Interval {
	if len(values) == 0 {
		return nil
	}
	out := make([]bench.Interval, len(values[0]))
	for m := range out {
		column := make([]float64, len(values))
		for s := range values {
			column[s] = values[s][m]
		}
		out[m] = bench.IntervalOf(column)
	}
	return out
}

// below tests whether a is significantly below b, above it, or neither.
func below(a, b bench.Interval) Verdict {
	switch {
	case a.High < b.Low:
		return Holds
	case a.Low > b.High:
		return Not
	case a.Mean == b.Mean && a.Low == a.High && b.Low == b.High:
		return Not
	}
	return Undecided
}

func mean(values []float64) float64 {
	sum, n := 0.0, 0
	for _, v := range values {
		if !math.IsNaN(v) {
			sum += v
			n++
		}
	}
	return sum / float64(n)
}

// rounded to the given digits after the point.
func rounded(n result.Number, digits int) result.Number {
	f := math.Pow(10, float64(digits))
	return result.Number(math.Round(float64(n)*f) / f)
}
