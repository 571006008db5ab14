package rl

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"
)

// TrainingConfig is how long to train and how to watch it.
type TrainingConfig struct {
	Steps          int      // in the environment, in all
	LongestEpisode int      // longer ones are cut off; 0 = the environment's own end
	EvaluateEvery  int      // steps, at the next end of an episode; 0 = only at the end
	Episodes       int      // of each evaluation; 0 = do not evaluate
	GoodEnough     *float64 // mean return of an evaluation that ends the training
}

// Training takes one agent through episodes of one environment. It can be saved
// whenever Run has returned, or by a hook, and resumed by Restore.
type Training struct {
	env    Env
	agent  Agent
	seed   uint64
	config TrainingConfig

	steps, episodes int
	curve           []Point
	since           tally // since the last point of the curve
	best            []float32
	bestMean        float64
}

// Point of a learning curve.
type Point struct {
	Steps      int     `json:"steps"`
	Episodes   int     `json:"episodes"`
	Return     float64 `json:"return"`     // mean of the episodes explored since the last point; NaN = none
	Loss       float64 `json:"loss"`       // mean of the updates since then; NaN = none
	Evaluation float64 `json:"evaluation"` // mean return of the evaluation; NaN = none
}

// tally sums up what becomes a point.
type tally struct {
	returns, losses   float64
	episodes, updates int
}

// Progress is how far a training is.
type Progress struct {
	Steps, Of      int
	Episodes       int
	Return         float64 // of the last episode; NaN before there is one
	Loss           float64 // mean since the last point of the curve
	Evaluation     float64 // the last one; NaN before there is one
	StepsPerSecond float64 // of this run; 0 without a clock
	Left           time.Duration
}

// Hooks are what a training tells. All may be nil.
type Hooks struct {
	Progress   func(Progress)
	EveryPoint func(Point)      // of the learning curve, as it is made
	AtEpisode  func(*Training)  // at the end of each episode: the place to Save
	Now        func() time.Time // for the rate of steps; no result depends on it
}

// NewTraining is ready to Run. The seed is the environment's; the agent has its
// own.
func NewTraining(env Env, agent Agent, seed uint64, config TrainingConfig) *Training {
	return &Training{env: env, agent: agent, seed: seed, config: config, bestMean: math.Inf(-1)}
}

// Run trains until the steps are done, an evaluation is good enough, or ctx is
// done, in which case it goes on to the end of the episode and returns ctx's
// error: what Save then gives can be resumed.
func (t *Training) Run(ctx context.Context, hooks Hooks) error {
	r := newRun(t, hooks)
	for t.steps < t.config.Steps && !t.goodEnough() {
		if err := ctx.Err(); err != nil {
			return err
		}
		t.episode(r)
		if t.due() {
			t.addPoint(hooks)
		}
		if hooks.AtEpisode != nil {
			hooks.AtEpisode(t)
		}
	}
	return nil
}

// due says whether it is time for a point of the curve: the steps of one have
// passed, or this is the end.
func (t *Training) due() bool {
	last := 0
	if len(t.curve) > 0 {
		last = t.curve[len(t.curve)-1].Steps
	}
	every := t.config.EvaluateEvery
	return t.steps >= t.config.Steps || (every > 0 && t.steps/every > last/every)
}

func (t *Training) goodEnough() bool {
	return t.config.GoodEnough != nil && t.bestMean >= *t.config.GoodEnough
}

// run is what one call of Run needs besides the training's own state.
type run struct {
	hooks             Hooks
	chance            *Chance
	action            Action
	observation, next []float32
	began             time.Time
	from              int // steps when it began
	last              float64
}

func newRun(t *Training, hooks Hooks) *run {
	spaces := t.env.Spaces()
	r := &run{
		hooks: hooks, chance: NewChance(t.seed, trainingStream), action: spaces.NewAction(), from: t.steps, last: math.NaN(),
		observation: make([]float32, spaces.Observation), next: make([]float32, spaces.Observation),
	}
	if hooks.Now != nil {
		r.began = hooks.Now()
	}
	return r
}

// tellEvery is how many steps pass between two reports of progress.
const tellEvery = 512

