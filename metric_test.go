package loadline

import (
	"slices"
	"testing"
)

func TestTheTableOfMetricsIsWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range Measured() {
		key := string(m.Scope) + " " + m.Name
		if seen[key] {
			t.Errorf("%s is listed twice", key)
		}
		seen[key] = true
		if m.Scope == "" || m.Name == "" || m.Unit == "" || m.Help == "" || m.Absent == "" {
			t.Errorf("%s: unit %q, help %q, absent %q: none may be empty", key, m.Unit, m.Help, m.Absent)
		}
		if (m.Scope == OfService || m.Scope == OfNode) && m.Column > 0 && m.Cost == "" {
			t.Errorf("%s: histories keep it, so the table must say what a fit loses without it", key)
		}
	}
	for i, m := range ServiceTable.Columns() {
		if ServiceTable[m].Column != i+1 {
			t.Errorf("column %d is %s, numbered %d: numbers must be whole and unique", i+1, m, ServiceTable[m].Column)
		}
	}
}

func TestEveryRowHasAFieldOfItsOwn(t *testing.T) {
	checkFields(t, ServiceTable)
	checkFields(t, PodTable)
	checkFields(t, KindTable)
	checkFields(t, NodeTable)
}

func checkFields[M ~int, O any](t *testing.T, table Table[M, O]) {
	var o O
	var fields []*Sample
	for _, row := range table {
		if row.Field == nil {
			continue
		}
		if f := row.Field(&o); slices.Contains(fields, f) {
			t.Errorf("%s %s shares its field with another metric", row.Scope, row.Name)
		} else {
			fields = append(fields, f)
		}
	}
}

func TestAddedMetricsEndWithTheRoom(t *testing.T) {
	before := len(ServiceTable)
	for i := range MoreMetrics {
		_, remove, err := AddServiceMetric(Metric{Name: string(rune('a' + i)), Unit: "count", Help: "toy", Absent: "toy"})
		if err != nil {
			t.Fatal(err)
		}
		defer remove()
	}
	if _, _, err := AddServiceMetric(Metric{Name: "z"}); err == nil {
		t.Error("a metric was added beyond the room that observations have")
	}
	ServiceTable = ServiceTable[:before]
	if _, _, err := AddServiceMetric(Metric{Name: "rate"}); err == nil {
		t.Error("a second metric named rate was added")
	}
}
