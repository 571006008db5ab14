package msars

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/forecast"
	"github.com/loadline/loadline/internal/nn"
	"github.com/loadline/loadline/internal/policy/drpc"
)

// wild is a model with an untrained agent, whose actions depend on all inputs, and with a
// forecaster of the search only.
func wild(t *testing.T, app *loadline.App) *Model {
	t.Helper()
	m := single(t, app, drpc.Action{})
	net, err := m.Actor.Design().Build(nn.HeUniform, rand.New(rand.NewPCG(7, 7)))
	if err != nil {
		t.Fatal(err)
	}
	m.Actor = net
	visits := make([]float64, 200)
	for i := range visits {
		visits[i] = 30 + float64(i%17)
	}
	gru, err := forecast.NewGRU(drpc.ForecastTask(), forecast.GRUConfig{Window: 5, Hidden: 4, Members: 1, Epochs: 1, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := gru.Fit(t.Context(), forecast.NewFrame("visits", noon, drpc.ForecastStep, visits)); err != nil {
		t.Fatal(err)
	}
	m.Forecasts[app.ServiceIndex("search")] = gru
	return m
}

// reordered is the same application with its services in reverse order.
func reordered(from *loadline.App) *loadline.App {
	app := *from
	app.Services = slices.Clone(from.Services)
	slices.Reverse(app.Services)
	last := len(app.Services) - 1
	var move func(c loadline.Call) loadline.Call
	move = func(c loadline.Call) loadline.Call {
		c.Service = last - c.Service
		stages := c.Stages
		c.Stages = nil
		for _, stage := range stages {
			var calls []loadline.Call
			for i := range stage {
				calls = append(calls, move(stage[i]))
			}
			c.Stages = append(c.Stages, calls)
		}
		return c
	}
	app.Kinds = slices.Clone(from.Kinds)
	for k := range app.Kinds {
		app.Kinds[k].Root = move(app.Kinds[k].Root)
	}
	return &app
}

// TestServicesMayComeInAnyOrder, as those of a twin do: each gets the same setting.
func TestServicesMayComeInAnyOrder(t *testing.T) {
	app := shop()
	other := reordered(app)
	m := wild(t, app)
	straight, turned := policy(t, m, app), policy(t, m, other)
	s := calm(app)
	moved := 0
	for at := range 20 {
		now, here := later(s, at)
		there := here
		there.App = other
		there.Window = slices.Clone(here.Window)
		there.Window[0].Services = slices.Clone(here.Window[0].Services)
		there.Allocation, there.InFlight = slices.Clone(here.Allocation), slices.Clone(here.InFlight)
		slices.Reverse(there.Window[0].Services)
		slices.Reverse(there.Allocation)
		slices.Reverse(there.InFlight)
		want, err := decide(straight, now, here)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decide(turned, now, there)
		if err != nil || len(got.Services) != len(want.Services) {
			t.Fatalf("%+v, %v, want %+v", got, err, want)
		}
		for _, w := range want.Services {
			name := app.Services[w.Service].Name
			i := slices.IndexFunc(got.Services, func(p loadline.ServiceProposal) bool { return other.Services[p.Service].Name == name })
			if i < 0 || got.Services[i].Setting != w.Setting || got.Services[i].Reason != w.Reason {
				t.Fatalf("%s in decision %d: %+v, want %+v", name, at, got.Services, w)
			}
			moved++
		}
	}
	if moved == 0 {
		t.Fatal("nothing was ever wanted, so nothing was compared")
	}
	search := func(p *Policy, app *loadline.App) []loadline.Sample {
		return p.Forecast(noon, s.Window)[app.ServiceIndex("search")].Median
	}
	if want, got := search(straight, app), search(turned, other); len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("the search's forecast is %v, want %v", got, want)
	}
}

func TestOtherApplicationsAreRefused(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(app *loadline.App)
		want   []string
	}{
		{"another name", func(app *loadline.App) { app.Services[1].Name = "basket" },
			[]string{"shop has no cart and besides basket; train one for it", "spec.twin"}},
		{"one more", func(app *loadline.App) { app.Services = append(app.Services, loadline.Service{Name: "mail"}) },
			[]string{"the services of shop, shop has besides mail; train one"}},
		{"no objectives", func(app *loadline.App) {
			app.Kinds[0].SLO, app.Kinds[1].SLO = loadline.SLO{}, loadline.SLO{}
		}, []string{"no kind of request of shop has an SLO"}},
		{"another percentile", func(app *loadline.App) { app.Kinds[1].SLO.Percentile = 95 }, []string{
			"profile of front at p95, only at p99: the model was trained with other objectives", "profile of search at p95",
		}},
		{"no limits", func(app *loadline.App) { app.Services[2].Size.CPULimit = 0 },
			[]string{"profile of search at p99 without a CPU limit, only with one: "}},
	} {
		t.Run(row.name, func(t *testing.T) {
			m, app := single(t, shop(), drpc.Action{}), shop()
			row.change(app)
			_, err := NewPolicy(m, app, 0)
			for _, want := range row.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v does not say %q", err, want)
				}
			}
		})
	}
	app := shop()
	app.Kinds[0].SLO.Latency = 2 * time.Second // the SLO may differ
	policy(t, single(t, shop(), drpc.Action{}), app)
}
