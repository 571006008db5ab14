package controller

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/forecast"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/nn"
	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/policy/msars"
	"github.com/loadline/loadline/internal/profile"
	"github.com/loadline/loadline/internal/registry"
	"github.com/loadline/loadline/internal/rl"
)

// promoteSteered promotes an agent for an application that wants more replicas of
// everything, and names the services in another order than that.
func (c *classroom) promoteSteered(app loadline.App) {
	c.t.Helper()
	app.Name = "shop"
	eyes, err := drpc.NewEncoder(&app)
	if err != nil {
		c.t.Fatal(err)
	}
	width := eyes.Width(drpc.Shared)/len(app.Services) + len(msars.Features)
	actor, err := nn.MLP{Inputs: []int{width}, Hidden: []int{4}, Outputs: drpc.Axes, Output: nn.Tanh}.Design().Build(nn.HeUniform,
		rl.NewRNG(1, 1).Rand)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, tensor := range actor.Tensors() {
		clear(tensor.Data)
		if len(tensor.Data) == drpc.Axes { // the last biases
			tensor.Data[drpc.AxisHorizontal] = 3
		}
	}
	m := &msars.Model{
		App: app.Name, Actor: actor, Division: msars.Division{Way: "parslo",
			Profiles: &profile.Set{App: app.Name}}, Period: 30 * time.Second,
		Steps: drpc.DefaultSteps(), Reward: drpc.DefaultReward(), Forecasts: make([]*forecast.GRU, len(app.Services)),
	}
	for _, s := range slices.Backward(app.Services) {
		m.Services = append(m.Services, s.Name)
		for _, cores := range []float64{0.25, 1} {
			m.Division.Profiles.Profiles = append(m.Division.Profiles.Profiles, profile.Profile{
				Service: s.Name, Percentile: 99, Size: profile.Size{CPURequest: cores, CPULimit: cores},
				Points: []profile.Point{{Load: 1, Latency: 0.01 / cores}, {Load: 60 * cores, Latency: 0.02 / cores},
					{Load: 80 * cores, Saturated: true}},
			})
		}
	}
	path := filepath.Join(c.t.TempDir(), "msars.safetensors")
	if err := m.Write(path); err != nil {
		c.t.Fatal(err)
	}
	if _, err := registry.Open(filepath.Join(c.models, "registry")).Promote(registry.Offer{App: &app, Model: path,
		Promotion: registry.Promotion{Candidate: "msars", At: noon}}); err != nil {
		c.t.Fatal(err)
	}
}

// dimmed are metrics of which something is taken away.
type dimmed struct {
	*classroom
	hide func(*loadline.Observation)
}

// Observe implements metering.
func (d dimmed) Observe(ctx context.Context, now time.Time, pods [][]string, into *loadline.Observation) error {
	err := d.classroom.Observe(ctx, now, pods, into)
	d.hide(into)
	return err
}

func (c *classroom) dim(hide func(*loadline.Observation)) {
	c.app.cluster.source = func(context.Context, time.Time) (metering, error) { return dimmed{c, hide}, nil }
}

func TestAPromotedAgentSteersByPartsOfTheObjective(t *testing.T) {
	for _, row := range []struct {
		name, want string
		hide       func(*loadline.Observation)
	}{
		{"everything is measured", "), split anew since it is the first", func(*loadline.Observation) {}},
		{"requests are not told apart", "split anew since it is the first (page by their shares of what productpage is asked)",
			func(o *loadline.Observation) {
				for k := range o.Kinds {
					o.Kinds[k].Rate = loadline.Sample{}
				}
			}},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := newClass(t, v1alpha1.Act)
			c.promoteSteered(*c.twin)
			c.open(nil)
			c.dim(row.hide)
			c.live(10)
			if rung := c.app.ladder.State(); rung.Rung != guard.Primary {
				t.Fatalf("on %v: %s", rung.Rung, rung.Why)
			}
			if last := c.views[len(c.views)-1]; last.policy != "shop version 1" {
				t.Errorf("%q is followed", last.policy)
			}
			first := c.views[0]
			for i := range first.services {
				if why := first.services[i].reason; !strings.Contains(why, "of its part p99 ") || !strings.Contains(why, row.want) {
					t.Errorf("%s: %q", c.app.App.Services[i].Name, why)
				}
			}
			if len(c.acts) == 0 {
				t.Error("nothing was done")
			}
			c.end()
		})
	}
}

// TestAnAgentThatIsBlindGivesWayToTheRule, with the reason.
func TestAnAgentThatIsBlindGivesWayToTheRule(t *testing.T) {
	for _, row := range []struct {
		name, want string
		change     func(c *classroom)
	}{
		{"no memory is measured", "memory_request of productpage was not measured", func(c *classroom) {
			c.dim(func(o *loadline.Observation) { o.Services[0].Memory = loadline.Sample{} })
		}},
		{"no requests are", "no request of page was counted, nor what productpage is asked", func(c *classroom) {
			c.dim(func(o *loadline.Observation) {
				o.Kinds[0].Rate, o.Services[0].Rate = loadline.Sample{}, loadline.Sample{}
			})
		}},
		{"a workload has no limits", "profile of details at p99 without a CPU limit, only with one: set the limits of its workload",
			func(c *classroom) {
				c.states[1].Template.CPULimit = 0
			}},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := newClass(t, v1alpha1.Act)
			c.promoteSteered(*c.twin)
			c.open(nil)
			row.change(c)
			c.live(60)
			if s := c.app.ladder.State(); s.Rung != guard.Rule || !strings.Contains(s.Why, row.want) {
				t.Errorf("on %v: %s", s.Rung, s.Why)
			}
			if v := fallbackVerdict(c.app.ladder.State(), c.app.model); v.reason != v1alpha1.ReasonModelNoData {
				t.Errorf("%+v", v)
			}
			c.end()
		})
	}
}

func TestAgentsThatDoNotFitAreRefused(t *testing.T) {
	for _, row := range []struct {
		name, want string
		change     func(c *classroom)
	}{
		{"without a twin", "none are known to productpage, details, reviews, ratings: name the twin that the model was trained on in spec.twin", func(c *classroom) {
			c.promoteSteered(*c.twin)
			c.twin = nil
		}},
		{"of another application", "has no basket and besides ratings; train one for it", func(c *classroom) {
			other := *c.twin
			other.Services = slices.Clone(other.Services)
			other.Services[3].Name = "basket"
			c.promoteSteered(other)
		}},
		{"trained for another percentile", "profile of productpage at p95, only at p99: the model was trained with other objectives",
			func(c *classroom) {
				c.promoteSteered(*c.twin)
				c.l = load(c.t, strings.ReplaceAll(strings.ReplaceAll(taught, "MODE", "Act"), "latency: 250ms",
					`latency: 250ms, percentile: "95"`))
			}},
		{"torn", "is not the model that was promoted", func(c *classroom) {
			c.promoteSteered(*c.twin)
			if err := os.Truncate(filepath.Join(c.models, "registry", "shop", "0001", "model.safetensors"), 1000); err != nil {
				c.t.Fatal(err)
			}
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := newClass(t, v1alpha1.Act)
			row.change(c)
			c.open(nil)
			if m := c.app.model; m.policy != nil || m.reason != v1alpha1.ReasonModelInvalid || !strings.Contains(m.why, row.want) {
				t.Errorf("%s: %s", m.reason, m.why)
			}
			c.live(2)
			if rung := c.app.ladder.State().Rung; rung != guard.Rule {
				t.Errorf("on %v", rung)
			}
			c.end()
		})
	}
}
