package pipeline

import (
	"fmt"
	"strings"

	"github.com/loadline/loadline/internal/report"
)

// Lead is the evaluation as the page begins with it.
func (e *Evaluation) Lead() report.Lead {
	v := &e.Verdict
	facts := []report.Fact{{Name: "Objective", Value: joined(e.Objective, 4)}}
	if v.Kind != Refused {
		facts = append(facts,
			report.Fact{Name: "Today", Value: fmt.Sprintf("%s, %s %s a month", RuleName(e.Settings.Today), money(v.TodayPerMonth), e.Currency)})
	}
	if v.Kind == Promote || v.Kind == Change {
		facts = append(facts, report.Fact{Name: "Saved", Value: fmt.Sprintf("%s %s a month (%s to %s)", money(v.Saved), e.Currency,
			money(v.SavedLow), money(v.SavedHigh))})
	}
	facts = append(facts, report.Fact{Name: "Axes", Value: strings.Join(e.Settings.Axes, ", ")})
	lead := report.Lead{Kind: string(v.Kind), Sentence: v.Sentence, Facts: facts, Reasons: v.Reasons, Assumptions: e.Assumptions,
		Unit: e.Currency + " a month", Points: []report.Point{}}
	lead.Conditions.Columns, lead.Conditions.Rows = e.conditionTable()
	for i := range e.Entries {
		p := &e.Entries[i]
		lead.Points = append(lead.Points, report.NewPoint(p.Label, p.remark(), p.MonthRange, p.OverRange, p.Front))
	}
	return lead
}
