package trainer

import (
	"context"
	"errors"
	"fmt"

	"github.com/loadline/loadline/internal/nn"
	"github.com/loadline/loadline/internal/rl"
	"github.com/loadline/loadline/internal/train"
	"github.com/loadline/loadline/lab/rivals"
)

// Config configures the training of a rival.
type Config struct {
	Steps    int // in the environment, including those for forecasts and labels
	Every    int // steps from one evaluation to the next
	Episodes int // of an evaluation
	Episode  int // steps
	Seed     uint64

	// Random is the probability of a uniformly random action, besides the agent's own
	// exploration. It falls to 0 within the share Until of the steps.
	Random, Until float64

	Table rl.TabularConfig // of CoScal and A-SARSA; the edges are theirs
	DDPG  rl.TD3Config     // of FIRM
	SVM   rivals.SVMConfig
	// Together is the share of the steps in which FIRM's components share one agent;
	// then each goes on with a copy of it.
	Together float64
}

// Default has the rivals' documented constants, and as many steps as both stages of DRPC
// have by default.
func Default(rival rivals.Name) Config {
	c := Config{
		Steps: 26_000, Every: 1_000, Episodes: 8, Episode: 40, Seed: 1, Random: 1, Until: 0.5,
		Table: rl.DefaultTabular(), DDPG: rl.DefaultDDPG(), SVM: rivals.DefaultSVM(), Together: 0.5,
	}
	switch rival {
	case rivals.CoScalName:
		c.Table.Rate = 0.05 // with the documented 0.01 it learns nothing in as many steps
	case rivals.FIRMName:
		c.Episode = 120 // of 5 s: shorter episodes would end before actions take effect
		c.Random = 0
	}
	c.DDPG.Hidden, c.DDPG.Discount = []int{40, 40}, 0.9
	c.DDPG.ActorRate, c.DDPG.CriticRate = 3e-4, 3e-3
	c.DDPG.Replay, c.DDPG.WarmUp, c.DDPG.Longest = 100_000, 500, 10
	c.DDPG.Restraint = 0.3 // without it the actors saturate within two thousand steps
	return c
}

// Validate reports every fault at once.
func (c Config) Validate() error {
	var faults []error
	for _, o := range []struct {
		key   string
		value int
	}{{"steps", c.Steps}, {"evaluate every", c.Every}, {"episodes", c.Episodes}, {"episode", c.Episode},
		{"steps of the support vector machine", c.SVM.Steps}} {
		if o.value < 1 {
			faults = append(faults, fmt.Errorf("rivals trainer: %s is %d, must be at least 1", o.key, o.value))
		}
	}
	if !(c.Together >= 0 && c.Together <= 1) {
		faults = append(faults, fmt.Errorf("rivals trainer: together is %v, must be from 0 to 1", c.Together))
	}
	if !(c.Random >= 0 && c.Random <= 1 && c.Until > 0 && c.Until <= 1) {
		faults = append(faults, fmt.Errorf("rivals trainer: random is %v until %v, must be from 0 to 1, and until above 0", c.Random,
			c.Until))
	}
	if !(c.SVM.Decay > 0) {
		faults = append(faults, fmt.Errorf("rivals trainer: decay of the support vector machine is %v, must be above 0", c.SVM.Decay))
	}
	return errors.Join(faults...)
}

// prepare makes the environments, the rival and its agents.
func (p *trainer) prepare(ctx context.Context, rival rivals.Name) error {
	app := p.subject.App
	p.model = rivals.Model{Rival: rival, App: app.Name}
	for i := range app.Services {
		p.model.Services = append(p.model.Services, app.Services[i].Name)
	}
	switch rival {
	case rivals.CoScalName:
		return p.prepareCoScal(ctx)
	case rivals.ASARSAName:
		return p.prepareASARSA(ctx)
	case rivals.FIRMName:
		return p.prepareFIRM()
	}
	return fmt.Errorf("rivals trainer: unknown rival %q, must be one of %v", rival, rivals.Names())
}

// open makes the policy of the model and its environments.
func (p *trainer) open(resizes bool, a *train.ForecastTable) (err error) {
	if p.rival, err = rivals.New(&p.model, p.subject.App, 0); err != nil {
		return err
	}
	needs := p.rival.Needs()
	// A load may be too short for whole episodes of CoScal, whose period is long.
	steps := max(1, min(p.config.Episode, int((p.subject.Duration-needs.Window)/needs.Period)))
	if p.env, err = newEnv(p.subject, p.rival, steps, resizes, a); err != nil {
		return err
	}
	p.evaluation, err = newEnv(p.subject, p.rival, steps, resizes, a)
	return err
}

