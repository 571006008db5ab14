package event

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
)

// The mean sojourn in M/G/1 with processor sharing is d/(1-rho), whatever the
// distribution of the demand.
func TestProcessorSharingIsInsensitiveToTheDistribution(t *testing.T) {
	demands := map[string]loadline.Dist{
		"exponential":           {Mean: ms(10), Shape: loadline.Exponential},
		"constant":              {Mean: ms(10)},
		"lognormal with CV 0.5": {Mean: ms(10), CV: 0.5},
		"lognormal with CV 2":   {Mean: ms(10), CV: 2},
	}
	for name, demand := range demands {
		for _, rho := range []float64{0.3, 0.7, 0.9} {
			t.Run(fmt.Sprintf("%s at %.0f %%", name, 100*rho), func(t *testing.T) {
				t.Parallel()
				cores := 0.5
				rate := rho * cores / demand.Mean.Seconds()
				hours := 3 * time.Hour
				if rho == 0.9 {
					hours = 24 * time.Hour
				}
				e := run(sim.Config{App: station(demand, cores, many, 0, 1), Load: constant{rate}, Seed: 1, CPU: sim.Shared,
					WarmUp: time.Minute}, hours)
				want := demand.Mean.Seconds() / cores / (1 - rho) * 1e9
				near(t, "mean sojourn", e.Meter().Kinds[0].Latency.Mean(), want, 0.02)
			})
		}
	}
}

// With c workers on c cores and exponential demands the replica is M/M/c: the
// mean wait for a worker follows Erlang's C formula.
func TestMeanWaitFollowsErlangC(t *testing.T) {
	for _, c := range []int{1, 2, 8} {
		for _, rho := range []float64{0.5, 0.8, 0.9} {
			t.Run(fmt.Sprintf("%d workers at %.0f %%", c, 100*rho), func(t *testing.T) {
				t.Parallel()
				d := 0.010
				rate := rho * float64(c) / d
				app := station(loadline.Dist{Mean: ms(10), Shape: loadline.Exponential}, float64(c), c, many, 1)
				e := run(sim.Config{App: app, Load: constant{rate}, Seed: 2, CPU: sim.Shared, WarmUp: time.Minute},
					6*time.Hour/time.Duration(c)*4)
				wait := e.Meter().Kinds[0].Latency.Mean()/1e9 - d
				want := erlangC(c, rho*float64(c)) * d / (float64(c) * (1 - rho))
				near(t, "mean wait", wait, want, 0.03)
			})
		}
	}
}

// erlangC is the probability of having to wait with c servers and an offered
// load of a, by the recursion of Erlang's B formula.
func erlangC(c int, a float64) float64 {
	b := 1.0
	for i := 1; i <= c; i++ {
		b = a * b / (float64(i) + a*b)
	}
	return b / (1 - a/float64(c)*(1-b))
}

// Two parallel M/M/1 branches fed by the same arrivals: the mean time until
// both are done is (12-rho)/8 of one branch's (Flatto and Hahn; Nelson and
// Tantawi), exact for two branches served in order.
func TestForkJoinOfTwo(t *testing.T) {
	for _, rho := range []float64{0.3, 0.6, 0.8} {
		t.Run(fmt.Sprintf("at %.0f %%", 100*rho), func(t *testing.T) {
			t.Parallel()
			d := loadline.Dist{Mean: ms(10), Shape: loadline.Exponential}
			app := station(loadline.Dist{}, 1, many, 0, 1)
			app.Services = append(app.Services, server("b", d, 1, 1, many, 1), server("c", d, 1, 1, many, 1))
			app.Kinds[0].Root = tree(0, []loadline.Call{leaf(1), leaf(2)})
			e := run(sim.Config{App: app, Load: constant{rho / 0.010}, Seed: 3, CPU: sim.Shared, WarmUp: time.Minute}, 12*time.Hour)
			want := (12 - rho) / 8 * 0.010 / (1 - rho) * 1e9
			near(t, "mean response", e.Meter().Kinds[0].Latency.Mean(), want, 0.02)
		})
	}
}

// A replica that always has n requests uses its quota of L cores in the first L/n of every
// period and is throttled for the rest.
func TestThrottledShareOfASaturatedReplica(t *testing.T) {
	for _, n := range []int{1, 2, 5} {
		for _, limit := range []float64{0.1, 0.5, 0.9} {
			t.Run(fmt.Sprintf("%d at work under %.1f cores", n, limit), func(t *testing.T) {
				t.Parallel()
				// n workers, always busy: a day's work each, and a queue behind.
				app := station(loadline.Dist{Mean: 24 * time.Hour}, limit, n, many, 1)
				e := New(sim.Config{App: app, Load: constant{10}, Seed: 4, CPU: sim.Quota})
				e.AdvanceTo(10 * time.Second)
				before := e.Meter().Services[0]
				e.AdvanceTo(610 * time.Second)
				after := e.Meter().Services[0]
				periods := after.Periods - before.Periods
				near(t, "periods in 600 s", periods, 6000, 0.001)
				near(t, "throttled periods", after.ThrottledPeriods-before.ThrottledPeriods, periods, 0.001)
				near(t, "throttled share of time", (after.ThrottledSeconds-before.ThrottledSeconds)/600, 1-limit/float64(n), 0.001)
			})
		}
	}
}

