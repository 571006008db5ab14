package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/loadline/loadline/internal/learners"
	"github.com/loadline/loadline/internal/policy"
)

// learnerOf a policy that is to be trained: the one of its name. What follows the name
// are settings of the policy, as in drpc:who=teacher@trained.
func learnerOf(p Policy) (learners.Learner, error) {
	name, _, _ := strings.Cut(p.Spec, ":")
	return learners.Named(name)
}

// withFile is the policy with its model file.
func withFile(p Policy, l learners.Learner, path string) string {
	_, settings, _ := strings.Cut(p.Spec, ":")
	if settings != "" {
		settings = "," + settings
	}
	return fmt.Sprintf("%s:file=%s%s", l.Policy, path, settings)
}

// nameless leaves the bench's own folder out of a policy's model file, so that the same
// bench in another folder gives the same results.
func (r *runner) nameless(policy string) string {
	return strings.Replace(policy, "file="+filepath.Join(r.options.Dir, modelsFolder)+string(filepath.Separator), "file=", 1)
}

// checkTrained says what is wrong with a policy that is to be trained, as far as that
// can be said without its model.
func checkTrained(p Policy, a App) error {
	l, err := learnerOf(p)
	if err != nil {
		return err
	}
	if strings.Contains(p.Spec, "file=") {
		return fmt.Errorf("it has a model file, and is to be trained as well: leave out one of them")
	}
	return policy.CheckSettings(withFile(p, l, "MODEL"), a.Model)
}

// costOfTraining is what one step of one service is worth, about, in visits.
const costOfTraining = 250

// training of the model that a run uses. The setting is chosen once for all models of
// an application and a workload; whoever comes first does it, and those who come
// meanwhile help.
func (r *runner) training(j job, p Policy) (*preparation, error) {
	l, err := learnerOf(p)
	if err != nil {
		return nil, err
	}
	t := r.matrix.Training
	model := j.seed % t.Models
	task := learners.Task{Learner: l, App: j.cell.app.Model, Load: j.cell.training, Steps: t.Steps, Seed: trainingSeed + uint64(model)}
	key, err := digest([]any{"training", l.Name, p.Spec, task.App, task.Load, task.Steps, task.Seed})
	trainings := float64(len(learners.Settings())+t.Models-1) / float64(t.Models)
	return &preparation{
		key: key, cost: trainings * costOfTraining * float64(t.Steps*len(task.App.Services)),
		train: func(ctx context.Context, share func(float64)) (*learners.Trained, error) {
			return r.models.TuneAndTrain(ctx, task, trainingSeed, model, share)
		},
	}, err
}

func (r *runner) train(ctx context.Context, p *preparation, share func(float64)) error {
	trained, err := p.train(ctx, share)
	if err != nil {
		return err
	}
	policy := r.matrix.Policies[p.first.policy]
	l, err := learnerOf(policy)
	if err != nil {
		return err
	}
	p.trained, p.spec = trained, withFile(policy, l, trained.Path())
	return nil
}

// learned are the curves of what was trained, in the order of tables.
func (r *runner) learned(all []*preparation) []Learned {
	var out []Learned
	for _, p := range all {
		if p.trained == nil {
			continue
		}
		t := p.trained
		out = append(out, Learned{
			App: p.first.cell.app.Name, Workload: p.first.cell.workload, Label: r.matrix.Policies[p.first.policy].Label,
			Setting: t.Setting.Name, Steps: t.Steps, Seed: t.Seed, Yardstick: t.Yardstick, Curve: t.Curve,
		})
	}
	return out
}
