package guard_test

import (
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/guard"
)

func TestStarting(t *testing.T) {
	nothing := loadline.Setting{}
	young := func(phase loadline.PodPhase, age time.Duration) func(*fixture) {
		return func(sc *fixture) {
			sc.web().Pods[3].Phase, sc.web().Pods[3].Created = phase, sc.now.Add(-age)
		}
	}
	for name, row := range map[string]struct {
		change    func(*fixture)
		want, got loadline.Setting
		why       string
	}{
		"all ready":               {nil, toReplicas(8), toReplicas(8), ""},
		"one starting":            {young(loadline.PodStarting, time.Minute), toReplicas(8), nothing, "1 of its pods are starting"},
		"one pending":             {young(loadline.PodPending, time.Minute), toReplicas(8), nothing, "starting"},
		"raises pass":             {young(loadline.PodStarting, time.Minute), toReplicas(12), toReplicas(12), ""},
		"one that is stuck":       {young(loadline.PodPending, time.Hour), toReplicas(8), toReplicas(8), ""},
		"a raise on its way":      {func(sc *fixture) { sc.InFlight[0].Replicas = 12 }, toReplicas(8), nothing, "on its way"},
		"pods that are not there": {func(sc *fixture) { sc.web().Pods = sc.web().Pods[:7] }, toReplicas(8), nothing, "7 of its 10"},
	} {
		t.Run(name, func(t *testing.T) {
			sc := newFixture()
			if row.change != nil {
				row.change(sc)
			}
			sc.expect(t, guard.NewStarting(10*time.Minute, 1), row.want, row.got, row.why)
		})
	}
}

func TestStartingLosesPatience(t *testing.T) {
	sc := newFixture()
	g := guard.NewStarting(10*time.Minute, 1)
	sc.web().Pods = sc.web().Pods[:7] // a quota keeps the others from being made
	sc.expect(t, g, toReplicas(8), loadline.Setting{}, "7 of its 10")
	sc.later(10 * time.Minute)
	sc.expect(t, g, toReplicas(8), toReplicas(8), "")
}
