package trainer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/loadline/loadline/internal/train"

	"github.com/loadline/loadline/internal/forecast"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/modelfile"
	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/rl"
)

// Config configures the training of DRPC.
type Config struct {
	Teacher drpc.TeacherConfig
	Shape   drpc.Shape
	Seed    uint64

	Period  time.Duration // of the teacher's decisions
	Episode int           // steps
	Pace    drpc.Pace
	Steps   drpc.Steps
	Reward  drpc.Reward
	Shares  *formulation.Shares // of the SLO, that response times are judged by; nil = in proportion

	Stage1   Stage1
	Distil   Distillation
	Stage2   Stage2
	Notifier drpc.NotifierConfig

	Forecast bool // a GRU for every service; without, students expect what is
}

// Default has the constants of docs/drpc.md.
func Default(kind drpc.Kind) Config {
	return Config{
		Teacher: drpc.DefaultTeacher(kind), Shape: drpc.Shared, Seed: 1, Forecast: true,
		Period: 30 * time.Second, Episode: 40, Pace: drpc.DefaultPace(), Steps: drpc.DefaultSteps(), Reward: drpc.DefaultReward(),
		Stage1: Stage1{Steps: 24_000, Every: 1_000, Episodes: 8, Patience: 5, Gain: 0.01, Imitation: 0.2, Refresh: 4_000},
		Distil: Distillation{Episodes: 30, Steps: 120, Batches: 3_000},
		Stage2: Stage2{Steps: 2_000, Updates: 1, Stream: 4096}, Notifier: drpc.DefaultNotifier(),
	}
}

// Validate reports every fault at once.
func (c Config) Validate() error {
	var faults []error
	fault := func(bad bool, key string, value any, must string) {
		if bad {
			faults = append(faults, fmt.Errorf("drpc trainer: %s is %v, must be %s", key, value, must))
		}
	}
	fault(c.Episode < 1, "episode", c.Episode, "at least 1 step")
	fault(c.Stage1.Steps < 1, "steps", c.Stage1.Steps, "at least 1")
	fault(c.Stage1.Every < 1, "evaluate every", c.Stage1.Every, "at least 1")
	fault(c.Stage1.Episodes < 1, "episodes", c.Stage1.Episodes, "at least 1")
	fault(c.Stage1.Patience < 1, "patience", c.Stage1.Patience, "at least 1")
	fault(c.Distil.Episodes < 1 || c.Distil.Batches < 1, "distil", c.Distil, "at least 1 episode and batch")
	fault(c.Stage2.Steps < 0 || c.Stage2.Updates < 0, "stage 2", c.Stage2, "at least 0")
	fault(c.Pace.Least > 0 && c.Period%c.Pace.Least != 0, "period", c.Period,
		fmt.Sprintf("a multiple of the shortest pace, %v", c.Pace.Least))
	return errors.Join(append(faults, c.Pace.Validate(), c.Notifier.Validate())...)
}

// Trainer is one teacher with its students. It works in units (an episode, an
// evaluation, the distillation of a student), between which it can be saved: see
// save.go. It is for one goroutine.
type Trainer struct {
	subject train.Scenario
	config  Config

	table           *train.ForecastTable
	env, evaluation *Env // to explore in, and to be evaluated in
	teacher         drpc.Teacher
	decider         *drpc.TeacherPolicy // the teacher, deciding without exploring
	reference       *drpc.TeacherPolicy // the teacher as it was when it trained its students last
	students        []*drpc.Student
	transport       *drpc.InProcess
	visits          *drpc.VisitCounts
	mix             drpc.Mix // of requests that was trained on
	live            drpc.Mix // of requests in the environment; nil = as the load has it
	forecasts       []*forecast.GRU

	training *rl.Training // the loop of stage 1, which runs the episodes of stage 2 and of the warm-up too
	explorer explorer     // the trainee of stage 1

	phase        phase
	version      uint64
	report       Report
	stage1       stage1
	distillation distillation
	stage2       stage2
	warm         warm
	called       *Event // of the notifier, until its outcome is known
	former       former

	living bool // stage 2 takes place in a real cluster
	hooks  Hooks
	action rl.Action // buffer
	wants  []float32
}

// phase of a training.
type phase int

const (
	exploring  phase = iota // stage 1
	distilling              // students learn from a teacher that no longer changes
	comparing               // the students are evaluated
	acting                  // stage 2
	tuning                  // the teacher is evaluated after stage 2
	evaluating              // all are evaluated on held-out episodes
	finished
	warming // of a teacher without trained critics
)