// episode is one of exploring and learning.
func (t *Training) episode(r *run) {
	r.chance.Restart(t.seed, trainingStream+uint64(t.episodes))
	t.env.Reset(r.chance.Rand, r.observation)
	sum := 0.0
	for length, over := 1, false; !over; length++ {
		t.agent.Explore(r.observation, &r.action)
		result := t.env.Step(&r.action, r.next)
		t.steps++
		// The budget's end cuts off too: the agent must hear of it.
		if !result.Terminated && (length == t.config.LongestEpisode || t.steps == t.config.Steps) {
			result.Truncated = true
		}
		loss, updated := t.agent.Learn(Transition{r.observation, r.action, result, r.next})
		if updated {
			t.since.losses += loss
			t.since.updates++
		}
		sum += result.Reward
		over = result.Ends()
		r.observation, r.next = r.next, r.observation
		if t.steps%tellEvery == 0 && r.hooks.Progress != nil {
			r.hooks.Progress(t.progress(r))
		}
	}
	t.episodes++
	t.since.returns += sum
	t.since.episodes++
	r.last = sum
}

func (t *Training) progress(r *run) Progress {
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
	return p
}

// addPoint evaluates and draws the sum.
func (t *Training) addPoint(hooks Hooks) {
	p := Point{
		Steps: t.steps, Episodes: t.episodes, Evaluation: math.NaN(),
		Return: t.since.returns / float64(t.since.episodes), Loss: t.since.losses / float64(t.since.updates),
	}
	t.since = tally{}
	if t.config.Episodes > 0 {
		p.Evaluation = Evaluate(t.env, t.agent, t.seed, t.config.Episodes, t.config.LongestEpisode).Mean()
		if p.Evaluation > t.bestMean {
			t.bestMean, t.best = p.Evaluation, append(t.best[:0], t.agent.Weights()...)
		}
	}
	t.curve = append(t.curve, p)
	if hooks.EveryPoint != nil {
		hooks.EveryPoint(p)
	}
}

// Steps that were taken so far.
func (t *Training) Steps() int { return t.steps }

// Curve is the learning curve so far.
func (t *Training) Curve() []Point { return slices.Clone(t.curve) }

// Best is the mean return of the best evaluation; -Inf before there is one.
func (t *Training) Best() float64 { return t.bestMean }

// AdoptBest gives the agent's policy the weights it had at the best evaluation.
// It is for the end: training does not go on from there.
func (t *Training) AdoptBest() {
	if t.best != nil {
		copy(t.agent.Weights(), t.best)
	}
}

// Save gives everything that the rest of the training depends on.
func (t *Training) Save() []byte { return Save(t) }

// Restore continues a saved training of an agent of the same settings. The
// number of steps may differ: that is how to train longer.
func (t *Training) Restore(data []byte) error {
	if err := Restore(data, t); err != nil {
		return fmt.Errorf("resume training: %w", err)
	}
	return nil
}

// Archive implements saving.
func (t *Training) Archive(a *Archive) {
	spaces := t.env.Spaces()
	a.Label(fmt.Sprintf("a training with observations of %d, %d choices and %d dimensions", spaces.Observation, spaces.Choices, spaces.Dimensions))
	a.Uint64(&t.seed)
	a.Int(&t.steps)
	a.Int(&t.episodes)
	points := a.length(len(t.curve), 40)
	if a.Restoring() {
		t.curve = make([]Point, points)
	}
	for i := range t.curve {
		p := &t.curve[i]
		a.Int(&p.Steps)
		a.Int(&p.Episodes)
		a.Float(&p.Return)
		a.Float(&p.Loss)
		a.Float(&p.Evaluation)
	}
	a.Float(&t.since.returns)
	a.Float(&t.since.losses)
	a.Int(&t.since.episodes)
	a.Int(&t.since.updates)
	a.Float(&t.bestMean)
	a.Some(&t.best)
	if a.Restoring() && a.Err() == nil && len(t.best) != 0 && len(t.best) != len(t.agent.Weights()) {
		a.Fail(fmt.Errorf("rl: the saved policy has %d weights, this one %d", len(t.best), len(t.agent.Weights())))
	}
	t.agent.Archive(a)
}
