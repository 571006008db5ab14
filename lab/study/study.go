package study

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/loadline/loadline/internal/rl"
)

// Spec is what to study.
type Spec struct {
	Task  rl.Task
	Agent string // name, or name:key=value,...
	Vary  []Axis // the grid
	Seeds int    // runs of each cell, one seed each
	Seed  uint64 // the first

	Training rl.TrainingConfig
	Parallel int // parallel runs

	// Progress receives the completed share of all steps and the finished runs;
	// one call at a time. May be nil.
	Progress func(Progress)
}

// Axis is a setting and the values to try.
type Axis struct {
	Key    string   `json:"key"`
	Values []string `json:"values"`
}

// Progress of a study.
type Progress struct {
	Share    float64 // of all steps
	Finished int     // runs
	Of       int
	Best     *Outcome // so far; nil = none
}

// ParseAxis reads "key=value,value".
func ParseAxis(text string) (Axis, error) {
	key, values, found := strings.Cut(text, "=")
	if !found || key == "" || values == "" {
		return Axis{}, fmt.Errorf("%q must be a key and values, like rate=1e-4,1e-3", text)
	}
	return Axis{key, strings.Split(values, ",")}, nil
}

// cells are all combinations of the axes' values, the last varying fastest.
func cells(axes []Axis) [][]Assignment {
	all := [][]Assignment{nil}
	for _, axis := range axes {
		var next [][]Assignment
		for _, cell := range all {
			for _, v := range axis.Values {
				next = append(next, append(slices.Clone(cell), Assignment{axis.Key, v}))
			}
		}
		all = next
	}
	return all
}

// job is one training to run.
type job struct {
	cell   int
	seed   uint64
	recipe Recipe
}

// plan makes the jobs, and reports every fault before anything is run: every cell's agent is
// made once.
func (s Spec) plan() (jobs []job, settings [][]Assignment, err error) {
	kind, fixed, err := Parse(s.Agent)
	faults := []error{err}
	for _, f := range []struct {
		what  string
		value int
	}{{"seeds", s.Seeds}, {"steps", s.Training.Steps}, {"episodes", s.Training.Episodes}, {"parallel", s.Parallel}} {
		if f.value < 1 {
			faults = append(faults, fmt.Errorf("%s is %d, must be at least 1", f.what, f.value))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, nil, err
	}
	env, err := s.Task.New()
	if err != nil {
		return nil, nil, fmt.Errorf("make %s: %w", s.Task.Name, err)
	}
	settings = cells(s.Vary)
	seen := map[string]bool{} // a fault shared by all cells is reported once
	for i, cell := range settings {
		recipe, err := kind.with(append(slices.Clone(fixed), cell...)...)
		if err == nil {
			_, err = recipe.New(env.Spaces(), s.Seed)
		}
		if err != nil && !seen[err.Error()] {
			seen[err.Error()] = true
			faults = append(faults, err)
		}
		for n := range s.Seeds {
			jobs = append(jobs, job{i, s.Seed + uint64(n), recipe})
		}
	}
	return jobs, settings, errors.Join(faults...)
}

// Run trains all cells of the grid with all seeds. The report does not depend on the number of
// parallel runs. If ctx is done it returns what has finished, along with ctx's error.
func Run(ctx context.Context, s Spec) (*Report, error) {
	jobs, settings, err := s.plan()
	if err != nil {
		return nil, err
	}
	b := &board{spec: s, total: len(jobs), steps: make([]int, len(jobs)), outcomes: make([]*Outcome, len(jobs)), settings: settings}
	queue := make(chan int)
	var workers sync.WaitGroup
	var failed sync.Map
	for range min(s.Parallel, len(jobs)) {
		workers.Go(func() {
			for i := range queue {
				outcome, err := s.run(ctx, jobs[i], func(steps int) { b.progress(i, steps) })
				if err == nil {
					b.finish(i, outcome)
				} else if ctx.Err() == nil {
					failed.Store(i, err)
				}
			}
		})
	}
	for i := range jobs {
		if ctx.Err() == nil {
			queue <- i
		}
	}
	close(queue)
	workers.Wait()
	var faults []error
	failed.Range(func(_, err any) bool { faults = append(faults, err.(error)); return true })
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return b.report(jobs), ctx.Err()
}

// run is one training. Its score is the return of its best policy on separate episodes.
func (s Spec) run(ctx context.Context, j job, tell func(steps int)) (*Outcome, error) {
	env, err := s.Task.New()
	if err != nil {
		return nil, fmt.Errorf("make %s: %w", s.Task.Name, err)
	}
	agent, err := j.recipe.New(env.Spaces(), j.seed)
	if err != nil {
		return nil, err
	}
	training := rl.NewTraining(env, agent, j.seed, s.Training)
	if err := training.Run(ctx, rl.Hooks{Progress: func(p rl.Progress) { tell(p.Steps) }}); err != nil {
		return nil, err
	}
	training.AdoptBest()
	score := rl.Evaluate(env, agent, ^j.seed, s.Training.Episodes, s.Training.LongestEpisode).Mean()
	return newOutcome(j.seed, score, training.Curve(), s.Task.Solved), nil
}

// board collects the workers' progress.
type board struct {
	spec     Spec
	total    int
	settings [][]Assignment

	mutex    sync.Mutex
	steps    []int // of each job
	finished int
	outcomes []*Outcome
	best     *Outcome
}

func (b *board) progress(job, steps int) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.steps[job] = steps
	b.notify()
}

func (b *board) finish(job int, o *Outcome) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.steps[job], b.outcomes[job] = b.spec.Training.Steps, o
	b.finished++
	if b.best == nil || o.Score > b.best.Score {
		b.best = o
	}
	b.notify()
}

func (b *board) notify() {
	if b.spec.Progress == nil {
		return
	}
	done := 0
	for _, n := range b.steps {
		done += n
	}
	share := float64(done) / float64(b.total*b.spec.Training.Steps)
	b.spec.Progress(Progress{Share: share, Finished: b.finished, Of: b.total, Best: b.best})
}
