package trainer

import (
	"errors"
	"fmt"
	"time"

	"github.com/loadline/loadline/internal/forecast"
	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/rl"
	"github.com/loadline/loadline/internal/train"
)

// Stage2 configures stage 2.
type Stage2 struct {
	Steps   int // of the teacher's period, in total
	Updates int // of the teacher per step
	Stream  int // capacity of the transport, in experiences
}

// publish puts every student's weights into the store.
func (s *Trainer) publish() error {
	s.version++
	for _, student := range s.students {
		if err := s.transport.Put(drpc.WeightsOf(student, s.version)); err != nil {
			return fmt.Errorf("drpc trainer: %w", err)
		}
	}
	return nil
}

// field runs copies of the students for an episode: they act with published weights and
// publish their experience.
type field struct {
	policy *drpc.Policy
	outbox []drpc.Outbox
}

func (s *Trainer) newField() (*field, error) {
	// The arena's loop forecasts, so no forecasters are needed.
	m := &drpc.Model{
		App: s.subject.App.Name, Kind: s.config.Teacher.Kind, Shape: s.config.Shape, Period: s.config.Period, Pace: s.config.Pace,
		Steps: s.config.Steps, Shares: s.config.Shares,
		Forecasts: make([]*forecast.GRU, len(s.students)),
	}
	for i, student := range s.students {
		m.Services = append(m.Services, s.subject.App.Services[i].Name)
		m.Students = append(m.Students, student.Net())
	}
	f := &field{outbox: make([]drpc.Outbox, len(s.students))}
	var err error
	if f.policy, err = drpc.NewPolicy(m, s.subject.App, drpc.Work{Decider: drpc.ByStudents}); err != nil {
		return nil, err
	}
	for i := range f.outbox {
		f.outbox[i] = drpc.Outbox{Service: m.Services[i], Epoch: uint64(s.training.Episodes()) + 1, Most: 256}
	}
	f.policy.Decided = func(service int, now time.Time, local *drpc.Local, done drpc.Action) {
		f.outbox[service].Add(now, f.policy.Student(service).Version(), local, done)
	}
	return f, nil
}

// watch adopts newly published weights.
func (f *field) watch(store drpc.WeightStore) error {
	for i := range f.outbox {
		w, err := store.Latest(f.outbox[i].Service)
		if errors.Is(err, drpc.ErrNone) {
			continue
		}
		if err != nil {
			return err
		}
		if student := f.policy.Student(i); w.Version > student.Version() {
			if err := student.Adopt(w); err != nil {
				return err
			}
		}
	}
	return nil
}

// step lets the students act for one period of the teacher, one pass per beat.
func (f *field) step(w *Env, up drpc.Uplink) error {
	for range w.config.Period / w.config.Beat {
		w.Follow(f.policy)
		w.Advance(w.config.Beat)
		w.observe()
		for i := range f.outbox {
			if up == nil {
				break
			}
			if err := f.outbox[i].Flush(up); err != nil {
				return err
			}
		}
	}
	w.CountStep()
	return nil
}

// stage2 is the progress of stage 2.
type stage2 struct {
	acted     int     // steps of all completed runs of stage 2
	taken     int     // steps of the present run
	before    float64 // the students' reward at its start
	collector *drpc.Collector
	notifier  *drpc.Notifier
}

// begin starts stage 2, or skips it if its steps are done.
func (t *stage2) begin(s *Trainer, before float64) {
	t.taken, t.before = 0, before
	t.collector, t.notifier = drpc.NewCollector(s.subject.App), drpc.NewNotifier(s.config.Notifier)
	s.phase = acting
	if !s.living && t.acted >= s.config.Stage2.Steps {
		s.phase = tuning
	}
}

// act is an episode of stage 2 (lines 11 to 14). The stage ends when the notifier
// triggers, or when its steps are done.
func (s *Trainer) act() error {
	t := &s.stage2
	x := actors{trainer: s}
	if err := s.training.Explore(&x, actStream); err != nil {
		return err
	}
	if len(x.called) > 0 {
		s.endStage2(x.called)
		return nil
	}
	s.hooks.progress(stage1Until+(stage2Until-stage1Until)*min(1, float64(t.acted+t.taken)/float64(s.config.Stage2.Steps)), "stage 2")
	if t.acted+t.taken >= s.config.Stage2.Steps {
		s.endStage2(nil)
	}
	return nil
}

