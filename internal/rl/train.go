package rl

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// TrainingConfig configures the length of training, evaluations and stopping.
type TrainingConfig struct {
	Steps          int      // in the environment, in all
	LongestEpisode int      // longer ones are cut off; 0 = the environment's own end
	WholeEpisodes  bool     // the last episode is not cut off at the end of the steps; there is at least one
	EvaluateEvery  int      // steps, at the next end of an episode; 0 = only at the end
	EvenlySpaced   bool     // EvaluateEvery counts from the last evaluation instead of in multiples of itself
	Episodes       int      // of each evaluation; 0 = do not evaluate
	GoodEnough     *float64 // score of an evaluation that ends the training
	Patience       int      // evaluations without improvement after which the training has converged and ends; 0 = never
	Gain           float64  // improvement of the best score that counts
}

// Trainee is what a training trains: one agent in one environment ([Single]), or
// several that learn together.
type Trainee interface {
	// Explore runs one episode of exploring and learning, and counts it.
	Explore(e *Episode) error

	// Evaluate scores the present policy, without exploring. Higher is better.
	Evaluate(seed uint64, c TrainingConfig) (score float64, err error)

	// Weights are what is kept at the best evaluation: the parameters themselves,
	// not a copy.
	Weights() [][]float32
}

// Training is the training loop: explore and learn, evaluate, keep the best weights, stop when
// the steps are done or the score has converged. If the trainee has an Archive method, the
// training can be saved whenever Run has returned, or by a hook, and resumed by Restore.
type Training struct {
	trainee Trainee
	seed    uint64
	config  TrainingConfig

	steps, episodes int
	curve           []Point
	evaluated       int   // steps at the last point of the curve
	since           tally // since that point
	best            [][]float32
	bestScore       float64
	stale           int // evaluations without improvement
	plateau         int // steps at which the score had first converged; 0 = it has not

	rng *RNG
	run *run
}

// Point of a learning curve.
type Point struct {
	Steps      int     `json:"steps"`
	Episodes   int     `json:"episodes"`
	Return     float64 `json:"return"`     // mean of the episodes explored since the last point; NaN = none
	Explored   float64 `json:"-"`          // mean reward of a step in them
	Loss       float64 `json:"loss"`       // mean of the updates since then; NaN = none
	Evaluation float64 `json:"evaluation"` // score of the evaluation; NaN = none
}

// tally accumulates the data of a point.
type tally struct {
	returns, losses          float64
	steps, episodes, updates int
}

// Progress of a training.
type Progress struct {
	Steps, Of      int
	Episodes       int
	Return         float64 // of the last episode; NaN before there is one
	Loss           float64 // mean since the last point of the curve
	Evaluation     float64 // the last one; NaN before there is one
	StepsPerSecond float64 // of this run; 0 without a clock
	Left           time.Duration
}

// Hooks report on a training. All may be nil.
type Hooks struct {
	Progress   func(Progress)
	EveryPoint func(Point)      // of the learning curve, as it is made
	AtEpisode  func(*Training)  // at the end of each episode, where Save may be called
	Now        func() time.Time // for the rate of steps; no result depends on it
}

// NewTraining trains one agent in one environment. The seed is for the environment; the agent
// has its own.
func NewTraining(env Env, agent Agent, seed uint64, config TrainingConfig) *Training {
	return NewTrainingOf(&Single{Env: env, Agent: agent}, seed, config)
}

// NewTrainingOf trains any trainee.
func NewTrainingOf(trainee Trainee, seed uint64, config TrainingConfig) *Training {
	return &Training{trainee: trainee, seed: seed, config: config, bestScore: math.Inf(-1), rng: NewRNG(seed, trainingStream)}
}

// Run trains until Done or until ctx is done, in which case it finishes the episode and returns
// ctx's error: the training can then be saved and resumed.
func (t *Training) Run(ctx context.Context, hooks Hooks) error {
	t.run = newRun(t, hooks)
	defer func() { t.run = nil }()
	for !t.Done() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := t.Next(hooks); err != nil {
			return err
		}
	}
	return nil
}

// Done reports whether the steps are done, an evaluation was good enough, or the score has
// converged.
func (t *Training) Done() bool {
	if t.config.WholeEpisodes && len(t.curve) == 0 {
		return false
	}
	goodEnough := t.config.GoodEnough != nil && t.bestScore >= *t.config.GoodEnough
	return t.steps >= t.config.Steps || goodEnough || t.LevelledOff()
}

// LevelledOff reports whether the last evaluations brought no improvement.
func (t *Training) LevelledOff() bool { return t.config.Patience > 0 && t.stale >= t.config.Patience }

// Next runs one episode, and an evaluation if it is due.
func (t *Training) Next(hooks Hooks) (evaluated bool, err error) {
	if err := t.Explore(t.trainee, trainingStream); err != nil {
		return false, err
	}
	if evaluated = t.due(); evaluated {
		if err := t.addPoint(hooks); err != nil {
			return false, err
		}
	}
	if hooks.AtEpisode != nil {
		hooks.AtEpisode(t)
	}
	return evaluated, nil
}

// due reports whether a point of the curve is due: its steps have passed, or this is the end.
func (t *Training) due() bool {
	every := t.config.EvaluateEvery
	switch {
	case t.steps >= t.config.Steps:
		return true
	case every <= 0:
		return false
	case t.config.EvenlySpaced:
		return t.steps-t.evaluated >= every
	}
	return t.steps/every > t.evaluated/every
}

