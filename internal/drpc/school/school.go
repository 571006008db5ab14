package school

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/arena"
	"github.com/loadline/loadline/internal/drpc"
	"github.com/loadline/loadline/internal/drpc/teacher"
	"github.com/loadline/loadline/internal/forecast"
	"github.com/loadline/loadline/internal/modelfile"
	"github.com/loadline/loadline/internal/rl"
	"github.com/loadline/loadline/internal/sim"
)

// Subject is an application and its users' requests.
type Subject struct {
	App      *loadline.App
	Load     sim.Arrivals
	Duration time.Duration
	Source   string // what the load is, for the model's card
}

// Config is how a school is run.
type Config struct {
	Teacher teacher.Config
	Shape   drpc.Shape
	Seed    uint64

	Period  time.Duration // of the teacher's decisions
	Episode int           // steps
	Pace    drpc.Pace
	Steps   drpc.Steps
	Reward  drpc.Reward

	Stage1   Stage1
	Distil   Distil
	Stage2   Stage2
	Notifier drpc.NotifierConfig

	Forecast bool // a GRU for every service; without, students expect what is
}

// Default has the constants of docs/drpc.md.
func Default(kind drpc.Kind) Config {
	return Config{
		Teacher: teacher.Default(kind), Shape: drpc.Shared, Seed: 1, Forecast: true,
		Period: 30 * time.Second, Episode: 40, Pace: drpc.DefaultPace(), Steps: drpc.DefaultSteps(), Reward: drpc.DefaultReward(),
		Stage1: Stage1{Steps: 24_000, Every: 1_000, Episodes: 8, Patience: 5, Gain: 0.01, Imitation: 0.2, Refresh: 4_000},
		Distil: Distil{Episodes: 30, Steps: 120, Batches: 3_000},
		Stage2: Stage2{Steps: 2_000, Updates: 1, Stream: 4096}, Notifier: drpc.DefaultNotifier(),
	}
}

// Validate reports every fault at once.
func (c Config) Validate() error {
	var faults []error
	fault := func(bad bool, key string, value any, must string) {
		if bad {
			faults = append(faults, fmt.Errorf("school: %s is %v, must be %s", key, value, must))
		}
	}
	fault(c.Episode < 1, "episode", c.Episode, "at least 1 step")
	fault(c.Stage1.Steps < 1, "steps", c.Stage1.Steps, "at least 1")
	fault(c.Stage1.Every < 1, "evaluate every", c.Stage1.Every, "at least 1")
	fault(c.Stage1.Episodes < 1, "episodes", c.Stage1.Episodes, "at least 1")
	fault(c.Stage1.Patience < 1, "patience", c.Stage1.Patience, "at least 1")
	fault(c.Distil.Episodes < 1 || c.Distil.Batches < 1, "distil", c.Distil, "at least 1 episode and batch")
	fault(c.Stage2.Steps < 0 || c.Stage2.Updates < 0, "stage 2", c.Stage2, "at least 0")
	fault(c.Pace.Least > 0 && c.Period%c.Pace.Least != 0, "period", c.Period, fmt.Sprintf("a multiple of the shortest pace, %v", c.Pace.Least))
	return errors.Join(append(faults, c.Pace.Validate(), c.Notifier.Validate())...)
}

// School is one teacher with its students.
type School struct {
	subject Subject
	config  Config

	world, exam *World // to practise in, and to be examined in
	teacher     teacher.Teacher
	mind        *drpc.Mind // the teacher, deciding without exploring
	tutor       *drpc.Mind // the teacher as it was when it taught its students last
	students    []*drpc.Student
	transport   drpc.Transport
	seen        *drpc.Seen
	mix         drpc.Mix
	forecasts   []*forecast.GRU

	steps, episodes int
	version         uint64
	best            []float32 // the teacher's weights at its best evaluation
	bestReward      float64
	report          Report
	progress        func(share float64, what string)

	action rl.Action // room
	wants  []float32
}

// Hooks are what a schooling tells. They may be nil.
type Hooks struct {
	Progress func(share float64, what string)
	Point    func(Point)
	Event    func(Event)
}

// Run schools a teacher and its students on a subject (Algorithm 1) and gives them
// out. The same seed gives the same model.
func Run(ctx context.Context, subject Subject, config Config, hooks Hooks) (*drpc.Model, *Report, error) {
	if err := config.Validate(); err != nil {
		return nil, nil, err
	}
	s := &School{subject: subject, config: config, seen: drpc.NewSeen(), progress: hooks.Progress}
	if s.progress == nil {
		s.progress = func(float64, string) {}
	}
	if err := s.open(ctx); err != nil {
		return nil, nil, err
	}
	if err := s.run(ctx, hooks); err != nil {
		return nil, nil, err
	}
	model, err := s.model()
	return model, &s.report, err
}

// Shares of the time, for progress.
const (
	forecastsUntil = 0.05
	stage1Until    = 0.85
)

// foresight is what the students' forecasters are shown and asked.
var foresight = arena.Foresight{Step: drpc.ForecastStep, Span: drpc.ForecastStep, Whole: true, Task: drpc.ForecastTask(), Config: drpc.ForecastConfig}

