package fluid

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"sort"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/event"
)

func compareCell(c cell, requests float64) (p50, p99, mean, cpu float64, truth float64) {
	app, rate := c.app()
	dur := time.Duration(min(max(requests/rate, 60), 3000) * 1e9)
	warm := dur / 5
	ev := event.New(sim.Config{App: app, Load: constant{rate}, Seed: uint64(c.demand*1000 + c.limit*100 + c.cv*10), CPU: c.cpu, WarmUp: warm})
	ev.AdvanceTo(dur)
	ev.Finish()
	fl := New(sim.Config{App: app, Load: constant{rate}, Seed: 7, CPU: c.cpu, WarmUp: warm}, 15*time.Second)
	fl.AdvanceTo(dur)
	fl.Finish()
	a, b := ev.Meter(), fl.Meter()
	ea, eb := a.Kinds[0].Latency, b.Kinds[0].Latency
	ca, cb := 0.0, 0.0
	for i := range a.Services {
		ca += a.Services[i].CPUSeconds
		cb += b.Services[i].CPUSeconds
	}
	return eb.Quantile(.5)/ea.Quantile(.5) - 1, eb.Quantile(.99)/ea.Quantile(.99) - 1, eb.Mean()/ea.Mean() - 1, cb/ca - 1, ea.Quantile(.99) / 1e6
}

func TestExplore(t *testing.T) {
	if os.Getenv("EXPLORE") == "" {
		t.Skip()
	}
	rng := rand.New(rand.NewPCG(3, 4))
	pick := func(v ...float64) float64 { return v[rng.IntN(len(v))] }
	var n = 120
	fmt.Sscan(os.Getenv("EXPLORE"), &n)
	type row struct {
		c                          cell
		p50, p99, mean, cpu, truth float64
	}
	var rows []row
	for range n {
		c := cell{cpu: sim.CPUModel(rng.IntN(2)), load: pick(.1, .3, .5, .7, .8, .9, .95), limit: pick(.2, .5, 1, 2, 4), demand: pick(1, 3, 10, 25, 50), cv: pick(.5, 1, 2), replicas: int(pick(1, 2, 4, 8)), depth: int(pick(1, 2, 3, 5)), fan: int(pick(0, 0, 1, 2, 4))}
		if os.Getenv("LR") != "" {
			c.routing = loadline.RouteLeastRequest
		}
		r := row{c: c}
		r.p50, r.p99, r.mean, r.cpu, r.truth = compareCell(c, 60000)
		rows = append(rows, r)
	}
	sort.Slice(rows, func(i, j int) bool { return math.Abs(rows[i].p99) > math.Abs(rows[j].p99) })
	for i, r := range rows {
		if i < 25 || math.Abs(r.cpu) > .02 {
			fmt.Printf("%+v p50 %+.1f%% p99 %+.1f%% mean %+.1f%% cpu %+.2f%% truth p99 %.1fms\n", r.c, 100*r.p50, 100*r.p99, 100*r.mean, 100*r.cpu, r.truth)
		}
	}
	by := func(name string, key func(cell) float64) {
		m := map[float64][]float64{}
		bias := map[float64]float64{}
		for _, r := range rows {
			bias[key(r.c)] += r.p99
			m[key(r.c)] = append(m[key(r.c)], math.Abs(r.p99))
		}
		var ks []float64
		for k := range m {
			ks = append(ks, k)
		}
		sort.Float64s(ks)
		for _, k := range ks {
			v := m[k]
			sort.Float64s(v)
			fmt.Printf("%s=%v n=%d median %.1f%% p95 %.1f%% max %.1f%% bias %+.1f%%\n", name, k, len(v), 100*v[len(v)/2], 100*v[len(v)*95/100], 100*v[len(v)-1], 100*bias[k]/float64(len(v)))
		}
	}
	by("all", func(cell) float64 { return 0 })
	by("over90", func(c cell) float64 {
		if c.load > .9 {
			return 1
		}
		return 0
	})
	by("model", func(c cell) float64 { return float64(c.cpu) })
	by("load", func(c cell) float64 { return c.load })
	by("limit", func(c cell) float64 { return c.limit })
	by("demand", func(c cell) float64 { return c.demand })
	by("cv", func(c cell) float64 { return c.cv })
	by("reps", func(c cell) float64 { return float64(c.replicas) })
	by("depth", func(c cell) float64 { return float64(c.depth) })
	by("fan", func(c cell) float64 { return float64(c.fan) })
}

