package teaching

import (
	"context"
	"fmt"

	"github.com/loadline/loadline/internal/policy/drpc"
)

// heard takes in what was counted for the first time.
func (c *Class) heard(d *drpc.Delivery) error {
	if c.config.Heard != nil {
		c.config.Heard(d)
	}
	if d.Scene == nil {
		c.join.Did(&d.Experience)
		return nil
	}
	var view drpc.View
	if _, err := c.school.Eyes().Recognise(d.Scene, c.config.School.Shape, &view); err != nil {
		c.unfit++
		c.trouble(unrecognised, err)
		return nil
	}
	c.trouble(unrecognised, nil)
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
func (c *Class) learn(ctx context.Context) error {
	for ctx.Err() == nil && !c.school.Busy() {
		from, to, ok := c.join.Next(c.actions)
		if !ok {
			return nil
		}
		var before, after drpc.View
		mix, err := c.school.Eyes().Recognise(&from, c.config.School.Shape, &before)
		if err == nil {
			_, err = c.school.Eyes().Recognise(&to, c.config.School.Shape, &after)
		}
		if err != nil {
			return fmt.Errorf("class: %w", err) // they were recognised when they came
		}
		if mix != nil {
			c.live = c.live.Follow(mix, mixShare)
		}
		why := c.school.Listen(&before, &after, mix, c.actions, to.Worth.Reward)
		c.learned++
		c.since++
		c.calm++
		switch {
		case len(why) > 0 && c.calm >= c.patience():
			if err := c.recall(why); err != nil {
				return err
			}
		case c.since >= c.config.Examine:
			c.examine()
		}
	}
	return nil
}

// patience is how many stretches pass before the notifier is listened to: twice as
// many after each refresh that it calls again upon, since what school cannot mend it
// need not try every ten minutes.
func (c *Class) patience() int {
	return c.config.School.Notifier.Rewards << min(c.fruitless, mostDoublings)
}

const mostDoublings = 6

// recall sends everybody back to stage 1.
func (c *Class) recall(why []drpc.Reason) error {
	if c.fruitless++; c.calm > 10*c.patience() {
		c.fruitless = 1
	}
	c.since, c.calm = 0, 0
	c.refreshes++
	c.record(Event{What: "the notifier calls: back to stage 1, in the simulated world with the requests that are seen", Reasons: why, Before: c.school.Means().Reward})
	return c.school.Recall(why, c.live)
}

// examine looks whether the teacher has gained.
func (c *Class) examine() {
	c.since = 0
	best := c.school.Best()
	reward, gained, lost := c.school.Evaluate()
	c.examined = reward
	switch {
	case gained:
		c.record(Event{What: "the teacher has gained from what its students did: it teaches them anew", Before: best, After: reward})
	case lost:
		c.record(Event{What: "the teacher has lost by what its students did: it is again what it was at its best", Before: reward, After: best})
	}
}
