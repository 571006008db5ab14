package rl

import (
	"errors"
	"fmt"
)

// TD3Config are the settings of TD3, and of DDPG as its special case.
type TD3Config struct {
	Hidden   []int // widths of the layers of actor and critics
	Norm     bool  // layer normalisation in them
	Critics  int   // 2; DDPG has 1
	Parts    int   // equal parts of observation and action that share the networks; 0 or 1 = none
	Discount float64

	Noise     float64 // standard deviation of the exploration noise
	Revert    float64 // share by which that noise reverts each step; 1 = independent noise
	Smoothing float64 // standard deviation of the noise on the target policy's actions
	Clip      float64 // bound on that
	Delay     int     // updates of the critics for one of the actor and the targets
	Soft      float64 // share by which the targets follow

	Replay  int // transitions kept
	WarmUp  int // transitions before the first update, of random actions
	Every   int // steps between rounds of updates
	Updates int // in a round
	Batch   int

	ActorRate  float64 // of Adam
	CriticRate float64
	Decay      float64 // of the critics' weights, as AdamW does it
	Longest    float64 // gradient; 0 = no limit

	// Restraint is the weight of an action's square in the actor's loss; 0 = none. It keeps an
	// actor from settling at the ends of tanh, where no gradient would bring it back.
	Restraint float64
}

// DefaultTD3 has the constants of Fujimoto et al. (2018) and DRPC, with smaller
// networks and a shorter warm-up.
func DefaultTD3() TD3Config {
	return TD3Config{
		Hidden: []int{64, 64}, Critics: 2, Discount: 0.99,
		Noise: 0.1, Revert: 1, Smoothing: 0.2, Clip: 0.5, Delay: 2, Soft: 0.005,
		Replay: 100_000, WarmUp: 1_000, Every: 1, Updates: 1, Batch: 256,
		ActorRate: 3e-4, CriticRate: 3e-4,
	}
}

// DefaultDDPG is the special case of Lillicrap et al. (2016): one critic, no smoothing, no delay, and
// Ornstein-Uhlenbeck noise. Its constants are theirs except for the networks' size.
func DefaultDDPG() TD3Config {
	c := DefaultTD3()
	c.Critics, c.Smoothing, c.Delay = 1, 0, 1
	c.Noise, c.Revert = 0.2, 0.15
	c.Batch, c.Soft = 64, 0.001
	c.ActorRate, c.CriticRate = 1e-4, 1e-3
	return c
}

// Settings are all fields by name.
func (c *TD3Config) Settings() []Setting {
	return []Setting{
		{Key: "hidden", About: "widths of the hidden layers", Value: &c.Hidden},
		{Key: "norm", About: "layer normalisation", Value: &c.Norm},
		{Key: "critics", About: "2, or 1 as in DDPG", Value: &c.Critics},
		{Key: "discount", About: "of the next step's value", Value: &c.Discount},
		{Key: "noise", About: "deviation of exploration", Value: &c.Noise},
		{Key: "revert", About: "share by which exploration falls back; 1 = white noise", Value: &c.Revert},
		{Key: "smoothing", About: "deviation of the target policy's noise", Value: &c.Smoothing},
		{Key: "clip", About: "bound on that noise", Value: &c.Clip},
		{Key: "delay", About: "critic updates for one of the actor", Value: &c.Delay},
		{Key: "soft", About: "share by which the targets follow", Value: &c.Soft},
		{Key: "replay", About: "transitions remembered", Value: &c.Replay},
		{Key: "warm-up", About: "random transitions before the first update", Value: &c.WarmUp},
		{Key: "every", About: "steps between rounds of updates", Value: &c.Every},
		{Key: "updates", About: "updates in a round", Value: &c.Updates},
		{Key: "batch", About: "transitions in an update", Value: &c.Batch},
		{Key: "actor-rate", About: "learning rate of the actor", Value: &c.ActorRate},
		{Key: "critic-rate", About: "learning rate of the critics", Value: &c.CriticRate},
		{Key: "decay", About: "of the critics' weights (AdamW)", Value: &c.Decay},
		{Key: "longest", About: "longest gradient; 0 = any", Value: &c.Longest},
	}
}

func (c TD3Config) replay() ReplayConfig {
	return ReplayConfig{Capacity: c.Replay, Steps: 1, Discount: c.Discount}
}

// Validate reports every fault at once.
func (c TD3Config) Validate() error {
	var faults faults
	for _, width := range c.Hidden {
		faults.check(width < 1, "hidden", c.Hidden, "widths of at least 1")
	}
	if err := c.replay().Validate(); err != nil {
		faults = append(faults, err)
	}
	faults.check(c.Critics != 1 && c.Critics != 2, "critics", c.Critics, "1 or 2")
	faults.check(c.Parts < 0, "parts", c.Parts, "at least 0")
	faults.check(!(c.Noise >= 0), "noise", c.Noise, "at least 0")
	faults.check(!(c.Revert > 0 && c.Revert <= 1), "revert", c.Revert, "above 0, at most 1")
	faults.check(!(c.Smoothing >= 0), "smoothing", c.Smoothing, "at least 0")
	faults.check(!(c.Clip >= 0), "clip", c.Clip, "at least 0")
	faults.check(c.Delay < 1, "delay", c.Delay, "at least 1")
	faults.check(!(c.Soft > 0 && c.Soft <= 1), "soft", c.Soft, "above 0, at most 1")
	faults.check(c.WarmUp < 0 || c.WarmUp > c.Replay, "warm-up", c.WarmUp, "from 0 to replay")
	faults.check(c.Every < 1, "every", c.Every, "at least 1")
	faults.check(c.Updates < 1, "updates", c.Updates, "at least 1")
	faults.check(c.Batch < 2, "batch", c.Batch, "at least 2") // single rows round differently
	faults.check(!(c.ActorRate > 0), "actor-rate", c.ActorRate, "above 0")
	faults.check(!(c.CriticRate > 0), "critic-rate", c.CriticRate, "above 0")
	faults.check(!(c.Decay >= 0), "decay", c.Decay, "at least 0")
	faults.check(!(c.Restraint >= 0), "restraint", c.Restraint, "at least 0")
	faults.check(!(c.Longest >= 0), "longest", c.Longest, "at least 0")
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("td3: %w", err)
	}
	return nil
}
