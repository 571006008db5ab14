package pipeline

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestEveryTrainableMethodCanBeACandidate(t *testing.T) {
	all, err := LineUp([]string{"drpc", "scaling-ops", "msars"}, 5, 7)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range all {
		names = append(names, c.Name)
		if err := c.check(); err != nil || c.Steps != DefaultSteps {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if got := strings.Join(names, " "); got != "drpc-1 scaling-ops-1 msars-1 drpc-2 scaling-ops-2" {
		t.Error(got)
	}
	if all[3].Seed != 8 || all[4].From != "scaling-ops-1" || !strings.Contains(all[1].About, "weight=0.3, discount=0.95, on ENV1") {
		t.Errorf("%+v", all)
	}
	if _, err := LineUp([]string{"hpa", "mars"}, 2, 1); err == nil || !strings.Contains(err.Error(), `called "hpa"`) ||
		!strings.Contains(err.Error(), `did you mean "msars"?`) {
		t.Error(err)
	}
}

// TestFormerCandidatesAreRead: run.json of an earlier version, with the DQN formulation that
// was called loadline.
func TestFormerCandidatesAreRead(t *testing.T) {
	var o Outcome
	err := json.Unmarshal([]byte(`{"name": "loadline-1", "formulation": "loadline", "params": {"over": 1}, "seed": 1, "steps": 24000, "linear": false,
		"bootstrap": false, "agent": {"Hidden": [64, 64]}, "sha256": "abc", "curves": [{"service": "*", "points": []}]}`), &o)
	if err != nil || o.Name != "loadline-1" || o.Method != "loadline-dqn" || o.SHA256 != "abc" || len(o.Curves) != 1 {
		t.Errorf("%+v, %v", o, err)
	}
}
