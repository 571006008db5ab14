package controller

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// TestDesiredReplicasHaveTwoNames: the former name of the metric is exported too, and both
// are deleted with the application.
func TestDesiredReplicasHaveTwoNames(t *testing.T) {
	s, c := newStage(t)
	registry := prometheus.NewRegistry()
	m := NewMetrics(registry).of("shop", "main")
	m.pass(s.tell(t, c, setWeb(5), nil), time.Second)
	names := []string{"loadline_desired_replicas", "loadline_told_replicas"}
	for _, name := range names {
		if got := gaugeOf(t, registry, name, "service", "web"); len(got) != 1 || got[0] != 5 {
			t.Errorf("%s of web is %v, want 5", name, got)
		}
	}
	m.forget()
	for _, name := range names {
		if got := gaugeOf(t, registry, name, "service", "web"); len(got) != 0 {
			t.Errorf("%s of web is %v after the application was deleted", name, got)
		}
	}
}

// gaugeOf returns the values of a gauge with this label.
func gaugeOf(t *testing.T, registry *prometheus.Registry, name, label, value string) []float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var values []float64
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if f.GetName() == name && l.GetName() == label && l.GetValue() == value {
					values = append(values, m.GetGauge().GetValue())
				}
			}
		}
	}
	return values
}
