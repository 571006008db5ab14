package drpc

import (
	"math"
	"testing"

	"github.com/loadline/loadline"
)

// TestReward compares equations 1 to 3 with values computed by hand. In the calm shop CPU is at
// 0.36/0.6 and memory at 0.75 of the requests: as preferred.
func TestReward(t *testing.T) {
	e := math.Exp
	for _, c := range []struct {
		name   string
		change func(*loadline.Observation)
		want   float64
	}{
		{"in time and used as preferred is 1", func(*loadline.Observation) {}, 1},
		{"one kind at twice its SLO", func(o *loadline.Observation) { o.Kinds[0].AtSLO = seen(0.4) }, (e(-1) + 1) / 2},
		{"kinds count by their requests", func(o *loadline.Observation) { o.Kinds[0].AtSLO, o.Kinds[0].Rate = seen(0.4), seen(30) },
			(3*e(-1) + 1) / 4},
		{"two in a hundred fail: as if given up on", func(o *loadline.Observation) { o.Kinds[0].Failed = seen(0.2) }, (e(-16) + 1) / 2},
		{"no timeout: ten times late", func(o *loadline.Observation) { o.Kinds[1].Failed = seen(10) }, (1 + e(-81)) / 2},
		{"too little CPU in use", func(o *loadline.Observation) { o.Nodes[0].CPU, o.Nodes[1].CPU = seen(0.06), seen(0.06) },
			1 / (1 + 0.125)},
		{"too much memory in use, on one machine", func(o *loadline.Observation) { o.Nodes[0].Memory = seen(3 * 256 << 20 * 1.25) },
			1 / (1 + 0.125/2)},
		{"dropped calls have their price", func(o *loadline.Observation) { o.Services[2].Dropped = seen(10) }, 1 - 10*0.5/20},
		{"a lost machine does not count", func(o *loadline.Observation) { o.Nodes[0] = loadline.NodeObservation{Lost: true} }, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			app := shop()
			o := calm(app).Window[0]
			c.change(&o)
			got, known := DefaultReward().Of(app, &o)
			if !known || math.Abs(got.Reward-c.want) > 1e-9 {
				t.Errorf("%+v (known %v), want a reward of %v", got, known, c.want)
			}
		})
	}
}

func TestAnUnmeasuredRewardIsUnknown(t *testing.T) {
	app := shop()
	o := calm(app).Window[0]
	o.Kinds = make([]loadline.KindObservation, 2)
	if w, known := DefaultReward().Of(app, &o); known {
		t.Errorf("%+v of nothing", w)
	}
}
