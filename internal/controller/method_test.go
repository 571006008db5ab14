package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/modelfile"
	"github.com/loadline/loadline/internal/pipeline"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/registry"
	"github.com/loadline/loadline/internal/resource"
	"github.com/loadline/loadline/internal/workload"
)

// A toy method: a bandit learns how busy replicas may be, and the policy keeps them so.
// It is known to nothing but policy.Register.
func init() {
	policy.Register(policy.Method{
		Name: "toy", About: "a bandit that learns how busy replicas may be",
		Options: func(*loadline.App) []policy.Option {
			return []policy.Option{{Key: "factor", Default: "1", About: "on the learned level", Check: policy.Number(0.1, 2)}}
		},
		Kind: "policy/toy",
		Open: func(file *modelfile.File) (policy.Model, error) {
			m := &toyModel{card: file.Card}
			return m, file.Card.TakeSettings(m)
		},
		NewFrom: func(m policy.Model, app *loadline.App, v policy.Values) (loadline.Policy, error) {
			return m.(*toyModel).policy(app, v.Float("factor"))
		},
		Search: []policy.Dimension{{Key: "factor", Coarse: []float64{0.8, 1, 1.2}, Step: 0.1}},
		Train:  trainToy,
	})
}

type toyModel struct {
	App   string  `json:"app"`
	Level float64 `json:"level"` // of the CPU limit, that is used
	card  modelfile.Card
}

var toyLevels = []float64{0.3, 0.45, 0.6, 0.75, 0.9}

// trainToy draws instants of the load and pays for replicas and for being too busy.
func trainToy(_ context.Context, t policy.Task) (*policy.Trained, error) {
	rng := rand.New(rand.NewPCG(t.Seed, 1))
	service := &t.Scenario.App.Services[0]
	worth, tried := make([]float64, len(toyLevels)), make([]float64, len(toyLevels))
	trained := &policy.Trained{Parameters: len(toyLevels), Curves: make([]policy.Curve, 1)}
	for step := range t.Steps {
		arm := slices.Index(worth, slices.Max(worth))
		if tried[arm] == 0 || rng.IntN(5) == 0 {
			arm = rng.IntN(len(toyLevels))
		}
		rate, _ := t.Scenario.Load.Rate(0, time.Duration(rng.Int64N(int64(t.Scenario.Duration))))
		cores := rate * service.CPU.Mean.Seconds()
		n := max(math.Ceil(cores/(toyLevels[arm]*service.Size.CPULimit)), 1)
		reward := 1 - n/float64(service.Bounds.MaxReplicas)
		if cores > 0.7*n*service.Size.CPULimit {
			reward--
		}
		tried[arm]++
		worth[arm] += t.Rate * (reward - worth[arm]) / tried[arm]
		if step%max(t.Steps/5, 1) == 0 {
			trained.Curves[0].Points = append(trained.Curves[0].Points,
				policy.Point{Steps: step, Return: reward, Evaluation: slices.Max(worth), CommonReward: math.NaN()})
		}
		t.Progress(float64(step+1) / float64(t.Steps))
	}
	trained.Model = &toyModel{
		App: t.Scenario.App.Name, Level: toyLevels[slices.Index(worth, slices.Max(worth))],
		card: modelfile.Card{Training: modelfile.Training{Data: t.Scenario.Source, Samples: t.Steps, Seed: t.Seed}},
	}
	return trained, nil
}

func (m *toyModel) Method() string     { return "toy" }
func (m *toyModel) TrainedFor() string { return m.App }
func (m *toyModel) About() policy.About {
	return policy.About{Formulation: "keep replicas as busy as was learned", Every: "15s", Absent: "nothing is done",
		Services: []string{"the first"}}
}

func (m *toyModel) File(results []modelfile.Result) (*modelfile.File, error) {
	card := m.card
	card.Kind = "policy/toy"
	if len(results) > 0 {
		card.Results = results
	}
	var err error
	card.Settings, err = json.Marshal(m)
	return modelfile.New(card), err
}

func (m *toyModel) Policy(app *loadline.App) (loadline.Policy, error) { return m.policy(app, 1) }

func (m *toyModel) policy(app *loadline.App, factor float64) (loadline.Policy, error) {
	if len(app.Services) != 1 {
		return nil, fmt.Errorf("a toy decides for one service, %s has %d", app.Name, len(app.Services))
	}
	return &toyPolicy{m.Level * factor}, nil
}

type toyPolicy struct{ level float64 }

func (p *toyPolicy) Name() string { return "toy" }
func (p *toyPolicy) Needs() loadline.Needs {
	return loadline.Needs{Period: 15 * time.Second, Scrape: 15 * time.Second, Window: 30 * time.Second, Keep: 1, Delay: time.Second}
}