func (p *trainer) prepareCoScal(ctx context.Context) error {
	p.model.Period = rivals.CoScalPeriod
	var a *train.ForecastTable
	var err error
	p.model.GRUs, a, p.report.Forecasts, err = train.FitForecasts(ctx, p.subject, p.config.Seed, forecastSpec,
		func(float64) { p.progress(0, "forecasts") })
	if err != nil {
		return err
	}
	if a == nil {
		p.report.Events = append(p.report.Events, fmt.Sprintf("the load is too short for forecasts: %v are needed",
			train.MinForecastBins*p.model.Period))
	}
	config := p.config.Table
	config.Edges = rivals.CoScalLevels().Edges()
	q, err := rl.NewTabularQ(config, rl.Spaces{Observation: len(rivals.CoScalLevels()), Choices: len(rivals.CoScalMoves)}, p.config.Seed)
	if err != nil {
		return err
	}
	table := rivals.NewTable(rivals.CoScalLevels().States(), len(rivals.CoScalMoves))
	table.Values = q.Weights()
	p.model.Table = table
	for range p.subject.App.Services {
		p.agents = append(p.agents, q)
	}
	return p.open(true, a)
}

func (p *trainer) prepareASARSA(ctx context.Context) error {
	p.model.Period = rivals.ASARSAPeriod
	config := p.config.Table
	config.Edges = rivals.ASARSALevels().Edges()
	p.model.Table = rivals.NewTable(rivals.ASARSALevels().States(), rivals.ASARSAChoices)
	for i := range p.subject.App.Services {
		sarsa, err := rl.NewSARSA(config, rl.Spaces{Observation: len(rivals.ASARSALevels()), Choices: rivals.ASARSAChoices},
			p.config.Seed+uint64(i))
		if err != nil {
			return err
		}
		p.agents = append(p.agents, sharing{sarsa, p.model.Table.Values})
	}
	if err := p.open(false, nil); err != nil {
		return err
	}
	p.progress(0, "forecasts")
	fits, taken, err := recordPast(ctx, p.env, min(mostPast, int(pastShare*float64(p.config.Steps))), p.config.Seed)
	if err != nil {
		return err
	}
	p.model.ARIMA = fits
	p.training.Advance(taken)
	p.report.Events = append(p.report.Events, fmt.Sprintf("ARIMA was fitted to %d steps under a plain rule", taken))
	return p.open(false, nil)
}

func (p *trainer) prepareFIRM() error {
	p.model.Period, p.model.Kinds = rivals.FIRMPeriod, len(p.subject.App.Kinds)
	p.config.DDPG.Replay = min(p.config.DDPG.Replay, max(p.config.Steps, 2*p.config.DDPG.WarmUp, 1))
	blank := make([]float64, rivals.LocateWidth)
	p.model.SVM = &rivals.SVM{Mean: blank, Spread: []float64{1, 1}, Weight: blank}
	shared, err := rl.NewTD3(p.config.DDPG, p.firmSpaces(), p.config.Seed)
	if err != nil {
		return err
	}
	for range p.subject.App.Services {
		p.agents = append(p.agents, shared)
		p.model.Actors = append(p.model.Actors, shared.Actor())
	}
	if err := p.open(true, nil); err != nil {
		return err
	}
	p.progress(0, "labelled runs")
	svm, taken, what, err := labelRuns(p.env, p.rival.(*rivals.FIRM), p.config.SVM, int(labelShare*float64(p.config.Steps)),
		p.config.Seed)
	if err != nil {
		return err
	}
	if svm != nil {
		p.model.SVM = svm
	}
	p.training.Advance(taken)
	p.report.Events = append(p.report.Events, what)
	return p.open(true, nil)
}

func (p *trainer) firmSpaces() rl.Spaces {
	return rl.Spaces{Observation: rivals.FIRMWidth(len(p.subject.App.Kinds)), Dimensions: rivals.FIRMAxes}
}

// transfer gives each service an agent of its own, once FIRM has trained long enough together.
func (p *trainer) transfer() error {
	if p.model.Rival != rivals.FIRMName || p.transferred || float64(p.training.Steps()) < p.config.Together*float64(p.config.Steps) {
		return nil
	}
	p.transferred = true
	saved := rl.Save(p.agents[0])
	p.model.Actors = make([]*nn.Net, len(p.agents))
	for i := range p.agents {
		agent, err := rl.NewTD3(p.config.DDPG, p.firmSpaces(), p.config.Seed)
		if err != nil {
			return err
		}
		if err := rl.Restore(saved, agent); err != nil {
			return err
		}
		p.agents[i], p.model.Actors[i] = agent, agent.Actor()
	}
	p.report.Events = append(p.report.Events, fmt.Sprintf("after %d steps each component goes on by itself", p.training.Steps()))
	var err error
	p.rival, err = rivals.New(&p.model, p.subject.App, 0)
	return err
}

// note marks the action of a step as tried in the table.
func (p *trainer) note(o step) {
	switch p.model.Rival {
	case rivals.CoScalName:
		p.model.Table.Note(rivals.CoScalLevels(), o.observation, o.action.Choice)
	case rivals.ASARSAName:
		p.model.Table.Note(rivals.ASARSALevels(), o.observation, o.action.Choice)
	}
}
