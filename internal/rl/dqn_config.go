package rl

import (
	"errors"
	"fmt"
)

// DQNConfig are the settings of DQN.
type DQNConfig struct {
	Hidden   []int // widths of the layers between observation and action values
	Norm     bool  // layer normalisation in them
	Dueling  bool
	Double   bool
	Discount float64
	Steps    int // of reward in a target, before the target network's value counts

	Explore Schedule // probability of a random action
	Replay  int      // transitions kept
	WarmUp  int      // transitions before the first update
	Every   int      // steps between rounds of updates
	Updates int      // in a round
	Batch   int

	Rate     float64 // of Adam
	Decay    float64 // of weights, as AdamW does it
	Huber    float64 // error above which the loss is linear; 0 = squared error
	Longest  float64 // gradient; 0 = no limit
	Priority Priority

	// Of the target network: exactly one is not 0.
	Copy int     // updates between copies
	Soft float64 // share of the way it moves with each update
}

// DefaultDQN is small: double DQN with soft updates.
func DefaultDQN() DQNConfig {
	return DQNConfig{
		Hidden: []int{64, 64}, Double: true, Discount: 0.99, Steps: 1,
		Explore: Schedule{Shape: Linear, From: 1, To: 0.05, Steps: 10_000},
		Replay:  50_000, WarmUp: 1_000, Every: 1, Updates: 1, Batch: 64,
		Rate: 1e-3, Huber: 1, Longest: 10, Soft: 0.005,
		Priority: Priority{Correction: Schedule{Shape: Linear, From: 0.4, To: 1, Steps: 50_000}},
	}
}

// Settings are all fields by name.
func (c *DQNConfig) Settings() []Setting {
	return []Setting{
		{Key: "hidden", About: "widths of the hidden layers", Value: &c.Hidden},
		{Key: "norm", About: "layer normalisation", Value: &c.Norm},
		{Key: "dueling", About: "value and advantages apart", Value: &c.Dueling},
		{Key: "double", About: "the online network chooses, the target network evaluates", Value: &c.Double},
		{Key: "discount", About: "of the next step's value", Value: &c.Discount},
		{Key: "steps", About: "steps of reward in a target", Value: &c.Steps},
		{Key: "explore", About: "probability of a random action", Value: &c.Explore},
		{Key: "replay", About: "transitions remembered", Value: &c.Replay},
		{Key: "warm-up", About: "transitions before the first update", Value: &c.WarmUp},
		{Key: "every", About: "steps between rounds of updates", Value: &c.Every},
		{Key: "updates", About: "updates in a round", Value: &c.Updates},
		{Key: "batch", About: "transitions in an update", Value: &c.Batch},
		{Key: "rate", About: "learning rate", Value: &c.Rate},
		{Key: "decay", About: "of weights (AdamW)", Value: &c.Decay},
		{Key: "huber", About: "error from which on the loss is linear; 0 = squared error", Value: &c.Huber},
		{Key: "longest", About: "longest gradient; 0 = any", Value: &c.Longest},
		{Key: "priority", About: "exponent of prioritised replay; 0 = none", Value: &c.Priority.Exponent},
		{Key: "priority-correction", About: "how far to make up for it", Value: &c.Priority.Correction},
		{Key: "copy", About: "updates between copies to the target network; 0 = soft", Value: &c.Copy},
		{Key: "soft", About: "share by which the target network follows; 0 = copies", Value: &c.Soft},
	}
}

func (c DQNConfig) replay() ReplayConfig {
	return ReplayConfig{Capacity: c.Replay, Steps: c.Steps, Discount: c.Discount, Priority: c.Priority}
}

// Validate reports every fault at once.
func (c DQNConfig) Validate() error {
	var faults faults
	for _, width := range c.Hidden {
		faults.check(width < 1, "hidden", c.Hidden, "widths of at least 1")
	}
	if err := c.replay().Validate(); err != nil {
		faults = append(faults, err)
	}
	if err := c.Explore.Validate(0, 1); err != nil {
		faults = append(faults, fmt.Errorf("explore %w", err))
	}
	faults.check(c.WarmUp < 0 || c.WarmUp > c.Replay, "warm-up", c.WarmUp, "from 0 to replay")
	faults.check(c.Every < 1, "every", c.Every, "at least 1")
	faults.check(c.Updates < 1, "updates", c.Updates, "at least 1")
	faults.check(c.Batch < 2, "batch", c.Batch, "at least 2") // single rows round differently
	faults.check(!(c.Rate > 0), "rate", c.Rate, "above 0")
	faults.check(!(c.Decay >= 0), "decay", c.Decay, "at least 0")
	faults.check(!(c.Huber >= 0), "huber", c.Huber, "at least 0")
	faults.check(!(c.Longest >= 0), "longest", c.Longest, "at least 0")
	faults.check(c.Copy < 0, "copy", c.Copy, "at least 0")
	faults.check(!(c.Soft >= 0 && c.Soft <= 1), "soft", c.Soft, "from 0 to 1")
	faults.check((c.Copy > 0) == (c.Soft > 0), "copy", fmt.Sprintf("%d and soft %v", c.Copy, c.Soft), "one of them 0 and the other not")
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("dqn: %w", err)
	}
	return nil
}
