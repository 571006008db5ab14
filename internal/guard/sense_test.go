package guard_test

import (
	"math"
	"testing"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/guard"
)

func TestSense(t *testing.T) {
	cpu, memory := loadline.Some[float64], loadline.Some[int64]
	for name, row := range map[string]struct{ want, got loadline.Setting }{
		"what makes sense passes": {loadline.Setting{Replicas: loadline.Some(0), CPULimit: cpu(0)},
			loadline.Setting{Replicas: loadline.Some(0), CPULimit: cpu(0)}},
		"not a number":                  {loadline.Setting{CPURequest: cpu(math.NaN())}, loadline.Setting{}},
		"an infinite limit is not none": {loadline.Setting{CPULimit: cpu(math.Inf(1))}, loadline.Setting{}},
		"below zero":                    {loadline.Setting{Replicas: loadline.Some(-3), MemoryLimit: memory(-1)}, loadline.Setting{}},
		"beyond anything real": {loadline.Setting{Replicas: loadline.Some(math.MaxInt), MemoryRequest: memory(math.MaxInt64)},
			loadline.Setting{}},
		"the sound part of it is kept": {loadline.Setting{Replicas: loadline.Some(3), CPULimit: cpu(-1)},
			loadline.Setting{Replicas: loadline.Some(3)}},
		"brownout is not a number": {loadline.Setting{Brownout: loadline.Some(true)},
			loadline.Setting{Brownout: loadline.Some(true)}},
		"nothing wanted, nothing to say": {},
	} {
		t.Run(name, func(t *testing.T) { newFixture().expect(t, guard.Sense{}, row.want, row.got, "") })
	}
}
