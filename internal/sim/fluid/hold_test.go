package fluid

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/event"
)

// coldCell is a chain of services at zero replicas, woken by a load that begins after a minute.
type coldCell struct {
	rate    float64
	startup loadline.Dist
	workers int
	depth   int
	timeout time.Duration
	slo     time.Duration
}

func (c coldCell) app() *loadline.App {
	app, _ := cell{limit: 1, demand: 10, cv: 1, depth: max(c.depth, 1), workers: c.workers}.app()
	for i := range app.Services {
		app.Services[i].Startup, app.Services[i].Hold = c.startup, 10_000
	}
	app.Kinds[0].Timeout = c.timeout
	app.Kinds[0].SLO = loadline.SLO{Percentile: 90, Latency: c.slo}
	return app
}

// minute runs the two minutes around the cold start.
func (c coldCell) minute(e sim.Engine) *sim.Meter {
	e.AdvanceTo(2 * time.Minute)
	e.Finish()
	return e.Meter()
}

func (c coldCell) config(seed uint64) sim.Config {
	return sim.Config{App: c.app(), Load: steps{{0, 0}, {time.Minute, c.rate}}, Seed: seed}
}

// A cold start from zero: the share of the minute's requests over the SLO, and
// its p90 and p99, against many runs of the event engine.
func TestTheEnginesAgreeOnColdStarts(t *testing.T) {
	for _, c := range []coldCell{
		{rate: 2, startup: loadline.Dist{Mean: time.Second}},
		{rate: 2, startup: loadline.Dist{Mean: 5 * time.Second}},
		{rate: 20, startup: loadline.Dist{Mean: time.Second}},
		{rate: 20, startup: loadline.Dist{Mean: 5 * time.Second}},
		{rate: 20, startup: loadline.Dist{Mean: 5 * time.Second}, workers: 1},
		{rate: 70, startup: loadline.Dist{Mean: time.Second}},
		{rate: 70, startup: loadline.Dist{Mean: 5 * time.Second}},
		{rate: 70, startup: loadline.Dist{Mean: 5 * time.Second}, workers: 4},
		{rate: 20, startup: loadline.Dist{Mean: 5 * time.Second}, timeout: 3 * time.Second},
		{rate: 20, startup: loadline.Dist{Mean: 2 * time.Second}, depth: 3},
	} {
		for _, slo := range []time.Duration{500 * time.Millisecond, 2 * time.Second} {
			c.slo = slo
			t.Run(fmt.Sprintf("%g per s, %v, %d workers, depth %d, time-out %v, SLO %v", c.rate, c.startup.Mean, c.workers, c.depth,
				c.timeout, slo), func(t *testing.T) {
				const seeds = 40
				all := sim.NewHistogram(7)
				over, failed, ended := 0.0, 0.0, 0.0
				for seed := range uint64(seeds) {
					m := c.minute(event.New(c.config(seed)))
					k := &m.Kinds[0]
					all.Merge(k.Latency)
					over, failed, ended = over+k.Over, failed+k.Failed, ended+k.Ended
				}
				m := c.minute(New(c.config(0), 15*time.Second))
				k := &m.Kinds[0]
				t.Logf("over %.4f (event %.4f), failed %.4f (%.4f), p90 %.3f s (%.3f), p99 %.3f s (%.3f)", k.Over/k.Ended, over/ended,
					k.Failed/k.Ended, failed/ended,
					k.Latency.Quantile(.9)/1e9, all.Quantile(.9)/1e9, k.Latency.Quantile(.99)/1e9, all.Quantile(.99)/1e9)
				if math.Abs(k.Over/k.Ended-over/ended) > .02 || math.Abs(k.Failed/k.Ended-failed/ended) > .02 {
					t.Errorf("over %.3f, failed %.3f; the event engine says %.3f and %.3f", k.Over/k.Ended, k.Failed/k.Ended,
						over/ended, failed/ended)
				}
				for _, p := range []float64{.9, .99} {
					got, want := k.Latency.Quantile(p)/1e9, all.Quantile(p)/1e9
					if math.Abs(got-want) > max(.25*want, .03*c.startup.Mean.Seconds()) {
						t.Errorf("p%g: %.3f s; the event engine says %.3f", 100*p, got, want)
					}
				}
			})
		}
	}
}

// What exporters show of a cold start: held visits, counted as inside and as queued.
func TestTheEnginesAgreeOnWhatIsHeld(t *testing.T) {
	c := coldCell{rate: 50, startup: loadline.Dist{Mean: 5 * time.Second}}
	read := func(e sim.Engine) (r sim.Reading) {
		e.AdvanceTo(65 * time.Second)
		e.Read(&r)
		return r
	}
	truth, fluid := read(event.New(c.config(2))), read(New(c.config(2), 15*time.Second))
	for what, pair := range map[string][2]float64{
		"held":     {fluid.Services[0].Of[loadline.ServiceHeld], truth.Services[0].Of[loadline.ServiceHeld]},
		"queueing": {fluid.Services[0].Of[loadline.ServiceQueue], truth.Services[0].Of[loadline.ServiceQueue]},
		"inside":   {fluid.Services[0].Of[loadline.ServiceConcurrency], truth.Services[0].Of[loadline.ServiceConcurrency]},
	} {
		near(t, what, pair[0], pair[1], .1)
	}
	near(t, "held in five seconds", fluid.Services[0].Of[loadline.ServiceHeld], 50*5*2.5, .02)
}

// Rare requests: each wakes the service and waits for the start-up alone, however long after
// the previous one. In between the service is scaled to zero again.
func TestATrickleIsRequestsOneByOne(t *testing.T) {
	c := coldCell{rate: .02, startup: loadline.Dist{Mean: 2 * time.Second}, timeout: 10 * time.Second, slo: time.Second}
	run := func(e sim.Engine) *sim.KindMeter {
		for at := time.Minute; at <= time.Hour; at += 10 * time.Second {
			e.AdvanceTo(at)
			var r sim.Reading
			if e.Read(&r); e.ControlPlane().Ready(0) > 0 {
				e.Apply(set(0, loadline.Setting{Replicas: loadline.Some(0)}))
			}
		}
		e.Finish()
		return &e.Meter().Kinds[0]
	}
	truth, fluid := run(event.New(c.config(1))), run(New(c.config(1), 15*time.Second))
	if fluid.Failed > .001*fluid.Ended || truth.Failed > 0 {
		t.Errorf("%v failed, %v in the event engine: no request waits for more than the start", fluid.Failed, truth.Failed)
	}
	near(t, "over the SLO", fluid.Over/fluid.Ended, truth.Over/truth.Ended, .15)
	near(t, "mean latency", fluid.Latency.Mean(), truth.Latency.Mean(), .15)
}

// Without requests nothing is left: an autoscaler that checks for idleness finds the service
// idle.
func TestAnIdleServiceIsQuiteIdle(t *testing.T) {
	app, _ := cell{limit: 1, demand: 10, cv: 1, replicas: 1, depth: 2}.app()
	for i := range app.Services {
		app.Services[i].Hold = 100
	}
	e := New(sim.Config{App: app, Load: steps{{0, 20}, {time.Minute, 0}}}, 15*time.Second)
	var before, after sim.Reading
	e.AdvanceTo(2 * time.Minute)
	e.Read(&before)
	e.AdvanceTo(3 * time.Minute)
	e.Read(&after)
	for i := range app.Services {
		if d := after.Services[i].Of[loadline.ServiceConcurrency] - before.Services[i].Of[loadline.ServiceConcurrency]; d != 0 {
			t.Errorf("service %d was busy for %g s", i, d)
		}
	}
}
