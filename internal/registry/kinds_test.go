package registry

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/drpc"
	"github.com/loadline/loadline/internal/modelfile"
	"github.com/loadline/loadline/internal/nn"
	"github.com/loadline/loadline/internal/rl"
)

// writeSchool makes a teacher and a student that never learned anything.
func writeSchool(t *testing.T, app *loadline.App, seed uint64) string {
	t.Helper()
	eyes, err := drpc.NewEyes(app)
	if err != nil {
		t.Fatal(err)
	}
	teacher, err := nn.MLP{Inputs: []int{eyes.Width(drpc.Shared) / len(app.Services)}, Hidden: []int{4}, Outputs: drpc.Axes, Output: nn.Tanh}.Design().Build(nn.HeUniform, rl.NewChance(seed, 1).Rand)
	if err != nil {
		t.Fatal(err)
	}
	m := &drpc.Model{
		App: app.Name, Kind: drpc.Continuous, Shape: drpc.Shared, Teacher: teacher, Period: 30 * time.Second, Version: 1, Pace: drpc.DefaultPace(),
		Steps: drpc.DefaultSteps(), Reward: drpc.DefaultReward(), Notifier: drpc.DefaultNotifier(), Seen: drpc.NewSeen(),
		Training: modelfile.Training{Data: "shop under day, 24h0m0s", Samples: 10, Seed: seed},
		Results:  []modelfile.Result{{Name: "reward", On: "school", Value: 0.9}},
	}
	for i := range app.Services {
		s, err := drpc.NewStudent(app.Services[i].Name, drpc.StudentConfig(), seed)
		if err != nil {
			t.Fatal(err)
		}
		m.Services, m.Students, m.Forecasts = append(m.Services, app.Services[i].Name), append(m.Students, s.Net()), append(m.Forecasts, nil)
	}
	path := filepath.Join(t.TempDir(), "drpc.safetensors")
	if err := m.Write(path); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestStudentsArePromoted(t *testing.T) {
	r := Open(filepath.Join(t.TempDir(), "registry"))
	o := offer(writeSchool(t, shop(), 1), "drpc")
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
		t.Errorf("what the school found is gone: %+v, %v", m, err)
	}
	card, err := os.ReadFile(filepath.Join(filepath.Dir(path), cardFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a student for each service", "| trained on | shop under day, 24h0m0s |", "10s to 1m0s", "| latency_p99 |", "- web"} {
		if !strings.Contains(string(card), want) {
			t.Errorf("%q is not in the card:\n%s", want, card)
		}
	}
	// The two kinds take turns.
	if p, err = r.Promote(offer(writeModel(t, "a", "shop", 1), "one")); err != nil || p.Version != 2 || p.Former != 1 {
		t.Fatalf("%+v, %v", p, err)
	}
	if p, err = r.Rollback("shop", noon); err != nil || p.Version != 1 {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestWhatDecidesNothingIsNotPromoted(t *testing.T) {
	other := shop()
	other.Name = "store"
	forecaster := filepath.Join(t.TempDir(), "gru.safetensors")
	if err := modelfile.New(modelfile.Card{Kind: "forecast/gru"}).Write(forecaster); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ name, path, want string }{
		{"a forecaster", forecaster, `kind "forecast/gru", which decides nothing`},
		{"students of another application", writeSchool(t, other, 1), "trained for store, this is shop"},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := Open(filepath.Join(t.TempDir(), "registry"))
			if _, err := r.Promote(offer(row.path, "x")); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%v, want %q", err, row.want)
			}
		})
	}
}
