package registry

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/forecast"
	"github.com/loadline/loadline/internal/modelfile"
	"github.com/loadline/loadline/internal/nn"
	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/policy/msars"
	"github.com/loadline/loadline/internal/profile"
	"github.com/loadline/loadline/internal/rl"
)

// writeDRPC makes an untrained teacher and student.
func writeDRPC(t testing.TB, app *loadline.App, seed uint64) string {
	t.Helper()
	encoder, err := drpc.NewEncoder(app)
	if err != nil {
		t.Fatal(err)
	}
	teacher, err := nn.MLP{Inputs: []int{encoder.Width(drpc.Shared) / len(app.Services)}, Hidden: []int{4}, Outputs: drpc.Axes,
		Output: nn.Tanh}.Design().Build(nn.HeUniform, rl.NewRNG(seed, 1).Rand)
	if err != nil {
		t.Fatal(err)
	}
	m := &drpc.Model{
		App: app.Name, Kind: drpc.Continuous, Shape: drpc.Shared, Teacher: teacher, Period: 30 * time.Second, Version: 1,
		Pace:  drpc.DefaultPace(),
		Steps: drpc.DefaultSteps(), Reward: drpc.DefaultReward(), Notifier: drpc.DefaultNotifier(), Visits: drpc.NewVisitCounts(),
		Training: modelfile.Training{Data: "shop under day, 24h0m0s", Samples: 10, Seed: seed},
		Results:  []modelfile.Result{{Name: "reward", On: "simulation", Value: 0.9}},
	}
	for i := range app.Services {
		s, err := drpc.NewStudent(app.Services[i].Name, drpc.StudentConfig(), seed)
		if err != nil {
			t.Fatal(err)
		}
		m.Services, m.Students, m.Forecasts = append(m.Services, app.Services[i].Name), append(m.Students, s.Net()), append(m.Forecasts,
			nil)
	}
	path := filepath.Join(t.TempDir(), "drpc.safetensors")
	if err := m.Write(path); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestStudentsArePromoted(t *testing.T) {
	r := Open(filepath.Join(t.TempDir(), "registry"))
	o := offer(writeDRPC(t, shop(), 1), "drpc")
	o.Promotion.Results = nil
	p, err := r.Promote(o)
	if err != nil || p.Formulation != "drpc" || p.Version != 1 {
		t.Fatalf("%+v, %v", p, err)
	}
	_, path, err := r.Current("shop")
	if err != nil {
		t.Fatal(err)
	}
	if m, err := drpc.Open(path); err != nil || len(m.Students) != 1 || len(m.Results) != 1 {
		t.Errorf("the training results are lost: %+v, %v", m, err)
	}
	card, err := os.ReadFile(filepath.Join(filepath.Dir(path), CardFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a student for each service", "| trained on | shop under day, 24h0m0s |", "10s to 1m0s",
		"| latency_p99 |", "- web"} {
		if !strings.Contains(string(card), want) {
			t.Errorf("%q is not in the card:\n%s", want, card)
		}
	}
	// The two kinds alternate.
	if p, err = r.Promote(offer(writeModel(t, "a", "shop", 1), "one")); err != nil || p.Version != 2 || p.Former != 1 {
		t.Fatalf("%+v, %v", p, err)
	}
	if p, err = r.Rollback("shop", noon); err != nil || p.Version != 1 {
		t.Errorf("%+v, %v", p, err)
	}
}

// writeSteered makes an untrained MSARS agent.
func writeSteered(t testing.TB, app *loadline.App, way string) string {
	t.Helper()
	encoder, err := drpc.NewEncoder(app)
	if err != nil {
		t.Fatal(err)
	}
	width := encoder.Width(drpc.Shared)/len(app.Services) + len(msars.Features)
	actor, err := nn.MLP{Inputs: []int{width}, Hidden: []int{4}, Outputs: drpc.Axes, Output: nn.Tanh}.Design().Build(nn.HeUniform,
		rl.NewRNG(1, 1).Rand)
	if err != nil {
		t.Fatal(err)
	}
	m := &msars.Model{
		App: app.Name, Actor: actor, Division: msars.Division{Way: way}, Period: 30 * time.Second, Steps: drpc.DefaultSteps(),
		Reward:   drpc.DefaultReward(),
		Training: modelfile.Training{Data: "shop under day, 24h0m0s", Samples: 10, Seed: 1},
		Results:  []modelfile.Result{{Name: "mean reward", On: "simulation", Value: 0.9}},
	}
	if way != msars.None {
		m.Division.Profiles = &profile.Set{App: app.Name}
	}
	for i := range app.Services {
		s := &app.Services[i]
		m.Services, m.Forecasts = append(m.Services, s.Name), append(m.Forecasts, (*forecast.GRU)(nil))
		if way != msars.None {
			m.Division.Profiles.Profiles = append(m.Division.Profiles.Profiles, profile.Profile{
				Service: s.Name, Size: profile.Size(s.Size), Percentile: 99,
				Points: []profile.Point{{Load: 1, Latency: 0.01}, {Load: 40, Latency: 0.2}, {Load: 50, Saturated: true}},
			})
		}
	}
	path := filepath.Join(t.TempDir(), "msars.safetensors")
	if err := m.Write(path); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestThoseWhoSteerByPartsArePromoted(t *testing.T) {
	for way, wants := range map[string][]string{
		"parslo": {"scales each of them to its part", "| splits by | parslo |", "| profiles | web p99 at 1 cores |",
			"| need | replicas that keep the part", "| partial_slo |", "all are left as they are"},
		msars.None: {"| splits by | nothing: every service is held to the users' SLO |", "| profiles | none |"},
	} {
		r := Open(filepath.Join(t.TempDir(), "registry"))
		o := offer(writeSteered(t, shop(), way), "msars")
		o.Promotion.Results = nil
		p, err := r.Promote(o)
		if err != nil || p.Formulation != "msars" || p.Version != 1 || p.Training.Samples != 10 {
			t.Fatalf("%+v, %v", p, err)
		}
		_, path, err := r.Current("shop")
		if err != nil {
			t.Fatal(err)
		}
		m, err := msars.Open(path)
		if err != nil || m.Division.Way != way || len(m.Results) != 1 {
			t.Errorf("the training results are lost: %+v, %v", m, err)
		}
		card, err := os.ReadFile(filepath.Join(filepath.Dir(path), CardFile))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range append(wants, "| decides every | 30s |", "| trained on | shop under day, 24h0m0s |",
			"| latency_p99 | response time", "- web") {
			if !strings.Contains(string(card), want) {
				t.Errorf("%q is not in the card:\n%s", want, card)
			}
		}
		if o = offer(writeSteered(t, shop(), way), "again"); o.Promotion.Results[0].Name != "core-hours" {
			t.Fatal("the offer has no results")
		}
		if p, err = r.Promote(o); err != nil || p.Version != 2 {
			t.Fatalf("%+v, %v", p, err)
		}
		if _, path, err = r.Current("shop"); err != nil {
			t.Fatal(err)
		}
		if m, err = msars.Open(path); err != nil || m.Results[0].Name != "core-hours" {
			t.Errorf("the card was not completed: %+v, %v", m, err)
		}
	}
}

func TestWhatDecidesNothingIsNotPromoted(t *testing.T) {
	other := shop()
	other.Name = "store"
	forecaster := filepath.Join(t.TempDir(), "gru.safetensors")
	if err := modelfile.New(modelfile.Card{Kind: "forecast/gru"}).Write(forecaster); err != nil {
		t.Fatal(err)
	}
	larger := shop()
	larger.Services = append(larger.Services, larger.Services[0])
	larger.Services[1].Name = "store"
	for _, row := range []struct{ name, path, want string }{
		{"a forecaster", forecaster, `kind "forecast/gru", which decides nothing`},
		{"students of another application", writeDRPC(t, other, 1), "trained for store, this is shop"},
		{"one that steers another application", writeSteered(t, other, "parslo"), "trained for store, this is shop"},
		{"one that steers more services", writeSteered(t, larger, "parslo"), "shop has no store; train one for it"},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := Open(filepath.Join(t.TempDir(), "registry"))
			if _, err := r.Promote(offer(row.path, "x")); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%v, want %q", err, row.want)
			}
		})
	}
}