// Work is conserved under the quota: a saturated replica uses its whole limit.
func TestSaturatedReplicaUsesItsLimit(t *testing.T) {
	for _, cpu := range []sim.CPUModel{sim.Quota, sim.Shared} {
		app := station(loadline.Dist{Mean: ms(20), CV: 1}, 0.5, 10, 100, 1)
		e := run(sim.Config{App: app, Load: constant{50}, Seed: 5, CPU: cpu}, 10*time.Minute)
		near(t, "cores in use", e.Meter().Services[0].CPUSeconds/600, 0.5, 0.005)
		near(t, "throughput", e.Meter().Kinds[0].Completed/600, 25, 0.02)
	}
}

// L = lambda * W holds for every service.
func TestLittlesLawOnEveryService(t *testing.T) {
	app := shop()
	e := run(sim.Config{App: app, Load: constant{30, 10}, Seed: 6}, time.Hour)
	for i := range app.Services {
		m := &e.Meter().Services[i]
		if m.Ended == 0 {
			t.Fatalf("%s was never visited", app.Services[i].Name)
		}
		// Refused visits take no time: they are in no histogram and in no integral.
		near(t, "visits in "+app.Services[i].Name, m.BusySeconds/3600, m.Latency.Sum()/1e9/3600, 0.002)
	}
}

// shop is a small application with everything in it: stages, parallel calls,
// probabilities, repetition, an optional call, waiting, versions, backlog.
func shop() *loadline.App {
	app := &loadline.App{Name: "shop", Nodes: []loadline.Node{{Name: "n1", Cores: 4, Memory: 8 << 30},
		{Name: "n2", Cores: 4, Memory: 8 << 30}}}
	add := func(name string, cpu float64, limit float64, workers, backlog, replicas int) int {
		s := server(name, loadline.Dist{Mean: ms(cpu), CV: 1}, limit, workers, backlog, replicas)
		s.Memory = loadline.Memory{Base: 50 << 20, PerRequest: 1 << 20}
		s.Size.MemoryRequest, s.Size.MemoryLimit = 100<<20, 400<<20
		app.Services = append(app.Services, s)
		return len(app.Services) - 1
	}
	front := add("front", 4, 0.5, 50, 100, 2)
	cart := add("cart", 8, 0.4, 10, 20, 2)
	db := add("db", 3, 1, 5, 50, 1)
	ads := add("ads", 5, 0.3, 10, 10, 1)
	app.Services[db].Wait = loadline.Dist{Mean: ms(5), CV: 0.5}
	app.Services[cart].Versions = []loadline.Version{{Name: "v1", Weight: 1, CPU: 1, Wait: 1}, {Name: "v2", Weight: 1, CPU: 1.5, Wait: 1}}
	ad := leaf(ads)
	ad.Optional = true
	lookup := leaf(db)
	lookup.Times = 2
	audit := leaf(db)
	audit.Versions = []int{1}
	maybe := tree(cart, []loadline.Call{lookup}, []loadline.Call{audit})
	maybe.Probability = 0.6
	app.Kinds = []loadline.Kind{
		{Name: "browse", Share: 3, SLO: loadline.SLO{Percentile: 99, Latency: ms(250)}, Timeout: 2 * time.Second,
			Root: tree(front, []loadline.Call{maybe, ad})},
		{Name: "buy", Share: 1, SLO: loadline.SLO{Percentile: 95, Latency: ms(400)}, Timeout: 2 * time.Second,
			Root: tree(front, []loadline.Call{tree(cart, []loadline.Call{leaf(db)})}, []loadline.Call{leaf(db)})},
	}
	return app
}

// Utilisation and visits follow the call trees.
func TestVisitsFollowTheCallTrees(t *testing.T) {
	app := shop()
	e := run(sim.Config{App: app, Load: constant{10, 5}, Seed: 7}, 2*time.Hour)
	m := e.Meter()
	near(t, "visits to front", m.Services[0].Arrived/7200, 15, 0.02)
	near(t, "visits to cart", m.Services[1].Arrived/7200, 10*0.6+5, 0.02)
	// The second version of cart, which serves half of the visits, makes one more call.
	near(t, "visits to db", m.Services[2].Arrived/7200, 10*0.6*(2+0.5)+5*2, 0.02)
	near(t, "visits to ads", m.Services[3].Arrived/7200, 10, 0.02)
	near(t, "cores of cart", m.Services[1].CPUSeconds/7200, (10*0.6+5)*0.008*1.25, 0.03)
}

func TestErlangCItself(t *testing.T) {
	// One server: the probability of waiting is the utilisation.
	if got := erlangC(1, 0.7); math.Abs(got-0.7) > 1e-12 {
		t.Errorf("erlangC(1, 0.7) = %v", got)
	}
}
