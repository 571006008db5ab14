package learned

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/loadline/loadline/internal/modelfile"
	"github.com/loadline/loadline/internal/profile"
	"github.com/loadline/loadline/internal/slosplit"
)

// proportional chains: latency is b times the load per instance, so n = load*b/x meets a share
// x, and the cheapest shares are in proportion to sqrt(cost*load*b/visits).
func proportionalChain(rng *rand.Rand, steps int) slosplit.Chain {
	c := slosplit.Chain{Kind: "get", Percentile: 99, Budget: 0.2 * math.Exp(rng.Float64())}
	for i := range steps {
		b := 1e-3 * math.Exp(0.8*min(max(rng.NormFloat64(), -2), 2))
		curve := &profile.Curve{}
		for _, load := range []float64{1e-3, 50, 100, 200, 500, 1000} {
			curve.Loads, curve.Latencies = append(curve.Loads, load), append(curve.Latencies, b*load)
		}
		c.Steps = append(c.Steps, slosplit.Step{Service: i, Name: fmt.Sprintf("s%d", i), Visits: float64(1 + rng.IntN(3)),
			Load: 100 * math.Exp(rng.Float64()), Cost: 0.1 + rng.Float64(), Min: 1, Max: 400, Curve: curve})
		if i > 0 {
			c.Calls = append(c.Calls, [2]int{rng.IntN(i), i})
		}
	}
	return c
}

// closedForm shares of a proportional chain.
func closedForm(c *slosplit.Chain) slosplit.Shares {
	shares, sum := make(slosplit.Shares, len(c.Steps)), 0.0
	for i, s := range c.Steps {
		shares[i] = math.Sqrt(s.Cost * s.Load * s.Curve.Latencies[1] / s.Curve.Loads[1] / s.Visits)
		sum += s.Visits * shares[i]
	}
	for i := range shares {
		shares[i] *= c.Budget / sum
	}
	return shares
}

// proportionalTasks have labels by formula. Twisted ones have hidden costs, proportional to how
// slow a service is or to the inverse: what is best for one task is worst for another, and can
// only be learned by adapting.
func proportionalTasks(seed uint64, n int, twisted bool) []Task {
	rng := rand.New(rand.NewPCG(seed, 9))
	var tasks []Task
	for k := range n {
		steps := 2 + rng.IntN(4)
		like := proportionalChain(rng, steps)
		t := Task{Name: fmt.Sprint(k)}
		twist := 2 * rng.Float64()
		if k%2 == 0 {
			twist = -twist
		}
		var all []Sample
		for range 30 {
			c := proportionalChain(rng, steps)
			c.Calls = like.Calls
			seen := c
			seen.Steps = slices.Clone(c.Steps)
			if twisted {
				for i := range c.Steps {
					c.Steps[i].Cost *= math.Pow(c.Steps[i].Curve.Latencies[1]/0.05, twist)
				}
			}
			all = append(all, Sample{seen, closedForm(&c)})
		}
		t.Train, t.Test = all[:21], all[21:]
		tasks = append(tasks, t)
	}
	return tasks
}

