package slosplit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/loadline/loadline"
)

// crooked divides the remainder at random: a bad splitter whose shares are feasible.
type crooked struct{ rng *rand.Rand }

func (c crooked) Split(chain *Chain) (Shares, error) {
	e := Least(chain)
	if e.Least > chain.Budget*(1+1e-9) {
		return nil, e
	}
	parts, sum := make([]float64, len(chain.Steps)), 0.0
	for i := range parts {
		parts[i] = math.Exp(2 * c.rng.NormFloat64())
		sum += parts[i]
	}
	shares := make(Shares, len(parts))
	for i := range shares {
		s := &chain.Steps[i]
		shares[i] = s.LatencyWith(s.Fastest()) + max(chain.Budget-e.Least, 0)*parts[i]/sum/s.Visits
	}
	return shares, nil
}

// TestAdjustExchanges: whatever divides the budget, the final result costs little more than the
// best of all numbers of instances.
func TestAdjustExchanges(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	worst, sum, chains := 1.0, 0.0, 0
	for range 150 {
		c := Chain{Kind: "get", Percentile: 99}
		app := &loadline.App{}
		least := 0.0
		for i := range 2 + rng.IntN(4) {
			s := Step{Service: i, Name: fmt.Sprint(i), Visits: float64(1 + rng.IntN(3)), Load: 10 + 300*rng.Float64(),
				Cost: 0.1 + rng.Float64(), Min: 1, Max: 3 + rng.IntN(14), Curve: queueCurve(rng)}
			least += s.Visits * s.LatencyWith(s.Max)
			c.Steps = append(c.Steps, s)
			app.Services = append(app.Services, loadline.Service{Name: s.Name, Size: loadline.Size{CPURequest: s.Cost}})
		}
		if math.IsInf(least, 1) {
			continue
		}
		const part = 0.7 // of the sum of the profiles that is measured
		c.Budget = part * least * (1.1 + 3*rng.Float64())
		runs := 0
		plan, err := Adjust(app, []Chain{c}, NewCache(crooked{rng}), measuredAs([]Chain{c}, part, &runs), DefaultRuns, nil)
		if err != nil {
			t.Fatal(err)
		}
		if runs > DefaultRuns || !plan.Tails[0].Met() {
			t.Fatalf("%d runs, %+v", runs, plan.Tails)
		}
		for _, s := range plan.Services {
			if s.Latency > s.Share*(1+1e-9) {
				t.Errorf("%s takes longer than its share: %+v", s.Service, s)
			}
		}
		known := c
		known.Budget /= part
		ratio := plan.Cost / exhaustive(&known)
		worst, sum, chains = max(worst, ratio), sum+ratio, chains+1
	}
	t.Logf("%d chains: %.4f times the cost of the best on the mean, %.4f at worst", chains, sum/float64(chains), worst)
	if chains < 100 || worst > 1.05 {
		t.Errorf("%d chains, %v times the cost of the best at worst", chains, worst)
	}
}

// TestExchangeGrowsCareful: optimistic profiles are corrected by measuring, and every result
// was measured to meet the SLO.
func TestExchangeGrowsCareful(t *testing.T) {
	app := shop()
	chains := cutShop(t, app)
	at := chains[0].Steps[0].Service
	var fewest int
	measure := func(instances []int) ([]Tail, error) {
		tails := []Tail{{Kind: "get", SLO: chains[0].Budget, Latency: 0.5 * chains[0].Budget}}
		if instances[at] < fewest { // whatever its profile says
			tails[0].Failing = true
		}
		return tails, nil
	}
	for fewest = 1; fewest < 12; fewest++ {
		plan, err := Adjust(app, chains, Parslo{}, measure, DefaultRuns, nil)
		if err != nil {
			t.Fatal(err)
		}
		if n := plan.Services[at].Instances; n < fewest || plan.Runs > DefaultRuns || !plan.Tails[0].Met() {
			t.Errorf("%d instances where it takes %d, after %d runs: %+v", n, fewest, plan.Runs, plan.Tails)
		}
	}
}

// TestExchangeAgainstNaive: the incremental state equals the state computed from scratch.
func TestExchangeAgainstNaive(t *testing.T) {
	app := shop()
	chains := cutShop(t, app)
	plan, err := NewPlan(app, chains, Parslo{})
	if err != nil {
		t.Fatal(err)
	}
	runs := 0
	if plan.Tails, err = measuredAs(chains, 0.8, &runs)(plan.Instances()); err != nil {
		t.Fatal(err)
	}
	e := newExchange(chains, plan)
	for i := range e.kinds {
		if math.Abs(e.kinds[i].over-0.8) > 1e-9 {
			t.Errorf("%+v", e.kinds[i])
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	p := e.position(plan.Instances())
	for range 2000 {
		s := &e.services[rng.IntN(len(e.services))]
		e.move(&p, s, p.instances[s.service]+rng.IntN(7)-3)
	}
	anew := e.position(p.instances)
	if slices.Equal(p.instances, plan.Instances()) || math.Abs(p.cost/anew.cost-1) > 1e-9 {
		t.Errorf("%v: cost %v, anew %v", p.instances, p.cost, anew.cost)
	}
	for c := range p.times {
		if math.Abs(p.times[c]/anew.times[c]-1) > 1e-6 {
			t.Errorf("chain %d takes %v, anew %v", c, p.times[c], anew.times[c])
		}
	}
	n := e.cheaper(plan.Instances())
	q, from := e.position(n), e.position(plan.Instances())
	if _, met := e.room(&q); !met || q.cost > from.cost {
		t.Errorf("%v: cost %v from %v, met %v", n, q.cost, from.cost, met)
	}
}
