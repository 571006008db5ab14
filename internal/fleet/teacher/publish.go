package teacher

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/policy/drpc/trainer"
)

// train does the long work: warm-up, stage 1, distillation. The stream waits meanwhile;
// students continue to decide. A process that is killed continues from the last saved state.
func (t *Teacher) train(ctx context.Context) error {
	// The reason to retrain is committed with the experience that caused it, so that
	// this experience does not cause it again.
	if err := t.commit(true); err != nil {
		return err
	}
	t.config.log().Info("training: students keep deciding, and the stream waits")
	err := t.trainer.Work(ctx)
	if ctx.Err() != nil {
		err = nil // stopped: the next run continues
	}
	t.checked = time.Time{}
	return errors.Join(t.saveErr, t.save(), err)
}

// unitDone saves the state from time to time while the teacher trains.
func (t *Teacher) unitDone(*trainer.Trainer) {
	if time.Since(t.saved) >= max(t.config.SaveEvery, time.Second) {
		t.saveErr = errors.Join(t.saveErr, t.save())
	}
}

// trained records an event of the trainer.
func (t *Teacher) trained(e trainer.Event) {
	t.record(Event{What: e.What, Reasons: e.Reasons, Before: e.Before, After: e.After})
}

// checkEvery is how often the teacher checks that its weights are still in the bucket,
// undamaged.
const checkEvery = time.Minute

// publish publishes the students' weights, unless they are published already. It retries
// while servers are unreachable. Students in the middle of training are not published.
func (t *Teacher) publish() {
	if t.busy() && !t.trainer.Warming() || time.Since(t.checked) < checkEvery {
		return
	}
	published, err := t.publishCurrent()
	t.setProblem("weights cannot be published", err)
	if err != nil {
		return
	}
	t.checked = time.Now()
	if published {
		t.published++
		t.record(Event{What: fmt.Sprintf("published weights of %d services", len(t.model.Services))})
	}
}

func (t *Teacher) publishCurrent() (published bool, err error) {
	m := t.model
	if t.learns() {
		if m, err = t.currentModel(); err != nil {
			return false, err
		}
	}
	if published, err = t.collector.Publish(m); err != nil || !published || !t.learns() {
		return published, err
	}
	m.Version = t.collector.Ledger().Version
	t.setProblem("the model cannot be written beside the state", m.Write(filepath.Join(t.folder, modelName)))
	return true, nil
}

// modelName is the file with the model as it was published last.
const modelName = "model.safetensors"

// currentModel is the model with its present weights.
func (t *Teacher) currentModel() (*drpc.Model, error) {
	m, err := t.trainer.Model()
	if err != nil {
		return nil, err
	}
	m.Training, m.Results = t.model.Training, nil // the results were those of other weights
	m.Training.Samples = t.trainer.Steps()
	m.Version = max(m.Version, t.model.Version)
	return m, nil
}
