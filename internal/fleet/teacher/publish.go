package teacher

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/policy/drpc/trainer"
)

// train does what takes long: warming up, stage 1 after a call, teaching. The stream
// waits meanwhile, and so do students for weights, but not with deciding. Killed in
// the midst of it, it goes on where it was last kept.
func (c *Teacher) train(ctx context.Context) error {
	// What called everybody back is kept with the call, so that it is not heard again.
	if err := c.commit(true); err != nil {
		return err
	}
	c.config.log().Info("the class is at school: students act on, and the stream waits until it is done")
	err := c.trainer.Work(ctx)
	c.checked = time.Time{}
	return errors.Join(c.saveErr, c.save(), err)
}

// unitDone two units of long work, what it has come to is kept now and then.
func (c *Teacher) unitDone(*trainer.School) {
	if time.Since(c.saved) >= max(c.config.SaveEvery, time.Second) {
		c.saveErr = errors.Join(c.saveErr, c.save())
	}
}

// trained is told by the school when students have been taught.
func (c *Teacher) trained(e trainer.Event) {
	c.record(Event{What: e.What, Reasons: e.Reasons, Before: e.Before, After: e.After})
}

// offerEvery is how often it is looked whether the weights still lie there, sound.
const checkEvery = time.Minute

// publish lays out the students' weights, unless they lie there. Servers that are
// away are asked again. Students in the middle of a lesson are not shown.
func (c *Teacher) publish() {
	if c.trainer.Busy() && !c.trainer.Warming() || time.Since(c.checked) < checkEvery {
		return
	}
	m, err := c.currentModel()
	if err != nil {
		c.setProblem(unpublished, err)
		return
	}
	published, err := c.collector.Publish(m)
	c.setProblem(unpublished, err)
	if err != nil {
		return
	}
	c.checked = time.Now()
	if !published {
		return
	}
	c.published++
	m.Version = c.collector.Ledger().Version
	c.record(Event{What: "weights are published"})
	c.setProblem("the model cannot be written beside the state", m.Write(filepath.Join(c.folder, modelName)))
}

const unpublished = "weights cannot be published now"

// modelName is the file with everybody as they were published last.
const modelName = "model.safetensors"

// currentModel are everybody as they are now, on the card of the model that they were.
func (c *Teacher) currentModel() (*drpc.Model, error) {
	m, err := c.trainer.Model()
	if err != nil {
		return nil, err
	}
	m.Training, m.Results = c.model.Training, nil // those were of others
	m.Training.Samples = c.trainer.Steps()
	m.Version = max(m.Version, c.model.Version)
	return m, nil
}
