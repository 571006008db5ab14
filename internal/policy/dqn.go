package policy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/modelfile"
	"github.com/loadline/loadline/internal/rl"
	"github.com/loadline/loadline/internal/train"
)

// modelMethod reads the models of all formulations: the file says which one it is of.
var modelMethod = Method{
	Name:  "model",
	About: "a policy that DQN learned in one of the formulations, from its model file",
	Kind:  formulation.Kind,
	Open: func(file *modelfile.File) (Model, error) {
		m, err := formulation.FromFile(file)
		return dqnModel{m}, err
	},
}

// dqnMethods are the formulations that DQN can be trained in.
func dqnMethods() []Method {
	var all []Method
	for _, form := range formulation.Formulations() {
		all = append(all, Method{
			Name: form.Name, About: form.About, ReadBy: modelMethod.Name, TakesShares: true,
			Variant: func(n int) (Variant, error) { return newDQNVariant(form.Name, n).asVariant() },
			CheckSettings: func(settings []byte) error {
				v, err := readDQNVariant(form.Name, settings)
				if err == nil {
					_, err = v.problem(form.Name, nil)
				}
				return err
			},
			Train: func(ctx context.Context, t Task) (*Trained, error) { return trainDQN(ctx, form.Name, t) },
		})
	}
	return all
}

// DQNVariant is how DQN is trained in a formulation: what several models of one
// formulation differ by besides their seeds.
type DQNVariant struct {
	Params    map[string]float64 `json:"params,omitempty"` // of the reward
	Period    time.Duration      `json:"period_ns,omitempty"`
	Linear    bool               `json:"linear"`    // trains on ENV1, Scaling-Ops' linear model, instead of the simulated cluster
	Bootstrap bool               `json:"bootstrap"` // learns from the recorded autoscaler's actions before it acts
	Agent     rl.DQNConfig       `json:"agent"`

	from int
}

// problem that is to be solved.
func (v DQNVariant) problem(name string, shares *formulation.Shares) (*formulation.Problem, error) {
	p, err := formulation.NewProblem(name, v.Period, v.Params)
	if err != nil {
		return nil, err
	}
	p.Shares = shares
	return p, nil
}

// newDQNVariant is the n-th of a formulation, from 1.
func newDQNVariant(name string, n int) DQNVariant {
	v := DQNVariant{Params: map[string]float64{}, Agent: train.AgentOf(name)}
	pick := func(key string, values ...float64) { v.Params[key] = values[(n-1)%len(values)] }
	switch name {
	case "scaling-ops":
		v.Linear = true
		pick("weight", 0.3, 0.3, 0.1, 0.05)
		if n == 2 { // Model 2 starts from Model 1's weights
			v.from = 1
		}
		if n > 2 {
			v.Agent.Discount = 0.99
		}
	case "elastic-dqn":
		pick("cost", 1, 0.3, 3, 0.1)
	case "serverless-horizontal", "serverless-vertical":
		v.Bootstrap = true
		pick("cpu", 1, 3, 0.3)
	case "loadline-dqn":
		pick("over", 1, 0.5, 2, 0.7, 1.5)
		if n%2 == 0 {
			v.Agent.Discount = 0.95
		}
	}
	return v
}

// asVariant converts it for the registry.
func (v DQNVariant) asVariant() (Variant, error) {
	settings, err := json.Marshal(v)
	return Variant{Settings: settings, About: v.about(), From: v.from}, err
}

// about describes what distinguishes a variant.
func (v DQNVariant) about() string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(v.Params)) {
		words = append(words, fmt.Sprintf("%s=%g", name, v.Params[name]))
	}
	words = append(words, fmt.Sprintf("discount=%g", v.Agent.Discount))
	where := "in the simulated cluster"
	if v.Linear {
		where = "on ENV1"
	}
	if v.Bootstrap {
		where = "from what the autoscaler did, then " + where
	}
	return strings.Join(append(words, where), ", ")
}

// readDQNVariant reads settings; none = those of the first.
func readDQNVariant(name string, settings []byte) (DQNVariant, error) {
	if len(settings) == 0 {
		return newDQNVariant(name, 1), nil
	}
	var v DQNVariant
	d := json.NewDecoder(bytes.NewReader(settings))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		return v, fmt.Errorf("settings of %s: %w", name, err)
	}
	return v, nil
}

// DQNInCluster are settings of a variant with training in the simulated cluster instead
// of on ENV1.
func DQNInCluster(settings json.RawMessage) (json.RawMessage, error) {
	v, err := readDQNVariant("a variant", settings)
	if err != nil {
		return nil, err
	}
	v.Linear = false
	return json.Marshal(v)
}

// dqnModel is a policy that DQN learned in a formulation.
type dqnModel struct{ *formulation.Model }

// Formulated is the formulation's own model of one that DQN learned.
func Formulated(m Model) (*formulation.Model, error) {
	of, ok := m.(dqnModel)
	if !ok {
		return nil, errors.New("it is not a model of a formulation")
	}
	return of.Model, nil
}

// Method implements Model.
func (m dqnModel) Method() string { return m.Problem.Formulation }

// TrainedFor implements Model.
func (m dqnModel) TrainedFor() string { return m.Training.Data }

// Policy implements Model.
func (m dqnModel) Policy(app *loadline.App) (loadline.Policy, error) {
	return formulation.NewPolicy(m.Model, app)
}

// File implements Model.
func (m dqnModel) File(results []modelfile.Result) (*modelfile.File, error) {
	whole := *m.Model
	if len(results) > 0 {
		whole.Results = results
	}
	return whole.File()
}

// About implements Model.
func (m dqnModel) About() About {
	form := m.Problem.Form()
	a := About{Formulation: form.About, Every: m.Problem.Period.String(), Features: form.Features, Absent: leftAsIs}
	for _, network := range m.Networks {
		if network.Service == formulation.Every {
			a.Services = append(a.Services, "every service, with one network")
			continue
		}
		a.Services = append(a.Services, network.Service)
	}
	return a
}
