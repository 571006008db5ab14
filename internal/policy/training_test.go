package policy

import (
	"testing"

	"github.com/loadline/loadline/internal/policy/drpc"
)

// TestNoMethodGetsMoreSteps: the steps of DRPC's stages and of the students' examples add up to
// another method's.
func TestNoMethodGetsMoreSteps(t *testing.T) {
	for _, steps := range []int{LeastSteps, 240, 6_000, 12_000, 40_000} {
		task := Task{Steps: steps, Rate: 1}
		c := drpcConfig(drpc.Continuous, task)
		if err := c.Validate(); err != nil {
			t.Error(err)
		}
		if m := msarsConfig(task); m.Validate() != nil || m.Most > steps || m.Most%m.Episode != 0 {
			t.Errorf("of %d steps msars takes %d in episodes of %d: %v", steps, m.Most, m.Episode, m.Validate())
		}
		if all := c.Stage1.Steps + c.Stage2.Steps + c.Distil.Episodes*c.Distil.Steps; all != steps || c.Stage1.Refresh != 0 {
			t.Errorf("%d steps became %d", steps, all)
		}
	}
}
