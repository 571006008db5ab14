package slosplit

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/loadline/loadline/internal/profile"
)

// exhaustive tries every number of instances of every step.
func exhaustive(c *Chain) float64 {
	best := math.Inf(1)
	var try func(i int, time, cost float64)
	try = func(i int, time, cost float64) {
		if time > c.Budget || cost >= best {
			return
		}
		if i == len(c.Steps) {
			best = cost
			return
		}
		s := &c.Steps[i]
		for n := s.Min; n <= s.Max; n++ {
			try(i+1, time+s.Visits*s.LatencyWith(n), cost+float64(n)*s.Cost)
		}
	}
	try(0, 0, 0)
	return best
}

// queueCurve is the curve of a queue, with random bends.
func queueCurve(rng *rand.Rand) *profile.Curve {
	c := &profile.Curve{}
	base, capacity, bend := 0.001+0.02*rng.Float64(), 20+200*rng.Float64(), 0.3+rng.Float64()
	for part := 0.05; part < 0.97; part += 0.07 {
		c.Loads = append(c.Loads, part*capacity)
		c.Latencies = append(c.Latencies, base*math.Pow(1-part, -bend))
	}
	if rng.IntN(4) == 0 { // flat, then a cliff
		for i := range c.Latencies[:len(c.Latencies)-2] {
			c.Latencies[i] = base
		}
	}
	return c
}

func chainCost(t *testing.T, c *Chain, shares Shares) float64 {
	t.Helper()
	if c.Time(shares) > c.Budget*(1+1e-6) {
		t.Errorf("shares sum to %v of %v", c.Time(shares), c.Budget)
	}
	cost := 0.0
	for i := range c.Steps {
		n, kept, err := c.Steps[i].Instances(shares[i])
		if err != nil || !kept {
			t.Errorf("%d instances, %v, %v", n, kept, err)
		}
		cost += float64(n) * c.Steps[i].Cost
	}
	return cost
}

// TestParsloNearExhaustive: at most 5 % more expensive than the best of all numbers of
// instances, on any chain of up to five services.
func TestParsloNearExhaustive(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	worst, sum, feasible := 1.0, 0.0, 0
	const tries = 4000
	for range tries {
		c := &Chain{Kind: "get", Percentile: 99}
		least := 0.0
		for range 1 + rng.IntN(5) {
			s := Step{Name: "s", Visits: float64(1 + rng.IntN(3)), Load: 10 + 300*rng.Float64(), Cost: 0.1 + rng.Float64(), Min: 1,
				Max: 3 + rng.IntN(14), Curve: queueCurve(rng)}
			least += s.Visits * s.LatencyWith(s.Max)
			c.Steps = append(c.Steps, s)
		}
		c.Budget = 0.3
		if !math.IsInf(least, 1) {
			c.Budget = least * (1.02 + 3*rng.Float64()*rng.Float64())
		}
		best := exhaustive(c)
		shares, err := Parslo{}.Split(c)
		var none *Infeasible
		if math.IsInf(best, 1) != errors.As(err, &none) {
			t.Fatalf("the best costs %v, but %v", best, err)
		}
		if err != nil {
			continue
		}
		feasible++
		ratio := chainCost(t, c, shares) / best
		sum += ratio
		worst = max(worst, ratio)
		if ratio > 1.05 || ratio < 1-1e-9 {
			t.Errorf("%v times the cost of the best, %v steps", ratio, len(c.Steps))
		}
	}
	t.Logf("%d chains: %.4f times the cost of the best on the mean, %.4f at worst", feasible, sum/float64(feasible), worst)
	if feasible < tries/2 {
		t.Errorf("only %d of %d chains can be kept: the test shows little", feasible, tries)
	}
}