// open makes everybody and the world that they are in.
func (s *School) open(ctx context.Context) error {
	c := &s.config
	var almanac *arena.Almanac
	s.forecasts = make([]*forecast.GRU, len(s.subject.App.Services))
	if c.Forecast {
		var err error
		s.forecasts, almanac, s.report.Forecasts, err = arena.Foresee(ctx, s.subject.App, s.subject.Load, s.subject.Duration, c.Seed, foresight, func(share float64) {
			s.progress(share*forecastsUntil, "forecasts")
		})
		if err != nil {
			return err
		}
	}
	world := WorldConfig{
		App: s.subject.App, Load: s.subject.Load, Duration: s.subject.Duration, Almanac: almanac, Shape: c.Shape, Period: c.Period,
		Beat: c.Pace.Least, Steps: c.Episode, Scale: c.Steps, Reward: c.Reward,
	}
	var err error
	if s.world, err = NewWorld(world); err != nil {
		return err
	}
	if s.exam, err = NewWorld(world); err != nil {
		return err
	}
	spaces := s.world.Spaces()
	if s.teacher, err = teacher.New(c.Teacher, spaces, s.world.Parts(), c.Seed); err != nil {
		return err
	}
	if s.mind, err = drpc.NewMind(c.Teacher.Kind, c.Shape, s.teacher.Net(), s.world.eyes); err != nil {
		return err
	}
	if s.tutor, err = drpc.NewMind(c.Teacher.Kind, c.Shape, s.teacher.Net().Clone(), s.world.eyes); err != nil {
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

// run is Algorithm 1: stage 1 until the teacher is ready, then stage 2, and back to
// stage 1 whenever the notifier says so.
func (s *School) run(ctx context.Context, hooks Hooks) error {
	tell := func(e Event) {
		s.report.Events = append(s.report.Events, e)
		if hooks.Event != nil {
			hooks.Event(e)
		}
	}
	limit, acted := s.config.Stage1.Steps, 0
	var called *Event // by the notifier, until it is known what came of it
	for {
		why, err := s.explore(ctx, limit, hooks.Point)
		if err != nil {
			return err
		}
		taught := s.examine(s.mind.Decide, examStream)
		s.distil()
		students, err := s.actFreely(examStream)
		if err != nil {
			return err
		}
		if called != nil {
			called.After = students.Reward
			tell(*called)
		}
		tell(Event{Steps: s.steps, What: "stage 1 ended: " + why, Before: taught.Reward, After: students.Reward})
		if err := s.publish(); err != nil {
			return err
		}
		taken, reasons, glance, err := s.letAct(ctx, s.config.Stage2.Steps-acted)
		if err != nil {
			return err
		}
		if acted += taken; len(reasons) == 0 || acted >= s.config.Stage2.Steps || s.config.Stage1.Refresh == 0 {
			if taken > 0 {
				tell(Event{Steps: s.steps, What: "stage 2 ended: its steps are done", Reasons: reasons, Before: students.Reward, After: glance.Reward})
			}
			break
		}
		limit = s.config.Stage1.Refresh
		called = &Event{Steps: s.steps, What: "the notifier called everybody back to stage 1", Reasons: reasons, Before: glance.Reward}
	}
	return s.graduate(ctx)
}

// graduate lets a teacher that has gained in stage 2 teach once more, and examines
// everybody on episodes of their own.
func (s *School) graduate(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if tuned := s.examine(s.mind.Decide, evaluationStream); tuned.Reward > s.bestReward+s.config.Stage1.Gain {
		s.bestReward = tuned.Reward
		s.best = append(s.best[:0], s.teacher.Weights()...)
		s.distil()
		if err := s.publish(); err != nil {
			return err
		}
	} else {
		copy(s.teacher.Weights(), s.best)
	}
	s.progress(0.97, "examination")
	nobody := s.examine(func(_, actions []float32) { clear(actions) }, finalStream)
	nobody.Who = "nobody"
	taught := s.examine(s.mind.Decide, finalStream)
	taught.Who = "teacher"
	students, err := s.actFreely(finalStream)
	if err != nil {
		return err
	}
	s.report.Results = []Result{nobody, taught, students}
	s.report.Imitation = s.compare(finalStream)
	return nil
}

// model is what is given out.
func (s *School) model() (*drpc.Model, error) {
	m := &drpc.Model{
		App: s.subject.App.Name, Kind: s.config.Teacher.Kind, Shape: s.config.Shape, Teacher: s.teacher.Net().Clone(), Period: s.config.Period,
		Forecasts: s.forecasts, Version: s.version, Pace: s.config.Pace, Steps: s.config.Steps, Reward: s.config.Reward, Notifier: s.config.Notifier,
		Seen: s.seen, Mix: slices.Clone(s.mix),
		Training: modelfile.Training{Data: s.subject.Source, Samples: s.steps, Seed: s.config.Seed},
	}
	for i, student := range s.students {
		m.Services = append(m.Services, s.subject.App.Services[i].Name)
		m.Students = append(m.Students, student.Net().Clone())
	}
	on := fmt.Sprintf("%d episodes of their own", s.config.Stage1.Episodes)
	for _, r := range s.report.Results[1:] {
		m.Results = append(m.Results, modelfile.Result{
			Name: "mean reward, " + r.Who, On: on, Value: r.Reward, Baseline: "nobody", Against: s.report.Results[0].Reward,
		})
	}
	for _, i := range s.report.Imitation {
		m.Results = append(m.Results, modelfile.Result{Name: "imitation error, " + i.Service, On: on, Value: i.Error})
	}
	return m, nil
}
