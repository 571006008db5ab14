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

// A reopened trainer is one whose stage 2 is the users' cluster: students act there, and
// what comes back is given to it from outside. Everything else, exploring above all, it
// does in simulation.

// ConfigOf a model: how it was trained, as far as the file says.
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
// weights, but no critics and an empty replay: those it gets in so many simulated steps
// of Work, or by Restore.
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
		return nil, fmt.Errorf("drpc trainer: the model's teacher has %d weights, one of these settings %d: give the settings that it was trained with (%d services of shape %s, layers of %v)", have, want, len(m.Services), config.Shape, config.Teacher.Hidden)
	}
	copy(s.teacher.Weights(), m.Teacher.Params())
	copy(s.tutor.Net.Params(), m.Teacher.Params())
	for i, at := range order {
		copy(s.students[i].Net().Params(), m.Students[at].Params())
	}
	s.seen, s.mix, s.version = drpc.SeenFrom(m.Seen.Table()), slices.Clone(m.Mix), m.Version
	s.beginWarm(max(warmUp, 1))
	return s, nil
}

// Busy says whether there is work to do before the trainer listens again.
func (s *Trainer) Busy() bool { return s.phase != acting }

// Work until the trainer listens: warm up, explore after a call, teach. When the
// context is done it stops between two units, and goes on the next time.
func (s *Trainer) Work(ctx context.Context) error { return s.until(ctx, acting) }

// Warming says whether it only gets to know its critics: students are as they were.
func (s *Trainer) Warming() bool { return s.phase == warming }

// Eyes of the trainer.
func (s *Trainer) Eyes() *drpc.Eyes { return s.env.eyes }

// Listen takes in a stretch of the users' cluster: the whole before and after, what
// students did, and what it was worth. It says why the notifier calls, if it does.
func (s *Trainer) Listen(from, to *drpc.View, mix drpc.Mix, done []float32, reward float64) []drpc.Reason {
	observation := s.Eyes().Lay(s.config.Shape, from, nil)
	next := s.Eyes().Lay(s.config.Shape, to, nil)
	glance := s.glance(observation, from.Locals, mix)
	glance.Reward = reward
	// The users' cluster has no episodes: nothing is cut off.
	s.learnFrom(rl.Transition{Observation: observation, Action: rl.Action{Values: done}, Next: next, Result: rl.Result{Reward: reward}})
	s.stage2.taken++
	return s.stage2.notifier.Notify(glance)
}

// Means of what the notifier has seen of late.
func (s *Trainer) Means() drpc.Glance { return s.stage2.notifier.Means() }

// Recall returns to stage 1, in simulation with the mix of requests that
// is lived with (nil = as it was).
func (s *Trainer) Recall(why []drpc.Reason, mix drpc.Mix) error {
	before := s.Means().Reward
	s.stage2.notifier.Forget()
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
	s.called = &Event{Steps: s.training.Steps(), What: "the notifier called everybody back to stage 1", Reasons: why, Before: before}
	s.beginStage1(max(s.config.Stage1.Refresh, 1))
	return nil
}

// former is everybody as they were when they were called back, and what the students
// achieved then in the world as it has become.
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

// better says whether students have not lost by going back to stage 1; if they have,
// all are again as they were.
func (s *Trainer) better(students train.Result) bool {
	f := s.former
	s.former = former{}
	if len(f.students) == 0 || students.Reward >= f.reward {
		return true
	}
	copy(s.teacher.Weights(), f.teacher)
	copy(s.tutor.Net.Params(), f.teacher)
	for i, student := range s.students {
		n := student.Net().Size()
		copy(student.Net().Params(), f.students[i*n:][:n])
	}
	s.training.KeepBest(s.evaluate(s.mind.Decide, evaluationStream).Reward)
	s.called.What += fmt.Sprintf(", where they came to %.3f and were at %.3f before: what they learned is left", students.Reward, f.reward)
	s.called.After = f.reward
	return false
}

// Evaluate the teacher in simulation. One that has gained is to teach
// (Work); one that has lost much goes back to what it was at its best.
func (s *Trainer) Evaluate() (reward float64, gained, lost bool) {
	reward = s.evaluate(s.mind.Decide, evaluationStream).Reward
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

// muchLost is how many gains a teacher may lose: TD3 is not steady.
const muchLost = 10

// Best is the teacher's reward at its best, in the world as it is.
func (s *Trainer) Best() float64 { return s.training.Best() }

// Steps of all stages, so far.
func (s *Trainer) Steps() int { return s.training.Steps() }
