package teaching

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/policy/drpc/trainer"
)

// work does what takes long: warming up, stage 1 after a call, teaching. The stream
// waits meanwhile, and so do students for weights, but not with deciding. Killed in
// the midst of it, it goes on where it was last kept.
func (c *Class) work(ctx context.Context) error {
	// What called everybody back is kept with the call, so that it is not heard again.
	if err := c.keep(true); err != nil {
		return err
	}
	c.config.log().Info("the class is at school: students act on, and the stream waits until it is done")
	err := c.school.Work(ctx)
	c.offered = time.Time{}
	return errors.Join(c.failed, c.save(), err)
}

// between two units of long work, what it has come to is kept now and then.
func (c *Class) between(*trainer.Trainer) {
	if time.Since(c.saved) >= max(c.config.Save, time.Second) {
		c.failed = errors.Join(c.failed, c.save())
	}
}

// schooled is told by the school when students have been taught.
func (c *Class) schooled(e trainer.Event) {
	c.record(Event{What: e.What, Reasons: e.Reasons, Before: e.Before, After: e.After})
}

// offerEvery is how often it is looked whether the weights still lie there, sound.
const offerEvery = time.Minute

// publish lays out the students' weights, unless they lie there. Servers that are
// away are asked again. Students in the middle of a lesson are not shown.
func (c *Class) publish() {
	if c.school.Busy() && !c.school.Warming() || time.Since(c.offered) < offerEvery {
		return
	}
	m, err := c.graduates()
	if err != nil {
		c.trouble(unpublished, err)
		return
	}
	published, err := c.end.Offer(m)
	c.trouble(unpublished, err)
	if err != nil {
		return
	}
	c.offered = time.Now()
	if !published {
		return
	}
	c.published++
	m.Version = c.end.Ledger().Version
	c.record(Event{What: "weights are published"})
	c.trouble("the model cannot be written beside the state", m.Write(filepath.Join(c.folder, modelName)))
}

const unpublished = "weights cannot be published now"

// modelName is the file with everybody as they were published last.
const modelName = "model.safetensors"

// graduates are everybody as they are now, on the card of the model that they were.
func (c *Class) graduates() (*drpc.Model, error) {
	m, err := c.school.Model()
	if err != nil {
		return nil, err
	}
	m.Training, m.Results = c.model.Training, nil // those were of others
	m.Training.Samples = c.school.Steps()
	m.Version = max(m.Version, c.model.Version)
	return m, nil
}
