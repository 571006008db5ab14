package trainer

import (
	"context"
	"fmt"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/modelfile"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/lab/rivals"
)

// Methods are the learned rivals, for policy.Register: CoScal, FIRM and A-SARSA.
func Methods() []policy.Method {
	return []policy.Method{
		method(rivals.CoScalName, "CoScal: Q-learning over four levels of utilisation, with a GRU, every 5 min; replicas, CPU, "+
			"memory, brownout"),
		method(rivals.FIRMName, "FIRM: finds the culprit on the critical path, and DDPG changes one resource of it, every 5 s; "+
			"replicas, CPU, memory"),
		method(rivals.ASARSAName, "A-SARSA: SARSA over the CPU and response time that ARIMA expects, every minute; replicas"),
	}
}

func method(name rivals.Name, about string) policy.Method {
	return policy.Method{
		Name: string(name), About: about,
		Options: func(*loadline.App) []policy.Option { return []policy.Option{policy.DelayOption()} },
		Kind:    rivals.FileKind(name),
		Open: func(file *modelfile.File) (policy.Model, error) {
			m, err := rivals.FromFile(name, file)
			return model{m}, err
		},
		NewFrom: func(m policy.Model, app *loadline.App, v policy.Values) (loadline.Policy, error) {
			return rivals.New(m.(model).Model, app, v.Span("delay"))
		},
		Train: func(ctx context.Context, t policy.Task) (*policy.Trained, error) { return trainMethod(ctx, name, t) },
	}
}

func trainMethod(ctx context.Context, name rivals.Name, t policy.Task) (*policy.Trained, error) {
	m, r, err := Run(ctx, name, t.Scenario, taskConfig(name, t), Hooks{Progress: func(share float64, _ string) {
		if t.Progress != nil {
			t.Progress(share)
		}
	}})
	if err != nil {
		return nil, err
	}
	trained := &policy.Trained{Model: model{m}, Episodes: r.Episodes, Parameters: r.Parameters}
	for _, p := range r.Curve {
		trained.AddPoint(p.Point, p.CommonReward)
	}
	for _, x := range r.Results {
		trained.AddEvaluation(x.Policy, x.CommonReward, x.QoS, x.Result)
	}
	return trained, nil
}

// taskConfig adapts the default settings to the steps and the learning rate of a task.
func taskConfig(name rivals.Name, t policy.Task) Config {
	c := Default(name)
	c.Seed, c.Steps, c.Every = t.Seed, t.Steps, t.Every()
	c.Episodes = t.Episodes(c.Episodes)
	c.DDPG.WarmUp = min(c.DDPG.WarmUp, max(c.DDPG.Batch, t.Steps/8))
	c.Table.Rate = min(c.Table.Rate*t.Rate, 1)
	c.DDPG.ActorRate *= t.Rate
	c.DDPG.CriticRate *= t.Rate
	return c
}

// model of a rival as a policy.Model.
type model struct{ *rivals.Model }

// Method implements policy.Model.
func (m model) Method() string { return string(m.Rival) }

// TrainedFor implements policy.Model.
func (m model) TrainedFor() string { return m.App }

// Policy implements policy.Model.
func (m model) Policy(app *loadline.App) (loadline.Policy, error) { return rivals.New(m.Model, app, 0) }

// File implements policy.Model.
func (m model) File(results []modelfile.Result) (*modelfile.File, error) {
	whole := *m.Model
	if len(results) > 0 {
		whole.Results = results
	}
	return whole.File()
}

// About implements policy.Model.
func (m model) About() policy.About {
	return policy.About{
		Formulation: fmt.Sprintf("%s, a learned rival of DRPC (docs/rivals.md)", m.Rival), Every: m.Period.String(),
		Absent: "the service is left as it is", Services: m.Services, OnPaths: m.Services,
	}
}