func (p *toyPolicy) Decide(_ time.Time, s loadline.Situation) (loadline.Proposal, error) {
	cpu := s.Window[len(s.Window)-1].Services[0].CPU
	if !cpu.Present() {
		return loadline.Proposal{}, loadline.ErrNoData
	}
	n := max(int(math.Ceil(cpu.Value/(p.level*s.Allocation[0].Size.CPULimit))), 1)
	return loadline.Proposal{Services: []loadline.ServiceProposal{{Service: 0,
		Setting: loadline.Setting{Replicas: loadline.Some(n)}}}}, nil
}

// TestAMethodIsAddedByRegisteringIt takes the toy from its training to the controller.
func TestAMethodIsAddedByRegisteringIt(t *testing.T) {
	model, err := apps.Load("single")
	if err != nil {
		t.Fatal(err)
	}
	w, err := workload.Parse("diurnal:low=40,high=180,period=1h,peak=20m+noise:cv=0.05", 2*time.Hour, 15*time.Second, 1)
	if err != nil {
		t.Fatal(err)
	}
	subject, err := pipeline.FromApp(t.Context(), model.App, w, pipeline.Model{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	folder := trainToys(t, subject)
	path := folder.ModelPath("toy-1")

	if err := bench.CheckCalibration("toy:file="+path, model.App); err != nil {
		t.Error(err)
	}
	e, err := pipeline.Evaluate(t.Context(), folder, pipeline.EvaluationSettings{
		Candidate: "toy-1", Seeds: 1, Stretch: 5 * time.Minute, Program: "test", Workers: 2, Baselines: []string{"hpa",
			"tuned: toy:file=" + path + "@calibrated"},
	})
	if err != nil {
		t.Fatal(err)
	}
	entry := e.Entry("toy-1")
	if entry == nil || entry.Role != pipeline.RoleCandidate || entry.Method != "toy" || !(entry.PerMonth > 0) ||
		len(e.Selection.Entries) != 4 || e.Entry("tuned").Policy == "" {
		t.Fatalf("%+v", e)
	}

	models := t.TempDir()
	promoted, err := registry.Open(filepath.Join(models, "registry")).Promote(registry.Offer{App: folder.App, Model: path,
		SHA256: entry.SHA256, Promotion: registry.Promotion{
			Candidate: "toy-1", Verdict: e.Verdict.Sentence, At: noon, Results: []modelfile.Result{{Name: "USD a month",
				On: "held-out history", Value: float64(entry.PerMonth)}},
		}})
	if err != nil || promoted.Formulation != "toy" || promoted.Training.Samples != 200 {
		t.Fatalf("%+v, %v", promoted, err)
	}
	followToy(t, models, folder.App)
}

// trainToys trains two candidates into a folder, and opens it as evaluate does.
func trainToys(t *testing.T, subject *pipeline.Subject) *pipeline.Folder {
	t.Helper()
	candidates, err := pipeline.LineUp([]string{"toy"}, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range candidates {
		candidates[i].Steps = 200
	}
	dir := t.TempDir()
	folder, err := pipeline.Begin(dir, "test", subject, candidates, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := pipeline.TrainEach(t.Context(), subject, candidates, pipeline.Each{Workers: 1, Done: folder.Keep}); err != nil {
		t.Fatal(err)
	}
	if folder, err = pipeline.OpenRun(dir); err != nil || folder.Missing() != 0 {
		t.Fatalf("%v", err)
	}
	have, err := folder.Have()
	if err != nil || have["toy-1"].(*toyModel).Level < 0.3 || len(folder.Candidates[0].Curves) != 1 {
		t.Fatalf("%+v, %v", have, err)
	}
	return folder
}

// followToy lets the controller find the promoted model, and asks it.
func followToy(t *testing.T, dir string, app *loadline.App) {
	t.Helper()
	l := &v1alpha1.LoadLine{}
	l.Name = app.Name
	l.Spec.Policy.Model = &v1alpha1.Model{Folder: "registry"}
	d := models{named{}, dir, &resource.Application{App: app}}.find(t.Context(), l, noon)
	if d.policy == nil || d.name != app.Name+" version 1" {
		t.Fatalf("%+v", d)
	}
	service := &app.Services[0]
	s := loadline.Situation{
		App: app, Window: []loadline.Observation{{At: noon, Services: make([]loadline.ServiceObservation, 1)}},
		Allocation: []loadline.Allocation{{Replicas: 1, Size: service.Size}},
	}
	if _, err := d.policy.Decide(noon, s); !errors.Is(err, loadline.ErrNoData) {
		t.Errorf("without data: %v", err)
	}
	s.Window[0].Services[0].CPU = loadline.Sample{Value: 4 * service.Size.CPULimit, At: noon}
	p, err := d.policy.Decide(noon, s)
	if err != nil || len(p.Services) != 1 || p.Services[0].Setting.Replicas.Value < 4 {
		t.Errorf("%+v, %v", p, err)
	}
}
