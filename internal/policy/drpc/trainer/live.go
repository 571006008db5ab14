package trainer

import (
	"context"
	"fmt"
	"slices"

	"github.com/loadline/loadline/internal/train"

	"github.com/loadline/loadline/internal/nn"
	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/rl"
)

// A reopened trainer runs stage 2 in the users' cluster: students act there, and their
// experience is added from outside. Everything else, exploration included, happens in
// simulation.

// ConfigOf is the configuration that a model was trained with, as far as its file contains it.
func ConfigOf(m *drpc.Model) Config {
	c := Default(m.Kind)
	c.Shape, c.Period, c.Pace, c.Steps, c.Reward, c.Notifier, c.Shares = m.Shape, m.Period, m.Pace, m.Steps, m.Reward, m.Notifier, m.Shares
	c.Seed = m.Training.Seed
	c.Teacher.Hidden = nil
	layers := m.Teacher.Design().Layers
	for _, l := range layers[:len(layers)-1] {
		if l.Kind == nn.KindDense {
			c.Teacher.Hidden = append(c.Teacher.Hidden, l.Width)
		}
	}
	c.Forecast = slices.ContainsFunc(m.Services,
		func(service string) bool { return m.Forecasts[slices.Index(m.Services, service)] != nil })
	return c
}

// Reopen continues the training of a model. The trainer has the teacher's and the students'
// weights, but untrained critics and an empty replay: Work trains them in warmUp simulated
// steps, or Restore replaces them.
func Reopen(subject train.Scenario, config Config, m *drpc.Model, warmUp int, hooks Hooks) (*Trainer, error) {
	if err := m.IsOf(subject.App); err != nil {
		return nil, err
	}
	order := make([]int, len(m.Services)) // of the model's services, by the application's
	for i := range order {
		order[i] = slices.Index(m.Services, subject.App.Services[i].Name)
	}
	if config.Shape == drpc.Plain && !slices.IsSorted(order) {
		return nil, fmt.Errorf("drpc trainer: a plain teacher knows services by their order, and %s has another than the model: %v",
			subject.App.Name, m.Services)
	}
	s, err := found(subject, config, hooks)
	if err != nil {
		return nil, err
	}
	s.living = true
	for i, at := range order {
		s.forecasts[i] = m.Forecasts[at]
	}
	if config.Forecast {
		s.table = train.NewForecastTable(subject, forecastSpec, s.forecasts)
	}
	if err := s.open(); err != nil {
		return nil, err
	}
	if have, want := m.Teacher.Size(), len(s.teacher.Weights()); have != want {
		return nil, fmt.Errorf("drpc trainer: the model's teacher has %d weights, one of these settings %d: give the settings that "+
			"it was trained with (%d services of shape %s, layers of %v)", have, want, len(m.Services), config.Shape,
			config.Teacher.Hidden)
	}
	copy(s.teacher.Weights(), m.Teacher.Params())
	copy(s.reference.Net.Params(), m.Teacher.Params())
	for i, at := range order {
		copy(s.students[i].Net().Params(), m.Students[at].Params())
	}
	s.visits, s.mix, s.version = drpc.VisitCountsFrom(m.Visits.Table()), slices.Clone(m.Mix), m.Version
	s.beginWarm(max(warmUp, 1))
	return s, nil
}

// Busy reports whether Work has something to do before the trainer accepts experience.
func (s *Trainer) Busy() bool { return s.phase != acting }

// Work runs until the trainer accepts experience: it warms up, retrains and distils. When
// the context is done it stops between two units; the next call continues.
func (s *Trainer) Work(ctx context.Context) error { return s.until(ctx, acting) }

// Warming reports whether only the critics are being trained, so that students do not change.
func (s *Trainer) Warming() bool { return s.phase == warming }

// Encoder is that of the trainer's environment.
func (s *Trainer) Encoder() *drpc.Encoder { return s.env.encoder }