func TestSpecific(t *testing.T) {
	if os.Getenv("SPECIFIC") == "" {
		t.Skip()
	}
	for _, c := range []cell{
		{cpu: 0, load: .9, limit: 2, demand: 3, cv: 1, replicas: 1, depth: 1},
		{cpu: 0, load: .9, limit: 2, demand: 3, cv: 1, replicas: 1, depth: 2},
		{cpu: 0, load: .7, limit: .2, demand: 10, cv: 2, replicas: 8, depth: 1},
		{cpu: 0, load: .8, limit: .5, demand: 3, cv: 1, replicas: 1, depth: 1},
		{cpu: 0, load: .8, limit: .5, demand: 3, cv: 1, replicas: 1, depth: 2},
		{cpu: 1, load: .9, limit: 1, demand: 10, cv: 1, replicas: 1, depth: 1},
		{cpu: 1, load: .9, limit: 1, demand: 10, cv: 1, replicas: 1, depth: 3},
		{cpu: 1, load: .3, limit: 1, demand: 1, cv: .5, replicas: 1, depth: 1},
		{cpu: 1, load: .3, limit: 1, demand: 1, cv: .5, replicas: 1, depth: 2},
		{cpu: 1, load: .3, limit: 1, demand: 1, cv: .5, replicas: 1, depth: 5},
		{cpu: 1, load: .3, limit: 1, demand: 1, cv: .5, replicas: 8, depth: 5},
		{cpu: 1, load: .7, limit: 1, demand: 1, cv: .5, replicas: 1, depth: 5},
		{cpu: 1, load: .7, limit: 1, demand: 1, cv: 1, replicas: 1, depth: 5},
		{cpu: 1, load: .3, limit: 1, demand: 1, cv: .5, replicas: 1, depth: 1, fan: 2},
		{cpu: 1, load: .3, limit: 1, demand: 1, cv: .5, replicas: 1, depth: 1, fan: 4},
		{cpu: 0, load: .7, limit: .5, demand: 10, cv: .5, replicas: 1, depth: 5},
		{cpu: 0, load: .7, limit: .5, demand: 10, cv: .5, replicas: 1, depth: 1, fan: 4},
		{cpu: 1, load: .7, limit: 4, demand: 10, cv: 1, replicas: 8, depth: 1, routing: loadline.RouteLeastRequest},
		{cpu: 1, load: .7, limit: 1, demand: 10, cv: 1, replicas: 8, depth: 1, routing: loadline.RouteLeastRequest},
		{cpu: 1, load: .9, limit: 1, demand: 10, cv: 1, replicas: 8, depth: 1, routing: loadline.RouteLeastRequest},
		{cpu: 1, load: .9, limit: 1, demand: 10, cv: 1, replicas: 2, depth: 1, routing: loadline.RouteLeastRequest},
		{cpu: 0, load: .7, limit: 1, demand: 10, cv: 1, replicas: 4, depth: 1, routing: loadline.RouteLeastRequest},
		{cpu: 0, load: .9, limit: .5, demand: 3, cv: 1, replicas: 8, depth: 1, routing: loadline.RouteLeastRequest},
		{cpu: 1, load: .9, limit: 1, demand: 10, cv: 1, replicas: 1, depth: 1, workers: 8},
		{cpu: 1, load: .9, limit: 1, demand: 10, cv: 2, replicas: 1, depth: 1, workers: 8},
		{cpu: 1, load: .7, limit: 1, demand: 10, cv: 2, replicas: 1, depth: 1, workers: 2},
		{cpu: 1, load: .7, limit: 1, demand: 10, cv: 1, replicas: 1, depth: 3, workers: 16},
		{cpu: 0, load: .7, limit: 2, demand: 10, cv: 1, replicas: 1, depth: 1, workers: 4},
	} {
		p50, p99, mean, cpu, truth := compareCell(c, 600000)
		fmt.Printf("%+v p50 %+.1f%% p99 %+.1f%% mean %+.1f%% cpu %+.2f%% truth p99 %.1fms\n", c, 100*p50, 100*p99, 100*mean, 100*cpu, truth)
	}
}
