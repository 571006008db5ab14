package guard_test

import (
	"testing"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/guard"
)

func TestStepLimit(t *testing.T) {
	g := guard.StepLimit{UpPods: 4, UpPercent: 100, DownPods: 1, DownPercent: 25, SizeUp: 2, SizeDown: 0.5}
	cpu, memory := loadline.Some[float64], loadline.Some[int64]
	for name, row := range map[string]struct {
		from      int
		want, got loadline.Setting
	}{
		"a short step passes":                  {10, toReplicas(12), toReplicas(12)},
		"up by the percent of a large service": {10, toReplicas(35), toReplicas(20)},
		"up by the pods of a small one":        {1, toReplicas(35), toReplicas(5)},
		"from zero by the pods":                {0, toReplicas(35), toReplicas(4)},
		"down by the percent, rounded down":    {10, toReplicas(1), toReplicas(8)},
		"down by one at least":                 {2, toReplicas(0), toReplicas(1)},
		"CPU up by the factor":                 {10, loadline.Setting{CPURequest: cpu(8)}, loadline.Setting{CPURequest: cpu(1)}},
		"CPU down by the factor":               {10, loadline.Setting{CPULimit: cpu(0.1)}, loadline.Setting{CPULimit: cpu(0.5)}},
		"no limit is far above any":            {10, loadline.Setting{CPULimit: cpu(0)}, loadline.Setting{CPULimit: cpu(2)}},
		"memory down by the factor, in bytes": {10, loadline.Setting{MemoryLimit: memory(1)},
			loadline.Setting{MemoryLimit: memory(100 << 20)}},
		"several at once": {10, loadline.Setting{Replicas: loadline.Some(1), CPULimit: cpu(9)},
			loadline.Setting{Replicas: loadline.Some(8), CPULimit: cpu(2)}},
		"brownout is no step": {10, loadline.Setting{Brownout: loadline.Some(true)},
			loadline.Setting{Brownout: loadline.Some(true)}},
		"nothing is wanted, and nothing is limited": {10, loadline.Setting{}, loadline.Setting{}},
	} {
		t.Run(name, func(t *testing.T) {
			sc := newFixture()
			sc.set(row.from)
			sc.expect(t, g, row.want, row.got, "")
		})
	}
	t.Run("a first limit does not take the request down", func(t *testing.T) {
		sc := newFixture()
		sc.InFlight[0].Size.CPULimit = 0
		sc.expect(t, g, loadline.Setting{CPULimit: cpu(0.2)}, loadline.Setting{CPULimit: cpu(0.5)}, "exceeds the step limit")
	})
}