// addPoint evaluates, keeps the weights if they are the best so far, and adds to the curve.
func (t *Training) addPoint(hooks Hooks) error {
	p := Point{
		Steps: t.steps, Episodes: t.episodes, Evaluation: math.NaN(), Return: t.since.returns / float64(t.since.episodes),
		Explored: t.since.returns / float64(t.since.steps), Loss: t.since.losses / float64(t.since.updates),
	}
	t.since, t.evaluated = tally{}, t.steps
	if t.config.Episodes > 0 {
		var err error
		if p.Evaluation, err = t.trainee.Evaluate(t.seed, t.config); err != nil {
			return err
		}
		t.stale++
		if p.Evaluation > t.bestScore+t.config.Gain {
			t.stale = 0
		}
		if p.Evaluation > t.bestScore {
			t.KeepBest(p.Evaluation)
		}
		if t.LevelledOff() && t.plateau == 0 {
			t.plateau = t.steps
		}
	}
	t.curve = append(t.curve, p)
	if hooks.EveryPoint != nil {
		hooks.EveryPoint(p)
	}
	return nil
}

// Steps taken so far.
func (t *Training) Steps() int { return t.steps }

// Episodes so far.
func (t *Training) Episodes() int { return t.episodes }

// Curve is the learning curve so far.
func (t *Training) Curve() []Point { return slices.Clone(t.curve) }

// Plateau is the number of steps at which the score had first converged; 0 = it has not.
func (t *Training) Plateau() int { return t.plateau }

// Best is the score of the best evaluation; -Inf before there is one.
func (t *Training) Best() float64 { return t.bestScore }

// KeepBest keeps the present weights as the best, with their score.
func (t *Training) KeepBest(score float64) {
	t.bestScore = score
	weights := t.trainee.Weights()
	if len(t.best) != len(weights) {
		t.best = make([][]float32, len(weights))
	}
	for i, w := range weights {
		t.best[i] = append(t.best[i][:0], w...)
	}
}

// AdoptBest gives the trainee its weights at the best evaluation.
func (t *Training) AdoptBest() {
	if t.best == nil {
		return
	}
	for i, w := range t.trainee.Weights() {
		copy(w, t.best[i])
	}
}

// Advance counts steps that were taken outside of the training's episodes.
func (t *Training) Advance(steps int) { t.steps += steps }

// Restart begins another round of at most the given steps: the environment may have changed, so
// earlier scores do not count.
func (t *Training) Restart(steps int) {
	t.Limit(t.steps + steps)
	t.evaluated, t.stale, t.since, t.bestScore = t.steps, 0, tally{}, math.Inf(-1)
}

// Limit sets the total number of steps.
func (t *Training) Limit(steps int) { t.config.Steps = steps }

// Save returns everything that the rest of the training depends on.
func (t *Training) Save() []byte { return Save(t) }

// Restore continues a saved training of a trainee with the same settings. The number of steps
// may differ, to train longer.
func (t *Training) Restore(data []byte) error {
	if err := Restore(data, t); err != nil {
		return fmt.Errorf("resume training: %w", err)
	}
	return nil
}

// Archive saves or restores the training and its trainee.
func (t *Training) Archive(a *Archive) {
	trainee, ok := t.trainee.(interface{ Archive(*Archive) })
	if !ok {
		a.Fail(errors.New("rl: this training cannot be saved"))
		return
	}
	a.Uint64(&t.seed)
	for _, n := range []*int{&t.steps, &t.episodes, &t.evaluated, &t.stale, &t.plateau} {
		a.Int(n)
	}
	points := a.length(len(t.curve), 48)
	if a.Restoring() {
		t.curve = make([]Point, points)
	}
	for i := range t.curve {
		t.curve[i].archive(a)
	}
	t.since.archive(a)
	a.Float(&t.bestScore)
	kept := a.length(len(t.best), 8)
	if a.Restoring() {
		t.best = make([][]float32, kept)
	}
	for i := range t.best {
		a.Some(&t.best[i])
	}
	trainee.Archive(a)
	if a.Restoring() && a.Err() == nil {
		a.Fail(t.checkBest())
	}
}

// checkBest checks that the best weights fit the trainee.
func (t *Training) checkBest() error {
	if len(t.best) == 0 {
		t.best = nil
		return nil
	}
	weights := t.trainee.Weights()
	if len(t.best) != len(weights) {
		return fmt.Errorf("rl: the saved policy has %d networks, this one %d", len(t.best), len(weights))
	}
	for i, w := range weights {
		if len(t.best[i]) != len(w) {
			return fmt.Errorf("rl: the saved policy has %d weights, this one %d", len(t.best[i]), len(w))
		}
	}
	return nil
}

func (p *Point) archive(a *Archive) {
	a.Int(&p.Steps)
	a.Int(&p.Episodes)
	for _, v := range []*float64{&p.Return, &p.Explored, &p.Loss, &p.Evaluation} {
		a.Float(v)
	}
}

func (s *tally) archive(a *Archive) {
	a.Float(&s.returns)
	a.Float(&s.losses)
	a.Int(&s.steps)
	a.Int(&s.episodes)
	a.Int(&s.updates)
}