// TestClosedForm: where latency is b times the load per instance, n = load*b/x meets a share x,
// and the cheapest shares are in proportion to sqrt(cost*load*b/visits).
func TestClosedForm(t *testing.T) {
	c := &Chain{Kind: "get", Percentile: 99, Budget: 0.1}
	weights, sum := []float64{}, 0.0
	for _, s := range []struct{ b, load, cost, visits float64 }{{1e-3, 2000, 1, 1}, {2e-3, 4000, 0.25, 2}, {0.5e-3, 1000, 4, 1},
		{4e-3, 500, 0.5, 3}} {
		curve := &profile.Curve{Loads: []float64{1e-6, 1000}, Latencies: []float64{1e-6 * s.b, 1000 * s.b}}
		c.Steps = append(c.Steps, Step{Name: "s", Visits: s.visits, Load: s.load, Cost: s.cost, Min: 1, Max: 3000, Curve: curve})
		w := math.Sqrt(s.cost * s.load * s.b / s.visits)
		weights = append(weights, w)
		sum += s.visits * w
	}
	shares, err := Parslo{}.Split(c)
	if err != nil {
		t.Fatal(err)
	}
	best, cost := 0.0, chainCost(t, c, shares)
	for i, w := range weights {
		want := c.Budget * w / sum
		if math.Abs(shares[i]/want-1) > 0.05 {
			t.Errorf("share %d is %v, the formula says %v", i, shares[i], want)
		}
		s := &c.Steps[i]
		best += s.Cost * s.Load * s.Curve.Latencies[1] / 1000 / want
	}
	if cost < best || cost > 1.005*best {
		t.Errorf("costs %v, at best %v with parts of instances", cost, best)
	}
}

func TestInfeasibleHasTheLeast(t *testing.T) {
	curve := &profile.Curve{Loads: []float64{10, 100}, Latencies: []float64{0.01, 0.1}}
	c := &Chain{Kind: "get", Percentile: 99, Budget: 0.025, Steps: []Step{
		{Name: "front", Visits: 1, Load: 100, Cost: 1, Min: 1, Max: 20, Curve: curve},
		{Name: "store", Visits: 2, Load: 200, Cost: 0.5, Min: 1, Max: 40, Curve: curve},
	}}
	_, err := Parslo{}.Split(c)
	var none *Infeasible
	if !errors.As(err, &none) {
		t.Fatal(err)
	}
	// 10 ms + 2 * 10 ms, from 10 visits/s and instance on: 10 and 20 instances.
	if math.Abs(none.Least-0.03) > 1e-9 || math.Abs(none.Cost-20) > 1e-9 || none.Service != "store" {
		t.Errorf("%+v", none)
	}
	for _, part := range []string{"25ms", "30ms", "20 cores", "20ms of it in store"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
	c.Budget = none.Least
	shares, err := Parslo{}.Split(c)
	if err != nil {
		t.Fatalf("what is said to be had is not: %v", err)
	}
	if cost := chainCost(t, c, shares); math.Abs(cost-none.Cost) > 1e-9 {
		t.Errorf("costs %v, said to cost %v", cost, none.Cost)
	}
	c.Steps[0].Max = 0
	c.Steps[1].Load = 1e6
	if _, err = (Parslo{}).Split(c); err == nil || errors.As(err, &none) {
		t.Errorf("no instance is allowed: %v", err)
	}
	c.Steps[0].Max = 20
	if _, err = (Parslo{}).Split(c); !errors.As(err, &none) || !math.IsInf(none.Least, 1) || none.Service != "store" {
		t.Errorf("a load that cannot be borne: %v", err)
	}
	c.Steps[1].Curve = nil
	if _, err = (Parslo{}).Split(c); !errors.Is(err, profile.ErrAbsent) || !strings.Contains(err.Error(), "store") {
		t.Errorf("an absent profile: %v", err)
	}
	if shares, err := (Even{}).Split(c); err != nil || math.Abs(c.Time(shares)-c.Budget) > 1e-12 {
		t.Errorf("even needs no profile: %v, %v", shares, err)
	}
}
