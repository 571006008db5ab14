package teacher

import (
	"context"
	"fmt"

	"github.com/loadline/loadline/internal/policy/drpc"
)

// received takes in what was counted for the first time.
func (c *Teacher) received(d *drpc.Delivery) error {
	if c.config.Received != nil {
		c.config.Received(d)
	}
	if d.Scene == nil {
		c.join.Did(&d.Experience)
		return nil
	}
	var view drpc.View
	if _, err := c.trainer.Eyes().Recognise(d.Scene, c.config.Training.Shape, &view); err != nil {
		c.rejected++
		c.setProblem(unrecognised, err)
		return nil
	}
	c.setProblem(unrecognised, nil)
	c.join.Saw(*d.Scene)
	return nil
}

const unrecognised = "what the witness saw is passed over"

// mixShare is how quickly what is taken for the mix of requests follows what is
// seen: in a few steps, so that school is held with what comes now and not with what
// came while nobody had noticed yet.
const mixShare = 0.3

// learn takes in every stretch that is complete. When the notifier calls, the rest
// waits until everybody is back from stage 1.
func (c *Teacher) learn(ctx context.Context) error {
	for ctx.Err() == nil && !c.trainer.Busy() {
		from, to, ok := c.join.Next(c.actions)
		if !ok {
			return nil
		}
		var before, after drpc.View
		mix, err := c.trainer.Eyes().Recognise(&from, c.config.Training.Shape, &before)
		if err == nil {
			_, err = c.trainer.Eyes().Recognise(&to, c.config.Training.Shape, &after)
		}
		if err != nil {
			return fmt.Errorf("class: %w", err) // they were recognised when they came
		}
		if mix != nil {
			c.mix = c.mix.Follow(mix, mixShare)
		}
		why := c.trainer.Listen(&before, &after, mix, c.actions, to.Worth.Reward)
		c.learned++
		c.sinceEvaluation++
		c.sinceRetraining++
		switch {
		case len(why) > 0 && c.sinceRetraining >= c.patience():
			if err := c.retrain(why); err != nil {
				return err
			}
		case c.sinceEvaluation >= c.config.EvaluateEvery:
			c.evaluate()
		}
	}
	return nil
}

// patience is how many stretches pass before the notifier is listened to: twice as
// many after each refresh that it calls again upon, since what school cannot mend it
// need not try every ten minutes.
func (c *Teacher) patience() int {
	return c.config.Training.Notifier.Rewards << min(c.retrainings, maxDoublings)
}

const maxDoublings = 6

// retrain sends everybody back to stage 1.
func (c *Teacher) retrain(why []drpc.Reason) error {
	if c.retrainings++; c.sinceRetraining > 10*c.patience() {
		c.retrainings = 1
	}
	c.sinceEvaluation, c.sinceRetraining = 0, 0
	c.retrained++
	c.record(Event{What: "the notifier calls: back to stage 1, in the simulated world with the requests that are seen", Reasons: why, Before: c.trainer.Means().Reward})
	return c.trainer.Recall(why, c.mix)
}

// evaluate looks whether the teacher has gained.
func (c *Teacher) evaluate() {
	c.sinceEvaluation = 0
	best := c.trainer.Best()
	reward, gained, lost := c.trainer.Examine()
	c.evaluated = reward
	switch {
	case gained:
		c.record(Event{What: "the teacher has gained from what its students did: it teaches them anew", Before: best, After: reward})
	case lost:
		c.record(Event{What: "the teacher has lost by what its students did: it is again what it was at its best", Before: reward, After: best})
	}
}
