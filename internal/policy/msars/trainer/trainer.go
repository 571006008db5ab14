package trainer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loadline/loadline/internal/train"

	"github.com/loadline/loadline/internal/forecast"
	"github.com/loadline/loadline/internal/modelfile"
	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/policy/msars"
	"github.com/loadline/loadline/internal/profile"
	"github.com/loadline/loadline/internal/rl"
	"github.com/loadline/loadline/internal/slosplit/learned"
)

// Config configures the training of MSARS.
type Config struct {
	Agent drpc.TeacherConfig
	Seed  uint64

	Way    string
	Net    *learned.Model // that splits, for the ways meta and gcn
	Adjust Adjust

	Period  time.Duration // between decisions
	Episode int           // steps
	Steps   drpc.Steps
	Reward  drpc.Reward

	Most     int     // steps of training
	Every    int     // steps from one evaluation to the next
	Episodes int     // of an evaluation
	Patience int     // evaluations without improvement after which the agent has converged
	Gain     float64 // least improvement of the reward that counts
	Forecast bool    // a GRU for every service; without, the forecast is the present rate
}

// Default has the constants of docs/msars.md. The agent is DRPC's teacher with a stronger
// penalty on large actions, a lower learning rate and a lower discount: with replicas
// first, an actor that saturates cannot recover by other moves, and most of its rewards
// are low because every part must be met.
func Default(way string) Config {
	agent := drpc.DefaultTeacher(drpc.Continuous)
	agent.Restraint, agent.ActorRate, agent.Discount = 0.25, 7e-5, 0.8
	return Config{
		Agent: agent, Seed: 1, Way: way, Adjust: Adjust{Runs: 10, Seeds: 2, Requests: 1000},
		Period: 30 * time.Second, Episode: 40, Steps: drpc.DefaultSteps(), Reward: drpc.PrintedReward(),
		Most: 12_000, Every: 1_000, Episodes: 8, Patience: 8, Gain: 0.005, Forecast: true,
	}
}

// Validate reports every fault at once.
func (c Config) Validate() error {
	faults := []error{msars.CheckWay(c.Way)}
	fault := func(bad bool, key string, value any, must string) {
		if bad {
			faults = append(faults, fmt.Errorf("msars trainer: %s is %v, must be %s", key, value, must))
		}
	}
	fault(c.Agent.Kind != drpc.Continuous, "agent", c.Agent.Kind, string(drpc.Continuous))
	fault(c.Episode < 1, "episode", c.Episode, "at least 1 step")
	fault(c.Most < 1, "steps", c.Most, "at least 1")
	fault(c.Every < 1, "evaluate every", c.Every, "at least 1")
	fault(c.Episodes < 1, "episodes", c.Episodes, "at least 1")
	fault(c.Patience < 1, "patience", c.Patience, "at least 1")
	fault(c.Adjust.Runs < 0, "runs", c.Adjust.Runs, "at least 0")
	fault(msars.Learned(c.Way) && c.Net == nil, "way", c.Way, "one that needs no network, where none is given")
	return errors.Join(faults...)
}

// Hooks report on a training. They may be nil.
type Hooks struct {
	Progress func(share float64, what string)
	Point    func(Point)
	Profiles func(*profile.Set) error // complete, to be kept
}

// trainer is one training.
type trainer struct {
	subject  train.Scenario
	config   Config
	division msars.Division

	env, evaluation *env // to explore in, and to be evaluated in
	agent           drpc.Teacher
	decider         *msars.Agent // the agent, deciding without exploring
	forecasts       []*forecast.GRU
	steps           int
	report          Report
	progress        func(share float64, what string)
}

// Shares of the whole training, for the progress bar.
const (
	profiledUntil = 0.05
	adjustedUntil = 0.15
	preparedUntil = 0.2
	learnedUntil  = 0.97
)

// Run prepares profiles, the split and forecasts for a subject, and trains an agent with
// them. Known profiles are not measured again; nil = none. The same seed gives the same
// model.
func Run(ctx context.Context, subject train.Scenario, known *profile.Set, config Config, hooks Hooks) (*msars.Model, *Report, error) {
	if err := config.Validate(); err != nil {
		return nil, nil, err
	}
	s := &trainer{subject: subject, config: config, progress: hooks.Progress}
	s.report.Way = config.Way
	if s.progress == nil {
		s.progress = func(float64, string) {}
	}
	if err := s.divide(ctx, known, hooks.Profiles); err != nil {
		return nil, nil, err
	}
	if err := s.open(ctx); err != nil {
		return nil, nil, err
	}
	if err := s.learn(ctx, hooks.Point); err != nil {
		return nil, nil, err
	}
	if err := s.finish(); err != nil {
		return nil, nil, err
	}
	return s.model(), &s.report, nil
}

