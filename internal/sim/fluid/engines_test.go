package fluid

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/event"
)

// difference is the fluid engine's result over the event engine's, minus one.
type difference struct {
	cell      cell
	p50, p99  float64
	mean, cpu float64
	noise     float64 // relative standard error of the event engine's CPU time, from the number of requests
}

// compare runs both engines on a cell, for about the given number of requests.
func compare(c cell, requests float64, seed uint64) difference {
	app, rate := c.app()
	duration := time.Duration(min(max(requests/rate, 100), 4000) * float64(time.Second))
	cfg := sim.Config{App: app, Load: constant{rate}, Seed: seed, CPU: c.cpu, WarmUp: duration / 5}
	truth, fluid := event.New(cfg), New(cfg, 15*time.Second)
	for _, e := range []sim.Engine{truth, fluid} {
		e.AdvanceTo(duration)
		e.Finish()
	}
	a, b := truth.Meter(), fluid.Meter()
	d := difference{cell: c, noise: math.Sqrt((1 + c.cv*c.cv) / a.Kinds[0].Arrived)}
	la, lb := a.Kinds[0].Latency, b.Kinds[0].Latency
	d.p50, d.p99 = lb.Quantile(.5)/la.Quantile(.5)-1, lb.Quantile(.99)/la.Quantile(.99)-1
	d.mean = lb.Mean()/la.Mean() - 1
	cpuA, cpuB := 0.0, 0.0
	for i := range a.Services {
		cpuA += a.Services[i].CPUSeconds
		cpuB += b.Services[i].CPUSeconds
	}
	d.cpu = cpuB/cpuA - 1
	return d
}

// drawCell draws from the published grid.
func drawCell(rng *rand.Rand) cell {
	pick := func(v ...float64) float64 { return v[rng.IntN(len(v))] }
	return cell{
		cpu: sim.CPUModel(rng.IntN(2)), load: pick(.1, .3, .5, .7, .8, .9),
		limit: pick(.2, .5, 1, 2, 4), demand: pick(1, 3, 10, 25, 50), cv: pick(.5, 1, 2),
		replicas: int(pick(1, 2, 4, 8)), depth: int(pick(1, 2, 3, 5)), fan: int(pick(0, 0, 1, 2, 4)),
	}
}

// The error bound of the fluid engine, on a sample of the grid.
func TestTheEnginesAgree(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the event engine on dozens of cells")
	}
	rng := rand.New(rand.NewPCG(11, 12))
	var all []difference
	for i := range 40 {
		d := compare(drawCell(rng), 30_000, uint64(i))
		all = append(all, d)
		if math.Abs(d.cpu) > .02+3*d.noise {
			t.Errorf("%+v: CPU off by %+.1f %%", d.cell, 100*d.cpu)
		}
	}
	sort.Slice(all, func(i, j int) bool { return math.Abs(all[i].p99) < math.Abs(all[j].p99) })
	for _, d := range all[len(all)-5:] {
		t.Logf("worst: %+v p99 %+.0f %%, p50 %+.0f %%, mean %+.0f %%", d.cell, 100*d.p99, 100*d.p50, 100*d.mean)
	}
	median, most := math.Abs(all[len(all)/2].p99), math.Abs(all[len(all)*95/100].p99)
	t.Logf("p99 off by %.1f %% in the median, %.1f %% in 95 of 100 cells", 100*median, 100*most)
	if median > .10 || most > .30 {
		t.Errorf("p99 off by %.1f %% in the median, must be 10, and by %.1f %% in 95 of 100 cells, must be 30", 100*median, 100*most)
	}
}

