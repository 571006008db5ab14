package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/loadline/loadline/internal/policy"
)

// methodOf a policy to be trained: the one of its name. What follows the name are settings of
// the policy, as in drpc:who=teacher@trained.
func methodOf(p Policy) (method policy.Method, settings string, err error) {
	name, settings, _ := strings.Cut(p.Spec, ":")
	method, err = policy.Trainable(name)
	return method, settings, err
}

// nameless removes the bench's folder from the path of a model file, so that the same bench in
// another folder gives the same results.
func (r *runner) nameless(policy string) string {
	return strings.Replace(policy, "file="+filepath.Join(r.options.Dir, modelsFolder)+string(filepath.Separator), "file=", 1)
}

// checkTrained reports the faults of a policy to be trained that can be found without its
// model.
func checkTrained(p Policy, a App) error {
	method, settings, err := methodOf(p)
	if err != nil {
		return err
	}
	if strings.Contains(p.Spec, "file=") {
		return fmt.Errorf("it has a model file, and is to be trained as well: leave out one of them")
	}
	return policy.CheckSettings(method.Spec("MODEL", settings), a.Model)
}

// costOfTraining is the approximate cost of one step of one service, in visits.
const costOfTraining = 250

// training of the model that a run uses. The setting is chosen once for all models of an
// application and a workload; runs that need it at the same time share the work.
func (r *runner) training(j job, p Policy) (*preparation, error) {
	method, _, err := methodOf(p)
	if err != nil {
		return nil, err
	}
	t := r.matrix.Training
	model := j.seed % t.Models
	task := TrainingTask{Method: method, App: j.cell.app.Model, Load: j.cell.training, Steps: t.Steps, Seed: trainingSeed + uint64(model)}
	key, err := digest([]any{"training", method.Name, p.Spec, task.App, task.Load, task.Steps, task.Seed})
	trainings := float64(len(TrainingSettings())+t.Models-1) / float64(t.Models)
	return &preparation{
		key: key, cost: trainings * costOfTraining * float64(t.Steps*len(task.App.Services)),
		train: func(ctx context.Context, share func(float64)) (*Trained, error) {
			return r.models.TuneAndTrain(ctx, task, trainingSeed, model, share)
		},
	}, err
}

func (r *runner) train(ctx context.Context, p *preparation, share func(float64)) error {
	trained, err := p.train(ctx, share)
	if err != nil {
		return err
	}
	method, settings, err := methodOf(r.matrix.Policies[p.first.policy])
	if err != nil {
		return err
	}
	p.trained, p.spec = trained, method.Spec(trained.Path(), settings)
	return nil
}

// learned are the learning curves, in the order of tables.
func (r *runner) learned(all []*preparation) []Learned {
	var out []Learned
	for _, p := range all {
		if p.trained == nil {
			continue
		}
		t := p.trained
		out = append(out, Learned{
			App: p.first.cell.app.Name, Workload: p.first.cell.workload, Label: r.matrix.Policies[p.first.policy].Label,
			Setting: t.Setting.Name, Steps: t.Steps, Seed: t.Seed, Yardstick: t.CommonReward, Curve: t.Curve,
		})
	}
	return out
}
