package controller

import (
	"testing"

	"github.com/loadline/loadline/api/v1alpha1"
)

func TestEveryLoadLineHasOneThatLooksAfterIt(t *testing.T) {
	for _, row := range []struct {
		name, agent, label string
		ours               bool
	}{
		{"the controller takes LoadLines without a label", "", "", true},
		{"it leaves an agent's alone", "", "edge", false},
		{"an agent takes its own", "edge", "edge", true},
		{"and no other agent's", "edge", "core", false},
		{"nor those without a label", "edge", "", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := load(t, shop)
			if row.label != "" {
				l.Labels = map[string]string{v1alpha1.AgentLabel: row.label}
			}
			if got := New(t.Context(), Options{Agent: row.agent}).ours(l); got != row.ours {
				t.Errorf("looked after: %v", got)
			}
		})
	}
}
