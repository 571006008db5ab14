package guard_test

import (
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/guard"
)

func TestCoolDown(t *testing.T) {
	nothing := loadline.Setting{}
	sc := newFixture()
	g := guard.NewCoolDown(time.Minute, 3*time.Minute, 1)
	sc.expect(t, g, toReplicas(12), toReplicas(12), "")
	sc.later(30 * time.Second)
	sc.expect(t, g, toReplicas(14), nothing, "between raises")
	sc.expect(t, g, toReplicas(8), nothing, "before it is reduced")
	sc.later(30 * time.Second)
	sc.expect(t, g, toReplicas(14), toReplicas(14), "")
	sc.later(3 * time.Minute)
	sc.expect(t, g, toReplicas(8), toReplicas(8), "")
	sc.later(time.Second)
	sc.expect(t, g, toReplicas(14), toReplicas(14), "") // a wrong step down is undone at once
	sc.later(time.Second)
	sc.expect(t, g, loadline.Setting{CPULimit: loadline.Some(0.5), Brownout: loadline.Some(true)},
		loadline.Setting{Brownout: loadline.Some(true)}, "reduced")
}

func TestCoolDownWhenTheClockIsSetBack(t *testing.T) {
	sc := newFixture()
	g := guard.NewCoolDown(0, 3*time.Minute, 1)
	sc.expect(t, g, toReplicas(12), toReplicas(12), "")
	sc.later(-5 * time.Hour)
	sc.expect(t, g, toReplicas(8), loadline.Setting{}, "reduced")
	sc.later(3 * time.Minute)
	sc.expect(t, g, toReplicas(8), toReplicas(8), "") // and not five hours later
}
