package msars

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/loadline/loadline/internal/slosplit"
	"github.com/loadline/loadline/internal/slosplit/learned"
)

// network is a splitter, briefly trained on chains of the shop's profiles.
func network(t *testing.T, way string) *learned.Model {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 1))
	var tasks []learned.Task
	for k := range 4 {
		task := learned.Task{Name: fmt.Sprint(k)}
		for i := range 12 {
			chain := slosplit.Chain{Kind: "buy", Percentile: 99, Budget: 0.5 + 0.5*rng.Float64(), Calls: [][2]int{{0, 1}}}
			for s := range 2 {
				p := profileOf(fmt.Sprint(s), 0.3+0.5*rng.Float64(), 99)
				curve, err := p.Curve()
				if err != nil {
					t.Fatal(err)
				}
				chain.Steps = append(chain.Steps, slosplit.Step{Service: s, Name: fmt.Sprint(s), Visits: 1, Load: 20 + 40*rng.Float64(),
					Cost: 0.5, Min: 1, Max: 10, Curve: curve})
			}
			shares, err := learned.Label(&chain)
			if err != nil {
				t.Fatal(err)
			}
			if sample := (learned.Sample{Chain: chain, Shares: shares}); i < 8 {
				task.Train = append(task.Train, sample)
			} else {
				task.Test = append(task.Test, sample)
			}
		}
		tasks = append(tasks, task)
	}
	m, _, err := learned.Train(t.Context(), tasks, tasks, learned.Config{Way: way, Most: 40}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestNetworksSplit(t *testing.T) {
	app := shop()
	for _, way := range []string{"gcn", "meta"} {
		net := network(t, way)
		d := divided(t, app, Division{Way: way, Net: net, Profiles: profiles(app)}, calm(app))
		p := d.Parts()
		if buy, find := p[0].Own+p[1].Own, p[0].Own+p[2].Own; buy > 0.6+1e-6 || find > 0.5+1e-6 || math.Min(p[1].Own, p[2].Own) <= 0 {
			t.Errorf("%s: %+v", way, p)
		}
		if _, err := NewDivider(app, Division{Way: map[string]string{"gcn": "meta", "meta": "gcn"}[way], Net: net,
			Profiles: profiles(app)}, window); err == nil {
			t.Errorf("a network of %s splits by another way", way)
		}
	}
}

func TestMetaAdaptsToPathsAndReleases(t *testing.T) {
	app := shop()
	s := calm(app)
	d := divided(t, app, Division{Way: "meta", Net: network(t, "meta"), Profiles: profiles(app)}, s)
	for _, step := range []struct {
		name   string
		change func()
		want   int // networks adapted so far
	}{
		{"two paths", func() {}, 2},
		{"another size", func() { s.InFlight[1].Size.CPULimit = 0.8 }, 2},
		{"more load", func() { s.Window[0].Kinds[0].Rate.Value = 35 }, 2},
		{"a release behind one path", func() { d.Released(1, 1.4) }, 3},
		{"a release of the front end", func() { d.Released(0, 0.8) }, 5},
	} {
		step.change()
		if _, err := d.Update(noon, s.Now(), s.InFlight); err != nil {
			t.Fatal(err)
		}
		if d.adapt.adapted != step.want {
			t.Errorf("%s: %d networks adapted, want %d", step.name, d.adapt.adapted, step.want)
		}
	}
}
