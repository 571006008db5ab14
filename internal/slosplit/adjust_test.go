package slosplit

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/profile"
)

// measuredAs makes tails from instances: the given part of the sum of the profiles.
func measuredAs(chains []Chain, part float64, runs *int) Measure {
	return func(instances []int) ([]Tail, error) {
		*runs++
		tails := []Tail{}
		at := map[string]int{}
		for c := range chains {
			sum := 0.0
			for i := range chains[c].Steps {
				s := &chains[c].Steps[i]
				sum += s.Visits * s.LatencyWith(instances[s.Service])
			}
			i, known := at[chains[c].Kind]
			if !known {
				i = len(tails)
				at[chains[c].Kind] = i
				tails = append(tails, Tail{Kind: chains[c].Kind, SLO: chains[c].Budget})
			}
			tails[i].Latency = max(tails[i].Latency, part*sum)
		}
		return tails, nil
	}
}

func TestAdjustFollowsTheMeasurement(t *testing.T) {
	app := shop()
	chains := cutShop(t, app)
	plain, err := NewPlan(app, chains, Parslo{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		part    float64 // of the sum of the profiles that is measured
		cheaper bool
	}{
		{"tails that do not add make it cheaper", 0.6, true},
		{"tails beyond the sum make it dearer", 1.25, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			runs := 0
			plan, err := Adjust(app, chains, NewCache(Parslo{}), measuredAs(chains, c.part, &runs), DefaultRuns, nil)
			if err != nil {
				t.Fatal(err)
			}
			if runs > DefaultRuns || plan.Runs != runs {
				t.Errorf("%d runs, %d reported", runs, plan.Runs)
			}
			for _, tail := range plan.Tails {
				if !tail.Met() {
					t.Errorf("%+v", tail)
				}
			}
			if (plan.Cost < plain.Cost) != c.cheaper {
				t.Errorf("costs %v, without measurement %v", plan.Cost, plain.Cost)
			}
			// As if the budgets were known: at most 5 % more expensive.
			right := make([]Chain, len(chains))
			for i := range chains {
				right[i] = chains[i]
				right[i].Budget /= c.part
			}
			known, err := NewPlan(app, right, Parslo{})
			if err != nil {
				t.Fatal(err)
			}
			if plan.Cost > 1.05*known.Cost {
				t.Errorf("costs %v, with known budgets %v", plan.Cost, known.Cost)
			}
			for _, s := range plan.Services {
				if s.Share > 0 && s.Latency > s.Share*(1+1e-9) {
					t.Errorf("%s takes longer than its share: %+v", s.Service, s)
				}
			}
		})
	}
}

func TestAdjustReportsAnInfeasibleSLO(t *testing.T) {
	app := shop()
	chains := cutShop(t, app)
	runs := 0
	_, err := Adjust(app, chains, Parslo{}, measuredAs(chains, 4, &runs), DefaultRuns, nil)
	var none *Infeasible
	if !errors.As(err, &none) || !none.Measured || none.Kind != "get" {
		t.Fatalf("after %d runs: %v", runs, err)
	}
	// 15 + 6 + 3 * 12 ms unloaded, times four.
	if math.Abs(none.Least-4*0.057) > 0.02 || !(none.Cost > 0) {
		t.Errorf("%+v", none)
	}
	// Less than the minimum sum of the shares is no proof: the tails may still allow it.
	for i := range chains {
		chains[i].Budget /= 4
	}
	if _, err := (Parslo{}).Split(&chains[0]); !errors.As(err, &none) {
		t.Fatalf("by the profiles alone: %v", err)
	}
	if _, err := Adjust(app, chains, Parslo{}, measuredAs(chains, 0.4, &runs), DefaultRuns, nil); err != nil {
		t.Error(err)
	}
	broken := errors.New("no engine")
	if _, err := Adjust(app, chains, Parslo{}, func([]int) ([]Tail, error) { return nil, broken }, 3, nil); !errors.Is(err, broken) {
		t.Errorf("a measurement that fails: %v", err)
	}
	if _, err := Adjust(app, chains, Parslo{}, nil, 0, nil); err == nil {
		t.Error("no runs at all")
	}
}

// TestMeasuredTailMeetsTheSLO splits by profiles from the event engine, and evaluates the
// result on other seeds: the SLOs are met, and a chain of three services costs at most 5 % more
// than the cheapest that meets them.
func TestMeasuredTailMeetsTheSLO(t *testing.T) {
	app := shop()
	app.Kinds = app.Kinds[:1]
	app.Kinds[0].Root.Stages[1] = app.Kinds[0].Root.Stages[1][:1]
	app.Kinds[0].SLO = loadline.SLO{Percentile: 95, Latency: 42 * time.Millisecond}
	rate := []float64{300}
	ctx := context.Background()
	chains, err := Cut(app, rate, func(service int, percentile float64) *profile.Profile {
		p, err := profile.Measure(ctx, app, service, profile.Options{Percentile: percentile, Seeds: 2})
		if err != nil {
			t.Fatal(err)
		}
		return p
	})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := Adjust(app, chains, NewCache(Parslo{}), InEventEngine(ctx, app, Measurement{PerSecond: rate, Seeds: 2}), DefaultRuns, nil)
	if err != nil {
		t.Fatal(err)
	}
	unseen := InEventEngine(ctx, app, Measurement{PerSecond: rate, Seeds: 3, FirstSeed: 100})
	tails, err := unseen(plan.Instances())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%v instances, %.3g cores, %d runs, tails %+v", plan.Instances(), plan.Cost, plan.Runs, tails)
	if tails[0].Failing || tails[0].Latency > tails[0].SLO {
		t.Errorf("the SLO is broken on unseen seeds: %+v", tails[0])
	}
	// More than 5 % cheaper and still within the SLO: every such number of instances that can
	// serve the load (1.5, 0.6 and 3.6 cores).
	n := plan.Instances()
	brief := InEventEngine(ctx, app, Measurement{PerSecond: rate, Seeds: 1, FirstSeed: 100})
	for front := 2; front <= n[0]+2; front++ {
		for auth := 1; auth <= n[1]+1; auth++ {
			for cart := 4; cart <= n[2]+2; cart++ {
				cost := plan.Cost
				for i, m := range []int{front, auth, cart} {
					cost += float64(m-n[i]) * chains[0].Steps[i].Cost
				}
				if cost*1.05 >= plan.Cost {
					continue
				}
				tried, err := brief([]int{front, auth, cart, n[3], n[4], n[5]})
				if err != nil {
					t.Fatal(err)
				}
				if tried[0].Met() {
					t.Errorf("%d, %d, %d cost %v and keep the SLO: %+v", front, auth, cart, cost, tried[0])
				}
			}
		}
	}
}

func TestMeasuringStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	app := shop()
	if _, err := InEventEngine(ctx, app, Measurement{PerSecond: []float64{1, 1}})([]int{1, 1, 1, 1, 1, 1}); !errors.Is(err,
		context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	// Two visits of 5 ms at 500 per second on one core: an unstable queue.
	tails, err := InEventEngine(context.Background(), app, Measurement{PerSecond: []float64{0, 500}, Seeds: 1})([]int{1, 1, 1, 1, 1, 1})
	if err != nil || len(tails) != 1 || tails[0].Met() {
		t.Errorf("overloaded: %+v, %v", tails, err)
	}
}
