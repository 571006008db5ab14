package guard_test

import (
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/guard"
)

func TestBurning(t *testing.T) {
	g := guard.NewBurning(guard.Burning{Window: 2 * time.Minute, Rate: 1, MinOver: 10}, webApp(), maxAge)
	sc := newFixture()
	step := func(rate, over float64, want, got loadline.Setting, why string) {
		t.Helper()
		sc.set(10)
		sc.observe(rate, 5, over)
		sc.expect(t, g, want, got, why)
		sc.later(15 * time.Second)
	}
	nothing := loadline.Setting{}
	for range 8 {
		step(100, 0, toReplicas(8), nothing, "without a gap")
	}
	step(100, 0, toReplicas(8), toReplicas(8), "")
	step(100, 0.5, toReplicas(8), nothing, "buy burns its error budget")
	step(100, 0.05, toReplicas(12), toReplicas(12), "")
	step(100, 0.05, loadline.Setting{Brownout: loadline.Some(true)}, loadline.Setting{Brownout: loadline.Some(true)}, "")
	for range 8 {
		step(100, 0, nothing, nothing, "")
	}
	step(100, 0, toReplicas(8), toReplicas(8), "") // the window has passed

	sc.later(3 * time.Minute)
	sc.blind()
	sc.set(10)
	sc.expect(t, g, toReplicas(8), nothing, "no share of requests over the SLO has been measured")
	for range 8 {
		step(0.01, 1, toReplicas(8), nothing, "without a gap")
	}
	step(0.01, 1, toReplicas(8), toReplicas(8), "") // a few requests at night are no fire
}

func TestBurningWithoutAnSLO(t *testing.T) {
	sc := newFixture()
	sc.Now().Kinds = nil
	sc.expect(t, guard.NewBurning(guard.Burning{Window: time.Minute, Rate: 1, Unmeasured: true}, webApp(), maxAge), toReplicas(8),
		toReplicas(8), "")
	// There are no requests: there is no share over the SLO, and that is known.
	sc = newFixture()
	sc.Now().Kinds[0] = loadline.KindObservation{Rate: sc.sample(0)}
	g := guard.NewBurning(guard.Burning{Window: time.Minute, Rate: 1}, webApp(), maxAge)
	sc.watch(g, time.Minute)
	sc.expect(t, g, toReplicas(8), toReplicas(8), "")
}
