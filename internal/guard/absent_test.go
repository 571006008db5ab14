package guard_test

import (
	"math"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/guard"
)

func TestAbsent(t *testing.T) {
	g := guard.Absent{MaxAge: maxAge}
	both := func(v loadline.Sample) func(*fixture) {
		return func(sc *fixture) {
			*sc.web() = loadline.ServiceObservation{Rate: v, CPU: v}
		}
	}
	for name, change := range map[string]func(*fixture){
		"no services":    (*fixture).blind,
		"no samples":     both(loadline.Sample{}),
		"late":           both(loadline.Sample{Value: 1, At: start.Add(-time.Hour)}),
		"not a number":   both(loadline.Sample{Value: math.NaN(), At: start}),
		"infinite":       both(loadline.Sample{Value: math.Inf(1), At: start}),
		"negative":       both(loadline.Sample{Value: -1, At: start}),
		"from next year": both(loadline.Sample{Value: 1, At: start.AddDate(1, 0, 0)}),
		"only start-up": func(sc *fixture) {
			*sc.web() = loadline.ServiceObservation{Pods: []loadline.PodObservation{{Phase: loadline.PodStarting, CPU: sc.sample(1)}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			sc := newFixture()
			change(sc)
			sc.expect(t, g, toReplicas(8), loadline.Setting{}, "neither its rate nor its CPU")
			sc.expect(t, g, loadline.Setting{MemoryLimit: loadline.Some[int64](1), Brownout: loadline.Some(true)}, loadline.Setting{},
				"neither")
			sc.expect(t, g, toReplicas(12), toReplicas(12), "")
			back := loadline.Setting{Brownout: loadline.Some(false)}
			sc.expect(t, g, back, back, "")
		})
	}
	t.Run("what is seen passes", func(t *testing.T) { newFixture().expect(t, g, toReplicas(8), toReplicas(8), "") })
	t.Run("CPU alone is enough", func(t *testing.T) {
		sc := newFixture()
		sc.web().Rate = loadline.Sample{}
		sc.expect(t, g, toReplicas(8), toReplicas(8), "")
	})
}
