package guard_test

import (
	"testing"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/guard"
)

// says is a rule that always says the same.
type says struct {
	setting loadline.Setting
	known   bool
}

func (s says) Advice(int) (loadline.Setting, bool) { return s.setting, s.known }

func TestDisagreement(t *testing.T) {
	twelve := says{toReplicas(12), true}
	cpu := loadline.Some[float64]
	for name, row := range map[string]struct {
		rule      says
		want, got loadline.Setting
	}{
		"near enough":                           {twelve, toReplicas(20), toReplicas(20)},
		"far below":                             {twelve, toReplicas(1), toReplicas(6)},
		"far above":                             {twelve, toReplicas(40), toReplicas(24)},
		"a silent policy is corrected upwards":  {says{toReplicas(30), true}, loadline.Setting{}, toReplicas(15)},
		"a silent policy is not corrected down": {says{toReplicas(1), true}, loadline.Setting{}, loadline.Setting{}},
		"a few replicas are always allowed":     {says{toReplicas(1), true}, toReplicas(3), toReplicas(3)},
		"without advice nothing is limited":     {says{}, toReplicas(1), toReplicas(1)},
		"a rule that leaves it as it is":        {says{loadline.Setting{}, true}, toReplicas(1), toReplicas(5)},
		"fewer larger replicas are agreement": {twelve, loadline.Setting{Replicas: loadline.Some(4), CPULimit: cpu(3)},
			loadline.Setting{Replicas: loadline.Some(4), CPULimit: cpu(3)}},
		"as many much smaller ones are not": {twelve, loadline.Setting{Replicas: loadline.Some(12), CPULimit: cpu(0.25)},
			loadline.Setting{Replicas: loadline.Some(24), CPULimit: cpu(0.25)}},
		"brownout is on purpose": {twelve, loadline.Setting{Replicas: loadline.Some(0), Brownout: loadline.Some(true)},
			loadline.Setting{Replicas: loadline.Some(0), Brownout: loadline.Some(true)}},
	} {
		t.Run(name, func(t *testing.T) {
			newFixture().expect(t, guard.Disagreement{Rule: row.rule, Low: 0.5, High: 2, Slack: 2}, row.want, row.got, "")
		})
	}
}
