package papers

import (
	"context"
	"errors"

	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/policy"
)

// drpcSteps is the number of environment steps of every learner. DRPC's teacher converges
// between 9,000 and 13,000 of its own; the rest is for its students.
const drpcSteps = 12_000

// drpcMethods are those that DRPC's own experiment compares: DRPC and its learned rivals.
var drpcMethods = []string{"drpc", "drpc-branching", "coscal", "firm", "asarsa"}

// drpcModels are the results of training: the trials of the first seed, the chosen setting, and
// a model for each seed.
type drpcModels struct {
	method policy.Method
	trials []*bench.Trained // by setting
	chosen bench.TrainingSetting
	models []*bench.Trained // by seed
}

// drpcTrain tunes every learner with the first seed, and trains it on all. Existing models are
// not trained again.
func (s *drpcSetup) drpcTrain(ctx context.Context, o Options, steps int) ([]*drpcModels, error) {
	if o.Models == "" {
		return nil, errors.New("drpc needs a folder for trained models: give --out")
	}
	folder, err := o.folder()
	if err != nil {
		return nil, err
	}
	settings := bench.TrainingSettings()
	if s.few {
		settings = settings[:2]
	}
	var all []*drpcModels
	for _, name := range drpcMethods {
		m, err := policy.Trainable(name)
		if err != nil {
			return nil, err
		}
		all = append(all, &drpcModels{method: m, trials: make([]*bench.Trained, len(settings)),
			models: make([]*bench.Trained, o.Seeds)})
	}
	task := func(p *drpcModels, setting bench.TrainingSetting, seed uint64) bench.TrainingTask {
		return bench.TrainingTask{Method: p.method, App: s.app, Load: s.train, Setting: setting, Steps: steps, Seed: seed}
	}
	n := len(settings)
	// The trials of all are as many trainings as n seeds, the first of which is among the
	// trials.
	tuned := float64(n) / float64(n+o.Seeds-1)
	err = o.part(0, tuned).eachWithProgress(ctx, len(all)*n, func(job int, progress func(float64)) (err error) {
		p, i := all[job/n], job%n
		p.trials[i], err = folder.Train(ctx, task(p, settings[i], o.Seed), progress)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		best := bench.BestTrained(p.trials)
		p.chosen, p.models[0] = best.Setting, best
	}
	left := o.Seeds - 1
	err = o.part(tuned, 1).eachWithProgress(ctx, len(all)*left, func(job int, progress func(float64)) (err error) {
		p, seed := all[job/left], 1+job%left
		p.models[seed], err = folder.Train(ctx, task(p, p.chosen, o.Seed+uint64(seed)), progress)
		return err
	})
	return all, err
}

// named finds a learner's models.
func named(all []*drpcModels, learner string) *drpcModels {
	for _, p := range all {
		if p.method.Name == learner {
			return p
		}
	}
	return nil
}