// Hooks report on a training. They may be nil.
type Hooks struct {
	Progress func(share float64, what string)
	Point    func(Point)
	Event    func(Event)
	Unit     func(*Trainer) // between two units, where Save may be called
}

func (h *Hooks) progress(share float64, what string) {
	if h.Progress != nil {
		h.Progress(share, what)
	}
}

// Run trains a teacher and its students on a scenario (Algorithm 1). The same seed
// gives the same model.
func Run(ctx context.Context, subject train.Scenario, config Config, hooks Hooks) (*drpc.Model, *Report, error) {
	s, err := New(ctx, subject, config, hooks)
	if err != nil {
		return nil, nil, err
	}
	return s.Run(ctx)
}

// New prepares a training. Fitting forecasters takes a while.
func New(ctx context.Context, subject train.Scenario, config Config, hooks Hooks) (*Trainer, error) {
	s, err := found(subject, config, hooks)
	if err != nil {
		return nil, err
	}
	if config.Forecast {
		s.forecasts, s.table, s.report.Forecasts, err = train.FitForecasts(ctx, subject, config.Seed, forecastSpec, func(share float64) {
			s.hooks.progress(share*forecastsUntil, "forecasts")
		})
		if err != nil {
			return nil, err
		}
	}
	if err := s.open(); err != nil {
		return nil, err
	}
	s.beginStage1(config.Stage1.Steps)
	return s, nil
}

func found(subject train.Scenario, config Config, hooks Hooks) (*Trainer, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	s := &Trainer{
		subject: subject, config: config, hooks: hooks, visits: drpc.NewVisitCounts(),
		forecasts: make([]*forecast.GRU, len(subject.App.Services)),
	}
	s.explorer.trainer = s
	return s, nil
}

// Shares of the whole training, for the progress bar.
const (
	forecastsUntil = 0.05
	stage1Until    = 0.85
	stage2Until    = 0.95
)

// forecastSpec describes the students' forecasters.
var forecastSpec = train.ForecastSpec{Step: drpc.ForecastStep, Span: drpc.ForecastStep, Whole: true, Task: drpc.ForecastTask(),
	Config: drpc.ForecastConfig}

// open makes the environments, the teacher and the students.
func (s *Trainer) open() error {
	c := &s.config
	if err := s.enter(); err != nil {
		return err
	}
	var err error
	spaces := s.env.Spaces()
	if s.teacher, err = drpc.NewTeacher(c.Teacher, spaces, s.env.Parts(), c.Seed); err != nil {
		return err
	}
	s.explorer.Agent, s.explorer.Before = s.teacher, s.before
	s.training = rl.NewTrainingOf(&s.explorer, c.Seed, rl.TrainingConfig{
		WholeEpisodes: true, EvaluateEvery: c.Stage1.Every, EvenlySpaced: true, Episodes: c.Stage1.Episodes,
		Patience: c.Stage1.Patience, Gain: c.Stage1.Gain,
	})
	if s.decider, err = drpc.NewTeacherPolicy(c.Teacher.Kind, c.Shape, s.teacher.Net(), s.env.encoder); err != nil {
		return err
	}
	if s.reference, err = drpc.NewTeacherPolicy(c.Teacher.Kind, c.Shape, s.teacher.Net().Clone(), s.env.encoder); err != nil {
		return err
	}
	for i := range s.subject.App.Services {
		student, err := drpc.NewStudent(s.subject.App.Services[i].Name, drpc.StudentConfig(), c.Seed+uint64(i))
		if err != nil {
			return err
		}
		s.students = append(s.students, student)
	}
	s.transport = drpc.NewInProcess(max(c.Stage2.Stream, 1))
	s.action, s.wants = spaces.NewAction(), make([]float32, spaces.Dimensions)
	s.report.Parameters = Parameters{Teacher: s.teacher.Net().Size(), Student: s.students[0].Net().Size()}
	return nil
}

// enter makes the environments, with the live mix of requests. With another mix the
// forecasts differ.
func (s *Trainer) enter() error {
	c := &s.config
	if s.live != nil && c.Forecast {
		s.table = train.NewForecastTable(s.scenario(), forecastSpec, s.forecasts)
	}
	config := EnvConfig{
		Scenario: s.scenario(), Forecasts: s.table, Shape: c.Shape, Period: c.Period,
		Beat: c.Pace.Least, Steps: c.Episode, Scale: c.Steps, Reward: c.Reward, Shares: c.Shares,
	}
	var err error
	if s.env, err = NewEnv(config); err != nil {
		return err
	}
	s.explorer.Env = s.env
	s.evaluation, err = NewEnv(config)
	return err
}

