package report

import "github.com/loadline/loadline/internal/bench"

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
