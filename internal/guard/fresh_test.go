package guard_test

import (
	"math"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/guard"
)

func TestFresh(t *testing.T) {
	for name, row := range map[string]struct {
		sample loadline.Sample
		keep   bool
	}{
		"now":                        {loadline.Sample{Value: 3, At: start}, true},
		"zero is a value":            {loadline.Sample{Value: 0, At: start}, true},
		"as old as may be":           {loadline.Sample{Value: 3, At: start.Add(-maxAge)}, true},
		"older":                      {loadline.Sample{Value: 3, At: start.Add(-maxAge - time.Second)}, false},
		"a clock a little ahead":     {loadline.Sample{Value: 3, At: start.Add(20 * time.Second)}, true},
		"a clock that is wrong":      {loadline.Sample{Value: 3, At: start.Add(time.Hour)}, false},
		"not a number":               {loadline.Sample{Value: math.NaN(), At: start}, false},
		"infinite":                   {loadline.Sample{Value: math.Inf(1), At: start}, false},
		"less than nothing":          {loadline.Sample{Value: -0.1, At: start}, false},
		"absent":                     {loadline.Sample{}, false},
		"a value without an instant": {loadline.Sample{Value: 3}, false},
	} {
		t.Run(name, func(t *testing.T) {
			v := row.sample
			o := loadline.Observation{
				Services: []loadline.ServiceObservation{{Rate: v, Own: loadline.Latency{P99: v},
					Pods: []loadline.PodObservation{{CPU: v}}}},
				Kinds: []loadline.KindObservation{{OverSLO: v}},
				Nodes: []loadline.NodeObservation{{CPU: v}},
			}
			guard.Fresh(start, maxAge, &o)
			s := &o.Services[0]
			for _, got := range []loadline.Sample{s.Rate, s.Own.P99, s.Pods[0].CPU, o.Kinds[0].OverSLO, o.Nodes[0].CPU} {
				if got.Present() != row.keep || got.Present() && got != v || !got.Present() && got != (loadline.Sample{}) {
					t.Errorf("%+v becomes %+v", v, got)
				}
			}
		})
	}
}

func TestFreshAllocatesNothing(t *testing.T) {
	sc := newFixture()
	if n := testing.AllocsPerRun(10, func() { guard.Fresh(sc.now, maxAge, sc.Now()) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