// Run is Algorithm 1: stage 1, then stage 2, and stage 1 again whenever the notifier
// triggers. When the context is done it stops after the present unit, and the training can
// be saved and resumed.
func (s *Trainer) Run(ctx context.Context) (*drpc.Model, *Report, error) {
	if err := s.until(ctx, finished); err != nil {
		return nil, nil, err
	}
	model, err := s.Model()
	return model, &s.report, err
}

// Report is the record so far.
func (s *Trainer) Report() *Report { return &s.report }

// until runs units until a phase is reached.
func (s *Trainer) until(ctx context.Context, end phase) error {
	for s.phase != end {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.unit(); err != nil {
			return err
		}
		if s.hooks.Unit != nil {
			s.hooks.Unit(s)
		}
	}
	return nil
}

func (s *Trainer) unit() error {
	switch s.phase {
	case exploring:
		return s.explore()
	case distilling:
		s.distil()
	case comparing:
		return s.comparison()
	case acting:
		return s.act()
	case tuning:
		s.tune()
	case evaluating:
		return s.finish()
	case warming:
		return s.warmUp()
	}
	return nil
}

func (s *Trainer) notify(e Event) {
	s.report.Events = append(s.report.Events, e)
	if s.hooks.Event != nil {
		s.hooks.Event(e)
	}
}

// comparison evaluates the students after a distillation and publishes their weights.
func (s *Trainer) comparison() error {
	students, err := s.actFreely(checkStream)
	if err != nil {
		return err
	}
	if s.called != nil {
		s.called.After = students.Reward
		better := s.better(students)
		s.notify(*s.called)
		s.called = nil
		if !better {
			s.stage2.begin(s, s.report.Events[len(s.report.Events)-1].After)
			return nil
		}
	}
	if s.distillation.why != "" {
		s.notify(Event{Steps: s.training.Steps(), What: s.distillation.why, Before: s.distillation.reward, After: students.Reward})
	}
	if err := s.publish(); err != nil {
		return err
	}
	s.stage2.begin(s, students.Reward)
	return nil
}

// tune distils once more if the teacher has improved in stage 2.
func (s *Trainer) tune() {
	tuned := s.evaluate(s.decider.Decide, evaluationStream)
	if tuned.Reward <= s.training.Best()+s.config.Stage1.Gain {
		s.training.AdoptBest()
		s.phase = evaluating
		return
	}
	s.training.KeepBest(tuned.Reward)
	s.beginDistillation("", tuned.Reward, evaluating)
}

// finish evaluates the teacher, the students and the baseline on held-out episodes.
func (s *Trainer) finish() error {
	if s.distillation.then == evaluating { // they were trained after they had been published
		if err := s.publish(); err != nil {
			return err
		}
	}
	s.hooks.progress(0.97, "evaluation")
	idle := s.evaluate(func(_, actions []float32) { clear(actions) }, finalStream)
	idle.Policy = train.NoChange
	trained := s.evaluate(s.decider.Decide, finalStream)
	trained.Policy = "teacher"
	students, err := s.actFreely(finalStream)
	if err != nil {
		return err
	}
	s.report.Results = []train.Result{idle, trained, students}
	s.report.Imitation = s.compare(finalStream)
	s.phase = finished
	return nil
}

// Model is that of the present teacher and students.
func (s *Trainer) Model() (*drpc.Model, error) {
	m := &drpc.Model{
		App: s.subject.App.Name, Kind: s.config.Teacher.Kind, Shape: s.config.Shape, Teacher: s.teacher.Net().Clone(),
		Period:    s.config.Period,
		Forecasts: s.forecasts, Version: s.version, Pace: s.config.Pace, Steps: s.config.Steps, Reward: s.config.Reward,
		Notifier: s.config.Notifier,
		Visits:   s.visits, Mix: slices.Clone(s.mix), Shares: s.config.Shares,
		Training: modelfile.Training{Data: s.subject.Source, Samples: s.training.Steps(), Seed: s.config.Seed},
	}
	for i, student := range s.students {
		m.Services = append(m.Services, s.subject.App.Services[i].Name)
		m.Students = append(m.Students, student.Net().Clone())
	}
	on := fmt.Sprintf("%d held-out episodes", s.config.Stage1.Episodes)
	for _, r := range s.report.Results {
		if r.Policy == train.NoChange {
			continue
		}
		m.Results = append(m.Results, modelfile.Result{
			Name: "mean reward, " + r.Policy, On: on, Value: r.Reward, Baseline: train.NoChange, Against: s.report.Results[0].Reward,
		})
	}
	for _, i := range s.report.Imitation {
		m.Results = append(m.Results, modelfile.Result{Name: "imitation error, " + i.Service, On: on, Value: i.Error})
	}
	return m, nil
}