func train(t *testing.T, tasks, validation []Task, c Config) *Model {
	t.Helper()
	m, _, err := Train(context.Background(), tasks, validation, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestLearnsTheClosedForm(t *testing.T) {
	tasks, validation := proportionalTasks(1, 40, false), proportionalTasks(2, 6, false)
	for _, way := range []string{"gcn", "fnn"} {
		m := train(t, tasks, validation, Config{Way: way, Seed: 1, Most: 1500, Rate: 5e-3, Hidden: 32})
		rng := rand.New(rand.NewPCG(3, 4))
		ratio, n := 0.0, 0
		for range 100 {
			c := proportionalChain(rng, 4)
			shares, err := m.Split(&c)
			if err != nil {
				t.Fatal(err)
			}
			if sum := c.Time(shares); math.Abs(sum/c.Budget-1) > 1e-6 {
				t.Fatalf("shares sum to %v of %v", sum, c.Budget)
			}
			cost, best := 0.0, 0.0
			for i, x := range closedForm(&c) {
				s := &c.Steps[i]
				work := s.Cost * s.Load * s.Curve.Latencies[1] / s.Curve.Loads[1]
				cost += work / shares[i]
				best += work / x
			}
			ratio += cost / best
			n++
		}
		ratio /= float64(n)
		t.Logf("%s costs %.4f times the best on the mean", way, ratio)
		if most := map[string]float64{"gcn": 1.03, "fnn": 1.3}[way]; ratio > most {
			t.Errorf("%s costs %v times the best, at most %v", way, ratio, most)
		}
	}
}

// TestMetaAdapts: where tasks contradict each other in hidden costs, meta is better after a few
// steps than before, and than a GCN after as many.
func TestMetaAdapts(t *testing.T) {
	tasks, validation, test := proportionalTasks(1, 30, true), proportionalTasks(2, 8, true), proportionalTasks(3, 12, true)
	after := func(m *Model, steps int) float64 {
		sum := 0.0
		for i := range test {
			adapted := m
			if steps > 0 {
				var err error
				if adapted, err = m.Adapt(test[i].Train, steps); err != nil {
					t.Fatal(err)
				}
			}
			on, err := adapted.Prepare(test[i].Test)
			if err != nil {
				t.Fatal(err)
			}
			sum += adapted.OnlineLearner(Optimiser{}).Misplaced(on) / float64(len(test))
		}
		return sum
	}
	gcn := train(t, tasks, validation, Config{Way: "gcn", Seed: 1, Most: 600, Hidden: 16, InnerRate: 0.3})
	for _, firstOrder := range []bool{false, true} {
		meta := train(t, tasks, validation, Config{Way: "meta", Seed: 1, Most: 300, Hidden: 16, FirstOrder: firstOrder})
		before, few, same := after(meta, 0), after(meta, 5), after(gcn, 5)
		t.Logf("misplaced: meta %.3f, after 5 steps %.3f; gcn after as many %.3f (first order: %v)", before, few, same, firstOrder)
		if few > 0.7*before || few > 0.8*same {
			t.Errorf("first order %v: meta misplaces %v, after 5 steps %v; gcn after as many %v", firstOrder, before, few, same)
		}
	}
}

func TestTrainingRepeats(t *testing.T) {
	tasks, validation := proportionalTasks(1, 6, false), proportionalTasks(2, 2, false)
	for _, way := range Ways() {
		var first []float32
		for workers := 1; workers <= 3; workers++ {
			m := train(t, tasks, validation, Config{Way: way, Seed: 5, Most: 20, Hidden: 8, Workers: workers})
			if first == nil {
				first = slices.Clone(m.net.Params())
			} else if !slices.Equal(first, m.net.Params()) {
				t.Errorf("%s: %d workers gave other weights", way, workers)
			}
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := Train(ctx, tasks, validation, Config{Way: "gcn"}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	for _, c := range []struct {
		config            Config
		tasks, validation []Task
		want              string
	}{
		{Config{Way: "gnc"}, tasks, validation, `did you mean "gcn"`},
		{Config{Way: "gcn", Rate: -1, Hidden: 1, Sight: "none"}, tasks, validation, "hidden is 1"},
		{Config{Way: "fnn", Traits: 3}, tasks, validation, "traits is 3"},
		{Config{Way: "meta", Keep: 1, ContextRate: -1}, tasks, validation, "keep is 1"},
		{Config{Way: "gcn"}, nil, validation, "no samples to learn from"},
		{Config{Way: "gcn"}, tasks, nil, "no validation tasks"},
	} {
		if _, _, err := Train(context.Background(), c.tasks, c.validation, c.config, nil); err == nil || !strings.Contains(err.Error(),
			c.want) {
			t.Errorf("%+v: %v, want %q", c.config, err, c.want)
		}
	}
}

// untrained models: what must hold of any weights.
func untrained(t *testing.T, way string, sight Sight) *Model {
	t.Helper()
	tasks := proportionalTasks(1, 2, false)
	return train(t, tasks, tasks, Config{Way: way, Most: 1, Hidden: 8, Sight: sight})
}

func TestShapesOfProfiles(t *testing.T) {
	point := func(load, latency float64) profile.Point { return profile.Point{Load: load, Latency: latency} }
	rising := []profile.Point{point(10, 0.01), point(50, 0.02), point(90, 0.09)}
	for _, c := range []struct {
		name   string
		points []profile.Point
	}{
		{"rising", rising},
		{"flat", []profile.Point{point(10, 0.01), point(50, 0.01), point(90, 0.01)}},
		{"flat, then a cliff", []profile.Point{point(10, 0.01), point(80, 0.01), point(90, 0.5)}},
		{"not monotone", []profile.Point{point(10, 0.03), point(50, 0.01), point(90, 0.09)}},
		{"falling", []profile.Point{point(10, 0.03), point(50, 0.02), point(90, 0.01)}},
		{"saturated from some load on", []profile.Point{point(10, 0.01), {Load: 50, Saturated: true}, point(90, 0.001)}},
		{"one point", []profile.Point{point(50, 0.02)}},
		{"no time at all", []profile.Point{point(10, 0), point(90, 0)}},
	} {
		for _, way := range Ways() {
			for _, sight := range []Sight{Whole, Bare} {
				t.Run(c.name+" "+way+" "+string(sight), func(t *testing.T) {
					odd, err := (&profile.Profile{Service: "odd", Percentile: 99, Points: c.points}).Curve()
					if err != nil {
						t.Fatal(err)
					}
					usual, err := (&profile.Profile{Service: "usual", Percentile: 99, Points: rising}).Curve()
					if err != nil {
						t.Fatal(err)
					}
					m := untrained(t, way, sight)
					for _, load := range []float64{0, 1, 60, 90} {
						chain := slosplit.Chain{Kind: "get", Percentile: 99, Budget: 0.2, Steps: []slosplit.Step{
							{Name: "odd", Visits: 2, Load: load, Cost: 1, Min: 1, Max: 10, Curve: odd},
							{Name: "usual", Visits: 1, Load: load, Cost: 0.5, Min: 1, Max: 10, Curve: usual},
						}}
						for _, s := range []slosplit.Splitter{m, NewAdaptive(m)} {
							shares, err := s.Split(&chain)
							if err != nil {
								t.Fatal(err)
							}
							if sum := chain.Time(shares); !(math.Abs(sum/chain.Budget-1) < 1e-6) {
								t.Errorf("shares %v sum to %v of %v", shares, sum, chain.Budget)
							}
							for i := range shares {
								if n, kept, err := chain.Steps[i].Instances(shares[i]); !kept || err != nil {
									t.Errorf("share %v of %s cannot be kept: %d instances, %v", shares[i], chain.Steps[i].Name, n, err)
								}
							}
						}
					}
				})
			}
		}
	}
}

func TestWhatCannotBeHad(t *testing.T) {
	curve := &profile.Curve{Loads: []float64{10, 100}, Latencies: []float64{0.01, 0.1}}
	chain := func() *slosplit.Chain {
		return &slosplit.Chain{Kind: "get", Percentile: 99, Budget: 0.025, Steps: []slosplit.Step{
			{Name: "front", Visits: 1, Load: 100, Cost: 1, Min: 1, Max: 20, Curve: curve},
			{Name: "store", Visits: 2, Load: 200, Cost: 0.5, Min: 1, Max: 40, Curve: curve},
		}}
	}
	for _, way := range Ways() {
		m := untrained(t, way, Whole)
		for _, s := range []slosplit.Splitter{m, NewAdaptive(m)} {
			_, err := s.Split(chain())
			var none *slosplit.Infeasible
			// 10 ms + 2 * 10 ms, from 10 visits/s and instance on: 10 and 20 instances.
			if !errors.As(err, &none) || math.Abs(none.Least-0.03) > 1e-9 || math.Abs(none.Cost-20) > 1e-9 || none.SLO != 0.025 {
				t.Errorf("%s: %v", way, err)
			}
			c := chain()
			c.Budget = 0.03 // no slack
			shares, err := s.Split(c)
			if err != nil || math.Abs(shares[0]-0.01) > 1e-9 || math.Abs(shares[1]-0.01) > 1e-9 {
				t.Errorf("%s with nothing to divide: %v, %v", way, shares, err)
			}
			c = chain()
			c.Steps[1].Load = 1e6
			if _, err := s.Split(c); !errors.As(err, &none) || !math.IsInf(none.Least, 1) || none.Service != "store" {
				t.Errorf("%s under a load that cannot be borne: %v", way, err)
			}
			c = chain()
			c.Steps[1].Curve = nil
			if _, err := s.Split(c); !errors.Is(err, profile.ErrAbsent) || !strings.Contains(err.Error(), "store") {
				t.Errorf("%s with an absent profile: %v", way, err)
			}
			c = chain()
			c.Budget, c.Steps = 1, c.Steps[:1]
			if shares, err := s.Split(c); err != nil || shares[0] != 1 {
				t.Errorf("%s alone: %v, %v", way, shares, err)
			}
			if _, err := s.Split(&slosplit.Chain{Kind: "get", Budget: 1}); err == nil {
				t.Errorf("%s splits a chain without services", way)
			}
		}
	}
	long := proportionalChain(rand.New(rand.NewPCG(1, 1)), fnnMost+1)
	if _, err := untrained(t, "fnn", Whole).Split(&long); err == nil || !strings.Contains(err.Error(), "gcn or meta") {
		t.Errorf("a long chain by fnn: %v", err)
	}
	if _, err := untrained(t, "gcn", Whole).Split(&long); err != nil {
		t.Errorf("a long chain by gcn: %v", err)
	}
}

func TestAdaptiveAdaptsToWhatChanged(t *testing.T) {
	m := untrained(t, "meta", Whole)
	a := NewAdaptive(m)
	c := proportionalChain(rand.New(rand.NewPCG(1, 2)), 3)
	for i := range c.Steps {
		c.Steps[i].Max = 40
	}
	split := func() slosplit.Shares {
		t.Helper()
		shares, err := a.Split(&c)
		if err != nil {
			t.Fatal(err)
		}
		return shares
	}
	first := split()
	plain, err := m.Split(&c)
	if err != nil || slices.Equal(plain, first) {
		t.Errorf("it did not adapt: %v, %v", first, err)
	}
	c.Steps[0].Load *= 1.1
	c.Budget *= 1.2
	split()
	if a.Adapted() != 1 {
		t.Errorf("another load or budget made it adapt again: %d", a.Adapted())
	}
	c.Steps[1].Curve = &profile.Curve{Loads: c.Steps[1].Curve.Loads, Latencies: slices.Clone(c.Steps[1].Curve.Latencies)}
	split()
	if a.Adapted() != 1 {
		t.Errorf("the same profile made it adapt again: %d", a.Adapted())
	}
	c.Steps[1].Curve.Latencies[2] *= 1.01
	split()
	if a.Adapted() != 2 {
		t.Errorf("another profile did not make it adapt: %d", a.Adapted())
	}
}

func TestModelFile(t *testing.T) {
	dir := t.TempDir()
	c := proportionalChain(rand.New(rand.NewPCG(1, 2)), 5)
	for _, way := range Ways() {
		m := untrained(t, way, Whole)
		path := filepath.Join(dir, way)
		if err := m.Write(path); err != nil {
			t.Fatal(err)
		}
		again, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		want, err := m.Split(&c)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := again.Split(&c); err != nil || !slices.Equal(got, want) || again.Way != way || !reflect.DeepEqual(again.Settings,
			m.Settings) {
			t.Errorf("%s: %v, %v, want %v", way, got, err, want)
		}
		file, err := modelfile.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range []struct {
			name   string
			change func(*modelfile.Card)
			want   string
		}{
			{"another kind", func(c *modelfile.Card) { c.Kind = "policy/dqn" }, "not one that splits"},
			{"another feature", func(c *modelfile.Card) { c.Features[0].Name = "colour" }, "train it again"},
			{"no spread", func(c *modelfile.Card) { c.Features[0].Spread = 0 }, "spread"},
			{"another width", func(c *modelfile.Card) { c.Settings = []byte(`{"sight":"whole","hidden":4}`) }, "network"},
			{"no settings", func(c *modelfile.Card) { c.Settings = []byte(`{"depth":3}`) }, "settings"},
		} {
			changed := *file
			changed.Card.Features = slices.Clone(file.Card.Features)
			bad.change(&changed.Card)
			if _, err := FromFile(&changed); err == nil || !strings.Contains(err.Error(), bad.want) {
				t.Errorf("%s, %s: %v", way, bad.name, err)
			}
		}
	}
	bytes, err := os.ReadFile(filepath.Join(dir, "gcn"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "torn"), bytes[:len(bytes)/2], 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(filepath.Join(dir, "torn")); !errors.Is(err, modelfile.ErrTorn) {
		t.Errorf("a torn file: %v", err)
	}
}

func TestShopTasks(t *testing.T) {
	set, err := Shop()
	if err != nil {
		t.Fatal(err)
	}
	subjects := []Subject{ShopSubjects(set, false)[1], ShopSubjects(set, true)[1]}
	config := DataConfig{Seed: 3, Samples: 10}
	tasks, err := Tasks(context.Background(), subjects, config, nil)
	if err != nil {
		t.Fatal(err)
	}
	measured := set.Measured()
	config.Workers = 2
	again, err := Tasks(context.Background(), subjects, config, nil)
	if err != nil {
		t.Fatal(err)
	}
	if set.Measured() != measured {
		t.Errorf("%d profiles were measured, then %d", measured, set.Measured())
	}
	for i, task := range tasks {
		t.Logf("%s: budget %.3f times the SLO after %d runs", task.Name, task.Factor, task.Runs)
		if len(task.Train) != 7 || len(task.Test) != 3 || task.Verified != 1-i || (task.Runs > 0) != (i == 0) ||
			task.Factor != tasks[0].Factor {
			t.Errorf("%s: %d and %d samples, %d verified in %d runs", task.Name, len(task.Train), len(task.Test), task.Verified, task.Runs)
		}
		for j := range task.Train {
			s := &task.Train[j]
			if sum := s.Chain.Time(s.Shares); math.Abs(sum/s.Chain.Budget-1) > 1e-6 {
				t.Errorf("%s: a label sums to %v of %v", task.Name, sum, s.Chain.Budget)
			}
			if !slices.Equal(s.Shares, again[i].Train[j].Shares) {
				t.Errorf("%s: the same seed gave another label", task.Name)
			}
		}
	}
	for i := range 3 {
		deployed := set.Uniform(i)
		app := set.App(deployed)
		if v := app.Services[0].VersionCPU(); (v == 1) != (set.releases[i][0].cpu == 1) || len(app.Services[0].Versions) != 1 {
			t.Errorf("release %d: %+v", i+1, app.Services[0].Versions)
		}
	}
}

// queueChain has services that behave like queues: slow when busy.
func queueChain(steps int) slosplit.Chain {
	rng := rand.New(rand.NewPCG(1, 2))
	c := proportionalChain(rng, steps)
	least := 0.0
	for i := range c.Steps {
		s := &c.Steps[i]
		base, most := 0.002+0.02*rng.Float64(), 50+300*rng.Float64()
		s.Curve = &profile.Curve{}
		for _, part := range profileLoads[:len(profileLoads)-1] {
			s.Curve.Loads, s.Curve.Latencies = append(s.Curve.Loads, part*most), append(s.Curve.Latencies, base/(1-part))
		}
		s.Max = 20
		s.Load = most * (1 + 8*rng.Float64())
		least += s.Visits * s.LatencyWith(s.Fastest())
	}
	c.Budget = 2.5 * least
	return c
}

func BenchmarkSplit(b *testing.B) {
	tasks := proportionalTasks(1, 4, false)
	for _, way := range Ways() {
		m, _, err := Train(context.Background(), tasks, tasks, Config{Way: way, Most: 1}, nil)
		if err != nil {
			b.Fatal(err)
		}
		for _, steps := range []int{5, 12} {
			c := queueChain(steps)
			b.Run(fmt.Sprintf("%s/%d", way, steps), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := m.Split(&c); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkAdapt(b *testing.B) {
	tasks := proportionalTasks(1, 4, false)
	m, _, err := Train(context.Background(), tasks, tasks, Config{Way: "meta", Most: 1}, nil)
	if err != nil {
		b.Fatal(err)
	}
	for _, steps := range []int{5, 12} {
		c := queueChain(steps)
		b.Run(fmt.Sprintf("samples and steps/%d", steps), func(b *testing.B) {
			for b.Loop() {
				if _, err := NewAdaptive(m).Split(&c); err != nil {
					b.Fatal(err)
				}
			}
		})
		samples := Around(&c, AroundSamples, rand.New(rand.NewPCG(1, 1)))
		b.Run(fmt.Sprintf("steps/%d", steps), func(b *testing.B) {
			for b.Loop() {
				if _, err := m.Adapt(samples, 0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
