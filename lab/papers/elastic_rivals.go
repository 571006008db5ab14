package papers

import (
	"context"
	"errors"
	"fmt"

	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/result"
)

// elasticRivals are those of the paper's Table 1 that are implemented, in its order.
var elasticRivals = []struct {
	learner, title string
	paper          []result.Number
}{
	{"msars", "MSARS", numbers(110.4, 0.94, 3.1)},
	{"drpc", "DRPC", numbers(108.9, 0.87, 2.9)},
}

// elasticSettings are each rival's candidate settings: the factors on learning rates that every
// learner has, and one more, so that there are as many trials as elastic-dqn has weights.
func elasticSettings() []bench.TrainingSetting {
	return append(bench.TrainingSettings(), bench.TrainingSetting{Name: "rate / 9", Rate: 1.0 / 9})
}

// elasticFolder is the folder of the rivals' models.
func elasticFolder(o Options, steps int) (*bench.ModelFolder, error) {
	if o.Models == "" {
		return nil, errors.New("elastic-dqn needs a folder for trained models: give --out")
	}
	if steps < policy.LeastSteps {
		return nil, fmt.Errorf("steps is %d, must be at least %d: drpc and msars are trained too", steps, policy.LeastSteps)
	}
	return o.folder()
}

func elasticRivalSetup(steps int) string {
	return fmt.Sprintf("drpc (its students) and msars (the SLO split by parslo) learn on the same part of the load, %d steps each. "+
		"Each seed trains with %d factors on their learning rates and keeps one by the same rule on the same stretch. A step is one "+
		"decision: of one service for elastic-dqn, of the whole application for these two, which is more to learn from. They may "+
		"also move CPU and memory and leave out optional calls; cost counts cores only, as for all policies. msars' profiles are "+
		"measured in the event engine beforehand, which counts for no step.", steps, len(elasticSettings()))
}

// rivals trains the implemented rivals, with every setting on every seed, and chooses for each
// seed as elastic-dqn does. Existing models are not trained again.
func (s *elasticSetup) rivals(ctx context.Context, o Options, folder *bench.ModelFolder, steps int) ([]elasticContender, error) {
	settings := elasticSettings()
	if o.few {
		settings = settings[:2]
	}
	var names []string
	for _, x := range settings {
		names = append(names, x.Name)
	}
	var all []elasticContender
	for i, rival := range elasticRivals {
		method, err := policy.Trainable(rival.learner)
		if err != nil {
			return nil, err
		}
		n, of := len(settings), float64(len(elasticRivals))
		paths, tried := make([][]string, o.Seeds), make([][]result.Result, o.Seeds)
		for seed := range paths {
			paths[seed], tried[seed] = make([]string, n), make([]result.Result, n)
		}
		err = o.part(float64(i)/of, float64(i+1)/of).eachWithProgress(ctx, o.Seeds*n, func(job int, progress func(float64)) error {
			seed, at := job/n, job%n
			trained, err := folder.Train(ctx, bench.TrainingTask{Method: method, App: s.app, Load: s.train, Setting: settings[at],
				Steps: steps, Seed: o.Seed + uint64(seed)}, progress)
			if err != nil {
				return err
			}
			paths[seed][at] = method.Spec(trained.Path(), "")
			tried[seed][at], err = s.validate(ctx, trial{policy: paths[seed][at]}, o.Seed+uint64(seed))
			return err
		})
		if err != nil {
			return nil, err
		}
		chosen := choose(tried)
		all = append(all, elasticContender{
			row:    Row{Name: rival.learner, Paper: rival.paper, Note: "chosen: " + tally(chosen, names)},
			policy: func(seed int) string { return paths[seed][chosen[seed]] },
		})
	}
	return all, nil
}