// divide prepares the split: profiles at several sizes, and the factors by which parts may
// exceed the SLO in sum.
func (s *trainer) divide(ctx context.Context, known *profile.Set, keep func(*profile.Set) error) error {
	c := &s.config
	s.division = msars.Division{Way: c.Way, Net: c.Net}
	if c.Way == msars.None {
		return nil
	}
	set := &profile.Set{App: s.subject.App.Name}
	if known != nil {
		set.Profiles = append(set.Profiles, known.Profiles...)
	}
	var err error
	if s.report.Profiles, err = Complete(ctx, s.subject.App, set, func(share float64) {
		s.progress(share*profiledUntil, "profiles")
	}); err != nil {
		return err
	}
	if keep != nil && s.report.Profiles > 0 {
		if err := keep(set); err != nil {
			return err
		}
	}
	s.division.Profiles = set
	if c.Adjust.Runs == 0 {
		return nil
	}
	rates := busiest(s.subject.App, s.subject.Load, s.subject.Duration)
	s.report.Factors, s.report.Unadjusted, err = factors(ctx, s.subject.App, rates, set, c.Adjust, func(share float64) {
		s.progress(profiledUntil+share*(adjustedUntil-profiledUntil), "adjusting the split")
	})
	s.division.Factors = s.report.Factors
	return err
}

// forecastSpec is as DRPC's.
var forecastSpec = train.ForecastSpec{Step: drpc.ForecastStep, Span: drpc.ForecastStep, Whole: true, Task: drpc.ForecastTask(),
	Config: drpc.ForecastConfig}

// open makes the agent and its environments.
func (s *trainer) open(ctx context.Context) error {
	c := &s.config
	var table *train.ForecastTable
	s.forecasts = make([]*forecast.GRU, len(s.subject.App.Services))
	var err error
	if c.Forecast {
		if s.forecasts, table, s.report.Forecasts, err = train.FitForecasts(ctx, s.subject, c.Seed, forecastSpec, func(share float64) {
			s.progress(adjustedUntil+share*(preparedUntil-adjustedUntil), "forecasts")
		}); err != nil {
			return err
		}
	}
	if s.env, err = newEnv(s.subject, s.division, *c, table); err != nil {
		return err
	}
	if s.evaluation, err = newEnv(s.subject, s.division, *c, table); err != nil {
		return err
	}
	if s.agent, err = drpc.NewTeacher(c.Agent, s.env.Spaces(), s.env.services, c.Seed); err != nil {
		return err
	}
	s.report.Parameters = s.agent.Net().Size()
	s.decider, err = msars.NewAgent(s.agent.Net(), s.env.steering, s.env.services)
	return err
}

func (s *trainer) decide(seen, actions []float32) { s.decider.Decide(seen, actions) }

// finish evaluates the agent and the baseline on held-out episodes.
func (s *trainer) finish() error {
	s.progress(learnedUntil, "evaluation")
	s.report.Divisions, s.report.Chains = s.env.divider.Divisions()
	idle, err := s.evaluate(func(_, actions []float32) { clear(actions) }, finalStream)
	if err != nil {
		return err
	}
	trained, err := s.evaluate(s.decide, finalStream)
	idle.Policy, trained.Policy = train.NoChange, "msars"
	s.report.Results = []Result{idle, trained}
	return err
}

// model is the trained model.
func (s *trainer) model() *msars.Model {
	m := &msars.Model{
		App: s.subject.App.Name, Actor: s.agent.Net().Clone(), Division: s.division, Period: s.config.Period, Steps: s.config.Steps,
		Reward:    s.config.Reward,
		Forecasts: s.forecasts, Training: modelfile.Training{Data: s.subject.Source, Samples: s.steps, Seed: s.config.Seed},
	}
	for i := range s.subject.App.Services {
		m.Services = append(m.Services, s.subject.App.Services[i].Name)
	}
	on := fmt.Sprintf("%d held-out episodes", s.config.Episodes)
	idle, trained := s.report.Results[0], s.report.Results[1]
	m.Results = []modelfile.Result{
		{Name: "mean reward", On: on, Value: trained.Reward, Baseline: train.NoChange, Against: idle.Reward},
		{Name: "mean R_qos of the users", On: on, Value: trained.Users, Baseline: train.NoChange, Against: idle.Users},
	}
	return m
}

var _ rl.Env = (*env)(nil)