// actors are the students in stage 2: they act, and the teacher learns from their
// experience.
type actors struct {
	trainer *Trainer
	called  []drpc.Reason // why the notifier ended the episode; empty = it did not
}

// Explore implements rl.Explorer.
func (x *actors) Explore(e *rl.Episode) error {
	s := x.trainer
	t := &s.stage2
	observation, next := s.newObservation(), s.newObservation()
	s.env.Reset(e.Rand, observation)
	f, err := s.newField()
	if err != nil {
		return err
	}
	for !s.env.Over() {
		if err := f.watch(s.transport); err != nil {
			return err
		}
		sample := s.signals(observation, s.env.locals, drpc.MixOf(s.env.Situation().Now()))
		if err := f.step(s.env, s.transport); err != nil {
			return err
		}
		if err := t.collector.Drain(s.transport); err != nil {
			return err
		}
		t.collector.Take(s.action.Values)
		s.env.fill(next)
		sample.Reward = s.env.score.Reward
		e.Step()
		e.Reward(sample.Reward)
		e.Learned(s.learnFrom(rl.Transition{
			Observation: observation, Action: s.action, Next: next,
			Result: rl.Result{Reward: sample.Reward, Truncated: s.env.Over()},
		}))
		observation, next = next, observation
		t.taken++
		if x.called = t.notifier.Notify(sample); len(x.called) > 0 {
			return nil
		}
	}
	for i := range f.outbox {
		s.report.Carried.Lost += f.outbox[i].Lost
	}
	return nil
}

// learnFrom trains the teacher on the students' experience. It returns the loss of the
// last update.
func (s *Trainer) learnFrom(t rl.Transition) (loss float64, updated bool) {
	s.teacher.Remember(t)
	for range s.config.Stage2.Updates {
		loss, updated = s.teacher.Update(), true
	}
	return loss, updated
}

// endStage2 returns to stage 1 if the notifier gave reasons, and else goes on.
func (s *Trainer) endStage2(why []drpc.Reason) {
	t := &s.stage2
	t.acted += t.taken
	s.report.Carried.Decisions += uint64(t.collector.Counted)
	_, s.report.Carried.Bytes = s.transport.Carried()
	means := t.notifier.Means()
	if len(why) == 0 || t.acted >= s.config.Stage2.Steps || s.config.Stage1.Refresh == 0 {
		s.notify(Event{Steps: s.training.Steps(), What: "stage 2 ended: its steps are done", Reasons: why, Before: t.before,
			After: means.Reward})
		s.phase = tuning
		return
	}
	s.called = &Event{Steps: s.training.Steps(), What: "the notifier restarted stage 1", Reasons: why, Before: means.Reward}
	s.beginStage1(s.config.Stage1.Refresh)
}

// signals computes the notifier's inputs for the state that the students are about to act
// in. Students are compared with the teacher at the time of their training, because the
// teacher has learned since.
func (s *Trainer) signals(observation []float32, locals []drpc.Local, mix drpc.Mix) drpc.Signals {
	var g drpc.Signals
	var want drpc.Action
	s.reference.Decide(observation, s.wants)
	n := float64(len(s.students))
	for i, student := range s.students {
		local := &locals[i]
		if s.visits.Novel(local) {
			g.Novelty += 1 / n
		}
		student.Decide(local, &want)
		for axis, x := range want {
			d := float64(x - s.wants[i*drpc.Axes+axis])
			g.Imitation += d * d / (n * drpc.Axes)
		}
	}
	g.Drift = mix.Drift(s.mix)
	return g
}

// actFreely evaluates the students at their own pace on the episodes of a stream. Their
// experience is not published.
func (s *Trainer) actFreely(stream uint64) (train.Result, error) {
	r, steps := train.Result{Policy: "students"}, 0.0
	observation := make([]float32, s.evaluation.Spaces().Observation)
	for e := range s.config.Stage1.Episodes {
		f, err := s.newField()
		if err != nil {
			return r, err
		}
		s.evaluation.Reset(rl.NewRNG(s.config.Seed, stream+uint64(e)).Rand, observation)
		for !s.evaluation.Over() {
			if err := f.step(s.evaluation, nil); err != nil {
				return r, err
			}
			add(&r, s.evaluation.Score())
			steps++
		}
	}
	return r.Mean(steps), nil
}
