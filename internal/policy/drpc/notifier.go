package drpc

import (
	"errors"
	"fmt"
)

// NotifierConfig is when to retrain.
type NotifierConfig struct {
	Rewards   int     `json:"rewards"`   // npr: number of past rewards
	Threshold float64 `json:"threshold"` // TH: retrain if their mean is below

	// The paper's three scenarios, made measurable. 0 = not checked.
	Novelty   float64 `json:"novelty"`   // share of recent states that the teacher rarely visited
	Imitation float64 `json:"imitation"` // mean squared difference of students to their teacher
	Drift     float64 `json:"drift"`     // share of requests that have moved to another kind
}

// DefaultNotifier covers ten minutes of the teacher's steps.
func DefaultNotifier() NotifierConfig {
	return NotifierConfig{Rewards: 20, Threshold: 0.5, Novelty: 0.3, Imitation: 0.35, Drift: 0.25}
}

// Validate reports every fault at once.
func (c NotifierConfig) Validate() error {
	var faults []error
	if c.Rewards < 1 {
		faults = append(faults, fmt.Errorf("drpc: the notifier averages %d rewards, must be at least 1", c.Rewards))
	}
	for _, x := range []struct {
		name        string
		value, most float64
	}{{"novelty", c.Novelty, 1}, {"imitation", c.Imitation, 4}, {"drift", c.Drift, 1}} {
		if !(x.value >= 0 && x.value <= x.most) {
			faults = append(faults, fmt.Errorf("drpc: the notifier's %s is %v, must be from 0 to %v", x.name, x.value, x.most))
		}
	}
	return errors.Join(faults...)
}

// Reason is one criterion of the notifier.
type Reason struct {
	Name  string  `json:"name"`  // reward, novelty, imitation, drift
	Value float64 `json:"value"` // mean over the last steps
	Limit float64 `json:"limit"`
}

func (r Reason) String() string {
	beyond := "above"
	if r.Name == rewardReason {
		beyond = "below"
	}
	return fmt.Sprintf("%s %.3g is %s %.3g", r.Name, r.Value, beyond, r.Limit)
}

const rewardReason = "reward"

// Signals are the notifier's inputs of a step of stage 2.
type Signals struct {
	Reward    float64
	Novelty   float64 // share of the services' states that the teacher rarely visited
	Imitation float64 // mean squared difference of the students' actions to their teacher's
	Drift     float64
}

// Notifier is Algorithm 4, and the same for the other reasons: rings of the last
// values, and means of them once they are full.
type Notifier struct {
	config NotifierConfig
	rings  [4][]float64
	iter   int
}

// NewNotifier starts with empty rings (lines 1 and 2). The config must be valid.
func NewNotifier(config NotifierConfig) *Notifier {
	n := &Notifier{config: config}
	for i := range n.rings {
		n.rings[i] = make([]float64, config.Rewards)
	}
	return n
}

// Notify adds a step and returns the reasons to retrain; none means that students continue
// (lines 4 to 15).
func (n *Notifier) Notify(g Signals) []Reason {
	at := n.iter % n.config.Rewards
	for i, v := range [4]float64{g.Reward, g.Novelty, g.Imitation, g.Drift} {
		n.rings[i][at] = v
	}
	n.iter++
	if n.iter < n.config.Rewards { // not enough values yet
		return nil
	}
	var why []Reason
	if mean := mean(n.rings[0]); mean < n.config.Threshold {
		why = append(why, Reason{rewardReason, mean, n.config.Threshold})
	}
	for i, limit := range [3]float64{n.config.Novelty, n.config.Imitation, n.config.Drift} {
		if mean := mean(n.rings[1+i]); limit > 0 && mean > limit {
			why = append(why, Reason{[3]string{"novelty", "imitation", "drift"}[i], mean, limit})
		}
	}
	return why
}

// Means of the last values.
func (n *Notifier) Means() Signals {
	var of [4]float64
	for i := range of {
		if seen := min(n.iter, n.config.Rewards); seen > 0 {
			of[i] = mean(n.rings[i][:seen])
		}
	}
	return Signals{of[0], of[1], of[2], of[3]}
}

// Reset discards all values, as after retraining.
func (n *Notifier) Reset() { n.iter = 0 }

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