// Beyond saturation the throughput is what the CPU allows, through chains and fan-outs, with
// refusals and the work that they waste.
func TestTheEnginesAgreeInSaturation(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for i := range 12 {
		c := drawCell(rng)
		c.load, c.demand = []float64{1.1, 1.3, 2}[i%3], max(c.demand, 10)
		app, rate := c.app()
		cfg := sim.Config{App: app, Load: constant{rate}, Seed: uint64(i), CPU: c.cpu}
		completed := func(e sim.Engine) float64 {
			// Long enough to fill the backlog before the measurement.
			fill := time.Duration(1200 / (rate / float64(c.replicas)) / (c.load - 1) * c.load * float64(time.Second))
			e.AdvanceTo(2 * fill)
			before := e.Meter().Kinds[0].Completed
			e.AdvanceTo(2*fill + time.Duration(20_000/rate*float64(time.Second)))
			return e.Meter().Kinds[0].Completed - before
		}
		truth := completed(event.New(cfg))
		near(t, fmt.Sprintf("throughput of %+v", c), completed(New(cfg, 15*time.Second)), truth, .03+3*math.Sqrt((1+c.cv*c.cv)/truth))
	}
}

// In a transient the figure to compare is the share of requests over the SLO.
func TestTheEnginesAgreeInTransients(t *testing.T) {
	two := func(c cell) cell { c.limit, c.demand, c.cv, c.replicas, c.load = 1, 10, 1, 2, 1; return c }
	minute := time.Minute
	overload := steps{{0, .6}, {2 * minute, 1.5}, {3 * minute, .6}}
	for _, s := range []struct {
		name    string
		cell    cell
		load    steps // in units of the capacity
		scaleTo int   // after 2.5 minutes
		timeout time.Duration
		step    time.Duration
	}{
		{name: "a step", cell: two(cell{}), load: steps{{0, .5}, {2 * minute, .9}}},
		{name: "overload and drain", cell: two(cell{}), load: overload},
		{name: "overload and drain in steps of a minute", cell: two(cell{}), load: overload, step: minute},
		{name: "overload and drain with a timeout", cell: two(cell{}), load: overload, timeout: 2 * time.Second},
		{name: "overload ended by scaling out", cell: two(cell{}), load: steps{{0, .6}, {2 * minute, 1.5}}, scaleTo: 4},
		{name: "overload of a chain", cell: two(cell{depth: 3}), load: overload, timeout: 2 * time.Second},
		{name: "overload with few workers", cell: two(cell{workers: 16}), load: overload},
	} {
		for _, model := range []sim.CPUModel{sim.Quota, sim.Shared} {
			t.Run(fmt.Sprintf("%s, model %d", s.name, model), func(t *testing.T) {
				s.cell.cpu = model
				app, rate := s.cell.app()
				app.Kinds[0].Timeout = s.timeout
				load := append(steps{}, s.load...)
				for i := range load {
					load[i].rate *= rate
				}
				run := func(e sim.Engine) (over, failed float64) {
					e.AdvanceTo(150 * time.Second)
					if s.scaleTo > 0 {
						e.Apply(set(0, loadline.Setting{Replicas: loadline.Some(s.scaleTo)}))
					}
					e.AdvanceTo(6 * minute)
					e.Finish()
					k := e.Meter().Kinds[0]
					return k.Over / k.Ended, k.Failed / k.Ended
				}
				const seeds = 3
				over, failed := 0.0, 0.0
				cfg := sim.Config{App: app, Load: load, CPU: model}
				for seed := range uint64(seeds) {
					cfg.Seed = seed
					o, f := run(event.New(cfg))
					over, failed = over+o/seeds, failed+f/seeds
				}
				gotOver, gotFailed := run(New(cfg, max(s.step, 15*time.Second)))
				t.Logf("over %.3f (event %.3f), failed %.3f (event %.3f)", gotOver, over, gotFailed, failed)
				if math.Abs(gotOver-over) > .03 || math.Abs(gotFailed-failed) > .03 {
					t.Errorf("over %.3f, failed %.3f; the event engine says %.3f and %.3f", gotOver, gotFailed, over, failed)
				}
			})
		}
	}
}