// AddExperience adds a transition of the users' cluster: the global state before and
// after, the students' actions and the reward. It returns the notifier's reasons to
// retrain, if any.
func (s *Trainer) AddExperience(from, to *drpc.View, mix drpc.Mix, done []float32, reward float64) []drpc.Reason {
	observation := s.Encoder().Encode(s.config.Shape, from, nil)
	next := s.Encoder().Encode(s.config.Shape, to, nil)
	sample := s.signals(observation, from.Locals, mix)
	sample.Reward = reward
	// The users' cluster has no episodes: nothing is truncated.
	s.learnFrom(rl.Transition{Observation: observation, Action: rl.Action{Values: done}, Next: next, Result: rl.Result{Reward: reward}})
	s.training.Advance(1)
	s.stage2.taken++
	return s.stage2.notifier.Notify(sample)
}

// Signals are the notifier's recent means.
func (s *Trainer) Signals() drpc.Signals { return s.stage2.notifier.Means() }

// Retrain returns to stage 1, in simulation with the present mix of requests (nil = as
// before).
func (s *Trainer) Retrain(why []drpc.Reason, mix drpc.Mix) error {
	before := s.Signals().Reward
	s.stage2.notifier.Reset()
	if mix != nil {
		s.live, s.mix = slices.Clone(mix), slices.Clone(mix)
		if err := s.enter(); err != nil {
			return err
		}
	}
	students, err := s.actFreely(checkStream)
	if err != nil {
		return err
	}
	s.former = former{reward: students.Reward, teacher: slices.Clone(s.teacher.Weights()), students: s.everyWeight()}
	s.called = &Event{Steps: s.training.Steps(), What: "the notifier restarted stage 1", Reasons: why, Before: before}
	s.beginStage1(max(s.config.Stage1.Refresh, 1))
	return nil
}

// former holds the weights before retraining, and the students' reward with them in the
// present environment.
type former struct {
	reward            float64
	teacher, students []float32
}

func (s *Trainer) everyWeight() []float32 {
	var all []float32
	for _, student := range s.students {
		all = append(all, student.Net().Params()...)
	}
	return all
}

// better reports whether the retrained students are at least as good as before. If not,
// all weights from before are restored.
func (s *Trainer) better(students train.Result) bool {
	f := s.former
	s.former = former{}
	if len(f.students) == 0 || students.Reward >= f.reward {
		return true
	}
	copy(s.teacher.Weights(), f.teacher)
	copy(s.reference.Net.Params(), f.teacher)
	for i, student := range s.students {
		n := student.Net().Size()
		copy(student.Net().Params(), f.students[i*n:][:n])
	}
	s.training.KeepBest(s.evaluate(s.decider.Decide, evaluationStream).Reward)
	s.called.What += fmt.Sprintf(", where they came to %.3f and were at %.3f before: what they learned is left", students.Reward, f.reward)
	s.called.After = f.reward
	return false
}

// Evaluate evaluates the teacher in simulation. If it has gained, Work distils its
// students; if it has lost much, its best weights are restored.
func (s *Trainer) Evaluate() (reward float64, gained, lost bool) {
	reward = s.evaluate(s.decider.Decide, evaluationStream).Reward
	switch gain := s.config.Stage1.Gain; {
	case reward > s.training.Best()+gain:
		s.training.KeepBest(reward)
		s.beginDistillation(fmt.Sprintf("the teacher has gained from what its students did, and is at %.3f", reward), reward, comparing)
		gained = true
	case reward < s.training.Best()-muchLost*gain:
		s.training.AdoptBest()
		lost = true
	}
	return reward, gained, lost
}

// muchLost is the loss of reward that is tolerated, in multiples of Gain: TD3 is unstable.
const muchLost = 10

// Best is the best reward of the teacher in the present environment.
func (s *Trainer) Best() float64 { return s.training.Best() }

// Steps is the number of steps of all stages so far.
func (s *Trainer) Steps() int { return s.training.Steps() }
