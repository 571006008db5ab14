package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/sim/pool"
	"github.com/loadline/loadline/internal/simulate"
)

func steady(perSecond float64) func(int, time.Duration) (float64, time.Duration) {
	return func(int, time.Duration) (float64, time.Duration) { return perSecond, math.MaxInt64 }
}

func mustPool(t *testing.T, text string) pool.Pool {
	t.Helper()
	p, err := pool.ParsePool(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestBoundOfTheBillByHand(t *testing.T) {
	app := oneService() // 15 ms a request, within 250 ms; at least one replica
	of := func(c pool.Cluster, perSecond float64) float64 {
		return BoundOf(app, c, simulate.Perturb{}, 0, time.Hour, steady(perSecond)).Bill
	}
	own := pool.Cluster{Pools: []pool.Pool{mustPool(t, "cores=4,memory=16Gi,price=0.2")}}
	// 400/s * 15 ms = 6 cores, of which each minute sees all but 0.25 s and 1 % may fail.
	near(t, "work on own nodes", of(own, 400), 6*(1-0.25/60-0.01)/4*0.2, 1e-9)
	near(t, "one node at least", of(own, 0), 0.2, 1e-12)
	own.Pools[0].Types = append(own.Pools[0].Types, pool.Type{Name: "large", Cores: 8, Memory: 8 << 30, Price: 0.3})
	near(t, "cheapest per core", of(own, 400), 6*(1-0.25/60-0.01)/8*0.3, 1e-9)
	near(t, "cheapest node", of(own, 0), 0.2, 1e-12)

	// Neighbours that hold as much as the node has: half of the price at most.
	shared := pool.Cluster{Neighbours: pool.Neighbours{Use: 1, Request: 0.5}}
	prices := pool.Prices{}.WithDefaults()
	want := 6*(1-0.25/60-0.01)*prices.CoreHour/2 + 50./1024*prices.GiBHour // 50 MiB
	near(t, "a share of others' nodes", of(shared, 400), want, 1e-9)
	app.Nodes = nil
	near(t, "resources by the amount", of(pool.Cluster{}, 0), 0.1*prices.CoreHour+50./1024*prices.GiBHour, 1e-9)

	app.Services[0].Bounds.MinReplicas, app.Services[0].Bounds.MinMemory = 7, 4<<30
	app.Services[0].Size.MemoryRequest = 4 << 30
	memory := pool.Cluster{Pools: []pool.Pool{mustPool(t, "cores=4,memory=16Gi,price=0.2,reserved-memory=2Gi,reserved-cpu=0")}}
	near(t, "memory sets the nodes", of(memory, 0), 0.2*28/14, 1e-9)
}

func TestBoundHasATolerance(t *testing.T) {
	b := Bound{Bill: 0.508, Deviation: 0.0001}
	if b.Below(0.5079) || b.Below(0.504) || !b.Below(0.49) {
		t.Error("a bill is below the bound only where neither chance nor tolerance explains it")
	}
}

// TestNoBillIsBelowTheBound: random clusters and loads, and policies of every kind.
func TestNoBillIsBelowTheBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 1))
	tightest := math.Inf(1)
	for n := range 6 {
		m := smallMatrix("hpa", "hpa:target=95,down-window=0s", "static:replicas=1", "static:replicas=1,cpu=0.1", "vpa", "autothrottle",
			"oracle", "reckless: oracle:axes=replicas+cpu,level=2")
		m.Seeds = 1
		if n > 2 {
			m.Policies = slices.DeleteFunc(m.Policies, Policy.needsSearch)
		}
		m.FirstSeed = uint64(n + 1)
		m.Workloads = []Workload{smallLoad(fmt.Sprintf("diurnal:low=1,high=%d,period=5m,peak=3m", 5+rng.IntN(120)), 5*time.Minute)}
		switch n % 3 {
		case 0:
			m.Cluster.Pools = []pool.Pool{mustPool(t, fmt.Sprintf("cores=%d,memory=4Gi,price=0.1,start=20s", 1+rng.IntN(3)))}
		case 1:
			m.Cluster.Pools = []pool.Pool{mustPool(t, fmt.Sprintf("cores=%d,memory=8Gi,price=0.1,nodes=3", 2+rng.IntN(3)))}
		}
		if n%3 != 0 || n >= 3 {
			m.Cluster.Neighbours = pool.Neighbours{Use: 0.7 * rng.Float64(), Request: 0.6 * rng.Float64(), Memory: 0.5 * rng.Float64()}
		}
		for _, row := range mustRun(t, m, Options{Dir: t.TempDir()}).Rows {
			if !row.Met {
				continue
			}
			if row.BelowBound {
				t.Errorf("%s in %s: bill %v, bound %v", row.Case.Label, row.Case.Cluster, row.Measures["bill"].Mean, row.Bound.Mean)
			}
			tightest = min(tightest, float64(row.Measures["bill"].Mean/row.Bound.Mean))
		}
	}
	if tightest > 1.5 {
		t.Errorf("the bound is %.2f times below every policy: it is meaningless", tightest)
	}
}
