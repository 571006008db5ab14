package pipeline

import (
	"context"
	"strings"
	"testing"

	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/policy"
)

// TestCandidatesLearnWithShares: the training scenarios have them as their SLO, and the model
// contains them.
func TestCandidatesLearnWithShares(t *testing.T) {
	s := smallSubject(t)
	name := s.App.Services[0].Name
	shares := &formulation.Shares{App: s.App.Name, Way: "even", Rate: 1,
		Services: []formulation.Share{{Service: name, Percentile: 95, Latency: 0.123}}}
	places, err := placesOf(s.App, s.Training, shares)
	if err != nil {
		t.Fatal(err)
	}
	if slo := places[0].App.Kinds[0].SLO; slo.Percentile != 95 || slo.Latency.Milliseconds() != 123 {
		t.Errorf("%s is practised with %v", places[0].Service, slo)
	}
	c := smallLineUp(t, 1, "elastic-dqn")[0]
	c.Shares, c.Steps = shares, 200
	trained, err := Train(context.Background(), s, c, nil, func(float64) {})
	if err != nil {
		t.Fatal(err)
	}
	model, err := policy.Formulated(trained.Model)
	if err != nil {
		t.Fatal(err)
	}
	if model.Problem.Shares != shares {
		t.Error("the model does not hold its shares")
	}
	without := c
	without.Shares = nil
	before, after := Outcome{Candidate: without}, Outcome{Candidate: c}
	if settingsDiffer(before, after) == "" {
		t.Error("a run with other shares would be continued")
	}
	c.Method, c.Settings = "msars", nil
	if err := c.check(); err == nil || !strings.Contains(err.Error(), "does not take parts of the SLO") {
		t.Errorf("shares for a method that takes none: %v", err)
	}
}
