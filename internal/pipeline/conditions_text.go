package pipeline

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/loadline/loadline/internal/result"
)

// conditionTable has a column for each deployment that was tried: the share of requests over the
// SLO, and what it saves against today's under the same condition.
func (e *Evaluation) conditionTable() (columns []string, rows [][]string) {
	if len(e.Conditions) == 0 {
		return nil, nil
	}
	columns = []string{"condition", "must hold"}
	for _, r := range e.Conditions[0].Results {
		columns = append(columns, r.Label)
	}
	for i := range e.Conditions {
		c := &e.Conditions[i]
		row := []string{c.Name, "no"}
		if c.Needed && c.TodayMeets {
			row[1] = "yes"
		}
		for _, label := range columns[2:] {
			r := c.result(label)
			switch {
			case r == nil:
				row = append(row, "-")
			case label == TodayLabel:
				row = append(row, result.Percent(r.Over)+" over"+mark(r))
			default:
				row = append(row, fmt.Sprintf("%s over%s, %s", result.Percent(r.Over), mark(r), signed(-r.Saves)))
			}
		}
		rows = append(rows, row)
	}
	return columns, rows
}

// mark of a violation.
func mark(r *ConditionResult) string {
	if r.Holds {
		return ""
	}
	return " !"
}

func (e *Evaluation) writeConditions(b *strings.Builder) {
	columns, rows := e.conditionTable()
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(b, "Conditions, on the busiest and the steepest %.0f minutes of the test part, %d runs each (!: the SLO is violated; cost "+
		"against today in the same condition):\n", conditionStretch.Minutes(), conditionSeeds)
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{columns}, rows...) {
		fmt.Fprintf(t, "  %s\t\n", strings.Join(row, "\t"))
	}
	t.Flush()
	b.WriteByte('\n')
}

// nodesAssumed says what is known of how busy the nodes are.
func (j EvaluationSettings) nodesAssumed(k *Knowledge) string {
	switch {
	case j.NeighboursGiven:
		return fmt.Sprintf("Others use %.0f %% of the nodes' CPU, as given.", 100*j.Cluster.Neighbours.Use)
	case k.Others != nil:
		return fmt.Sprintf("Others use %.0f %% of the nodes' CPU, %.0f %% in the busiest twentieth of the time, as the history shows.",
			100*j.Cluster.Neighbours.Use, 100*k.Others.Busiest)
	}
	return fmt.Sprintf("How busy the nodes are is not in the history: costs are those on nodes without others, and what is recommended must "+
		"hold with nodes up to %.0f %% busy; set it with --neighbours use=SHARE.", 100*mostExpected)
}

// twinAssumed says how far the twin is off on later history; "" = not measured.
func (k *Knowledge) twinAssumed() string {
	c := Condition{}
	for _, s := range k.Services {
		if s.CPUError >= 0 { // measured
			c.Values = append(c.Values, Value{s.Service, 100 * float64(s.CPUError), 0})
		}
	}
	if len(c.Values) == 0 {
		return ""
	}
	text := fmt.Sprintf("On later history the twin's CPU per service is off by %s %% in the median",
		c.spread("%.1f", func(v Value) float64 { return v.Value }))
	if k.P99Error >= 0 {
		text += fmt.Sprintf(", its p99 by %s", percentOf(k.P99Error))
	}
	return text + "."
}
