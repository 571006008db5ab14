package rl

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// Episode is the state of one training episode. Its trainee counts into it.
type Episode struct {
	Rand     *rand.Rand // all random numbers of the environment
	training *Training
	steps    int
	sum      float64 // of rewards
}

// Step counts a step, and reports whether the episode is cut off after it.
func (e *Episode) Step() (cut bool) {
	t := e.training
	e.steps++
	t.steps++
	return e.steps == t.config.LongestEpisode || (!t.config.WholeEpisodes && t.steps == t.config.Steps)
}

// Reward of a step.
func (e *Episode) Reward(r float64) { e.sum += r }

// Mean reward of a step so far.
func (e *Episode) Mean() float64 { return e.sum / float64(e.steps) }

// Learned records the result of learning from a step.
func (e *Episode) Learned(loss float64, updated bool) {
	t := e.training
	if updated {
		t.since.losses += loss
		t.since.updates++
	}
	if t.run != nil {
		t.run.report(t)
	}
}

// Single is one agent in one environment. Trainees that evaluate differently, or do more than
// exploring, embed it.
type Single struct {
	Env    Env
	Agent  Agent
	Before func(observation []float32) // called before each decision; may be nil
	After  func()                      // called after learning from each step; may be nil

	action            Action
	observation, next []float32
}

// Explore implements Trainee.
func (s *Single) Explore(e *Episode) error {
	if s.observation == nil {
		spaces := s.Env.Spaces()
		s.action, s.observation, s.next = spaces.NewAction(), make([]float32, spaces.Observation), make([]float32, spaces.Observation)
	}
	s.Env.Reset(e.Rand, s.observation)
	for over := false; !over; {
		if s.Before != nil {
			s.Before(s.observation)
		}
		s.Agent.Explore(s.observation, &s.action)
		result := s.Env.Step(&s.action, s.next)
		// The end of the steps cuts off too: the agent must learn from it.
		if e.Step() && !result.Terminated {
			result.Truncated = true
		}
		e.Reward(result.Reward)
		e.Learned(s.Agent.Learn(Transition{s.observation, s.action, result, s.next}))
		if s.After != nil {
			s.After()
		}
		over = result.Ends()
		s.observation, s.next = s.next, s.observation
	}
	return nil
}

// Evaluate implements Trainee by the mean return.
func (s *Single) Evaluate(seed uint64, c TrainingConfig) (float64, error) {
	return Evaluate(s.Env, s.Agent, seed, c.Episodes, c.LongestEpisode).Mean(), nil
}

// Weights implements Trainee.
func (s *Single) Weights() [][]float32 { return [][]float32{s.Agent.Weights()} }

// Archive saves or restores the agent.
func (s *Single) Archive(a *Archive) {
	spaces := s.Env.Spaces()
	a.Label(fmt.Sprintf("a training with observations of %d, %d choices and %d dimensions", spaces.Observation, spaces.Choices,
		spaces.Dimensions))
	s.Agent.Archive(a)
}

// run is the state of one call of Training.Run besides the training's own.
type run struct {
	hooks    Hooks
	began    time.Time
	from     int     // steps at its start
	last     float64 // return of the last episode
	reported int     // steps at the last report
}

func newRun(t *Training, hooks Hooks) *run {
	r := &run{hooks: hooks, from: t.steps, last: math.NaN()}
	if hooks.Now != nil {
		r.began = hooks.Now()
	}
	return r
}

// reportEvery is the number of steps between reports of progress.
const reportEvery = 512

// report reports progress, if it is due.
func (r *run) report(t *Training) {
	if r.hooks.Progress == nil || t.steps%reportEvery != 0 || t.steps == r.reported {
		return
	}
	r.reported = t.steps
	p := Progress{
		Steps: t.steps, Of: t.config.Steps, Episodes: t.episodes, Return: r.last,
		Loss: t.since.losses / float64(t.since.updates), Evaluation: math.NaN(),
	}
	if len(t.curve) > 0 {
		p.Evaluation = t.curve[len(t.curve)-1].Evaluation
	}
	if r.hooks.Now != nil {
		if elapsed := r.hooks.Now().Sub(r.began).Seconds(); elapsed > 0 {
			p.StepsPerSecond = float64(t.steps-r.from) / elapsed
			p.Left = time.Duration(float64(t.config.Steps-t.steps) / p.StepsPerSecond * float64(time.Second))
		}
	}
	r.hooks.Progress(p)
}

var _ Trainee = (*Single)(nil)
