package report

import (
	"slices"

	"github.com/loadline/loadline/internal/bench"
)

// Lead is what a page begins with if its runs were made to answer a question: the answer, and what
// it rests on. It replaces the verdicts by scenario, of which each is about a part only.
type Lead struct {
	Kind     string   `json:"kind"` // one word: promote, change, keep, undecided
	Sentence string   `json:"sentence"`
	Facts    []Fact   `json:"facts"` // money, objective
	Reasons  []string `json:"reasons"`
	// Assumptions that the answer rests on.
	Assumptions []string `json:"assumptions"`
	// Conditions other than those of the comparison, and what policies do there.
	Conditions Table `json:"conditions"`
	// Unit of the points' costs.
	Unit   string  `json:"unit"`
	Points []Point `json:"points"` // the policies of the page, over all scenarios
	// Whole has runs over all of the data that the answer is about; nil = none.
	Whole *Whole `json:"whole,omitempty"`
}

// Whole is a picture of policies over each other.
type Whole struct {
	Title string     `json:"title"`
	About string     `json:"about"`
	Kinds []Kind     `json:"kinds"`
	Runs  []WholeRun `json:"runs"`
}

// WholeRun is the run of one policy.
type WholeRun struct {
	Label string `json:"label"`
	Chunk int    `json:"chunk"`
}

// Table of texts.
type Table struct {
	Columns []string   `json:"columns"`
	Rows    [][]string `json:"rows"`
}

// Point is a policy's cost against its share of requests over the SLO.
type Point struct {
	Label   string `json:"label"`
	Cost    triple `json:"cost"`
	OverSLO triple `json:"over_slo_ratio"`
	Front   bool   `json:"front"`
	Note    string `json:"note"`
}

// NewPoint makes a point of two intervals.
func NewPoint(label, note string, cost, over bench.Interval, front bool) Point {
	return Point{Label: label, Note: note, Cost: tripleOf(cost), OverSLO: tripleOf(over), Front: front}
}

// Fact is a short line with a name.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Lead sets what the page begins with.
func (r *Report) Lead(l Lead) { r.Summary.Lead = &l }

// AddWhole adds the runs of a bench directory, the first of each policy, to what the page begins
// with. Policies that the page does not have are left out.
func (r *Report) AddWhole(dir, title, about string) error {
	results, err := Results(dir)
	if err != nil {
		return err
	}
	runs, err := readRuns(dir, results)
	if err != nil {
		return err
	}
	w := &Whole{Title: title, About: about}
	for i := range results.Rows {
		row := &results.Rows[i]
		known := slices.ContainsFunc(r.Summary.Policies, func(p Policy) bool { return p.Label == row.Case.Label })
		if !known || len(row.Runs) == 0 {
			continue
		}
		run := runs[row.Runs[0]]
		w.Kinds = run.kinds
		w.Runs = append(w.Runs, WholeRun{Label: row.Case.Label, Chunk: len(r.runs)})
		r.runs = append(r.runs, run.story)
	}
	if len(w.Runs) > 0 {
		r.Summary.Lead.Whole = w
	}
	return nil
}
