package practice

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/drpc"
	"github.com/loadline/loadline/internal/env"
	"github.com/loadline/loadline/internal/sim"
)

// fluidStep is how far the engine goes at once.
const fluidStep = 5 * time.Second

// world is a whole application in the fluid engine, as a policy sees it. Each
// episode begins at a random instant of the load, with random replicas and, for
// those who change sizes, random sizes.
type world struct {
	subject Subject
	needs   loadline.Needs
	ground  *env.Ground
	steps   int // of an episode
	resizes bool
	almanac *almanac // nil = nothing is forecast

	app      *loadline.App // of the episode: with other replicas and sizes
	start    time.Duration // of the episode in the load
	cluster  *sim.Cluster
	window   []loadline.Observation
	spare    []loadline.Observation
	told     []loadline.Allocation
	forecast []loadline.Forecast
	plan     loadline.Plan
	worth    drpc.Worth // by DRPC's reward: the yardstick for all
	taken    int
	chance   *rand.Rand // of the episode
}

func newWorld(subject Subject, needs loadline.Needs, steps int, resizes bool, almanac *almanac) (*world, error) {
	w := &world{subject: subject, needs: needs, ground: env.NewGround(subject.App), steps: steps, resizes: resizes, almanac: almanac}
	if subject.Duration < w.episode() {
		return nil, fmt.Errorf("practice: the load lasts %v, an episode %v: give a longer workload", subject.Duration, w.episode())
	}
	w.forecast = make([]loadline.Forecast, len(subject.App.Services))
	return w, nil
}

// episode is how long one lasts.
func (w *world) episode() time.Duration {
	return w.needs.Window + time.Duration(w.steps)*w.needs.Period
}

// lasting makes episodes as long as that, or as the load allows, until undone.
func (w *world) lasting(steps int) (undo func()) {
	usual := w.steps
	w.steps = max(usual, min(steps, int((w.subject.Duration-w.needs.Window)/w.needs.Period)))
	return func() { w.steps = usual }
}

func (w *world) over() bool { return w.taken >= w.steps }

func (w *world) now() time.Time { return w.cluster.Now() }

// situation is valid until the next act.
func (w *world) situation() loadline.Situation {
	s := loadline.Situation{App: w.app, Window: w.window, Allocation: w.told, InFlight: w.told}
	if w.almanac != nil {
		s.Forecast = w.forecast
	}
	return s
}

// act takes a proposal, as the loop would: it takes effect after its delay, and the
// step lasts a period.
func (w *world) act(p loadline.Proposal) {
	w.plan.Services = w.plan.Services[:0]
	for _, s := range p.Services {
		w.plan.Services = append(w.plan.Services, loadline.ServicePlan{Service: s.Service, Setting: s.Setting})
	}
	w.wait(w.needs.Delay)
	if len(w.plan.Services) > 0 {
		_ = w.cluster.Apply(context.Background(), w.plan) // fails only when the context is done
	}
	w.wait(w.needs.Period - w.needs.Delay)
	w.taken++
	w.look()
}

func (w *world) wait(d time.Duration) {
	_ = w.cluster.WaitUntil(context.Background(), w.cluster.Now().Add(d))
}

// look takes an observation into the window; the oldest makes room for it.
func (w *world) look() {
	var o loadline.Observation
	switch n := len(w.spare); {
	case len(w.window) >= max(w.needs.Keep, 1):
		o = w.window[0]
		copy(w.window, w.window[1:])
		w.window = w.window[:len(w.window)-1]
	case n > 0:
		o, w.spare = w.spare[n-1], w.spare[:n-1]
	}
	_ = w.cluster.Observe(context.Background(), &o)
	w.blur(&o)
	w.window = append(w.window, o)
	w.told = w.cluster.Allocation(w.told[:0])
	if w.almanac != nil {
		w.almanac.fill(w.start+sim.Since(w.cluster.Now()), w.cluster.Now(), w.forecast)
	}
	if worth, known := drpc.DefaultReward().Of(w.app, &w.window[len(w.window)-1]); known {
		w.worth = worth
	}
}

// blur makes response times as uncertain as measured ones are: the 99th percentile
// of a few visits is chance, and whoever has never seen that takes it for need.
func (w *world) blur(o *loadline.Observation) {
	factor := func(rate loadline.Sample) float64 {
		visits := rate.Or(0) * w.needs.Window.Seconds()
		return math.Exp(mostBlur / math.Sqrt(1+visits/fewVisits) * w.chance.NormFloat64())
	}
	for i := range o.Services {
		s := &o.Services[i]
		f := factor(s.Rate)
		s.Latency.P99.Value *= f
		s.Own.P99.Value *= f
	}
	for k := range o.Kinds {
		o.Kinds[k].AtSLO.Value *= factor(o.Kinds[k].Rate)
	}
}

// How far the 99th percentile of hardly any visits is off, as the deviation of its
// logarithm, and how many visits are few. They are those of DRPC's school.
const (
	mostBlur  = 0.8
	fewVisits = 30
)
