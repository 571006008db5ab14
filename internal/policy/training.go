package policy

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/profile"
	"github.com/loadline/loadline/internal/train"
)

// Task is one training. The same task gives the same model to the byte.
type Task struct {
	Scenario train.Scenario
	Steps    int     // in the environment, in all
	Seed     uint64  // of everything random
	Rate     float64 // factor on the method's learning rates

	Settings json.RawMessage // of the variant; nil = the first's
	From     Model           // whose weights it begins with; nil = none
	// Past is the recorded history of the application; nil = none: train in the simulated
	// cluster only.
	Past *Past
	// Shares are the services' parts of the SLO; nil = the method's default.
	Shares *formulation.Shares
	// Profiles of the services, for methods that need them; nil = they are measured.
	Profiles func(ctx context.Context, progress func(share float64)) (*profile.Set, error)
	Progress func(share float64) // may be nil
}

// Past is the recorded history under another autoscaler.
type Past struct {
	History *history.History
	Delays  map[string]train.Delays // Scaling-Ops' model of each service
}

// LeastSteps is the smallest number of steps with which every stage runs.
const LeastSteps = 40

// Validate reports a fault of the task.
func (t Task) Validate() error {
	if t.Steps < LeastSteps {
		return fmt.Errorf("steps is %d, must be at least %d", t.Steps, LeastSteps)
	}
	if !(t.Rate > 0) {
		return fmt.Errorf("rate is %v, must be more than 0", t.Rate)
	}
	return nil
}

// Every is how many steps there are between evaluations: a learning curve has about
// ten points.
func (t Task) Every() int { return max(t.Steps/10, 1) }

// Episodes of an evaluation: fewer if there are few training steps, so that evaluating does not
// take longer than training.
func (t Task) Episodes(most int) int { return min(max(t.Steps/2000, 2), most) }

func (t Task) report(share float64) {
	if t.Progress != nil {
		t.Progress(share)
	}
}

// Variant is how the n-th of several models of a method is trained.
type Variant struct {
	Settings json.RawMessage // for Task.Settings
	About    string          // what distinguishes it, for tables
	From     int             // the variant whose weights it begins with; 0 = none
}

// Trained is a model and the course of its training.
type Trained struct {
	Model  Model
	Curves []Curve
	// Evaluations of the model and of baselines by the common reward (DRPC's) on held-out
	// episodes. The model's own is the last. None = it was not evaluated by that reward.
	Evaluations []Evaluation
	// Episodes are the mean rewards of a step while exploring.
	Episodes   []float64
	Parameters int // of one network that decides

	// Of DRPC alone.
	Central           int // parameters of the teacher
	Plateau           int // steps at which it had converged; 0 = it had not
	Imitation, Agreed float64
	BytesPerDecision  float64
}

// Curve is the learning curve of one network.
type Curve struct {
	Service string // "" or formulation.Every = all
	Points  []Point
}

// Point of a learning curve. Unknown values are NaN.
type Point struct {
	Steps, Episodes int
	Return, Loss    float64 // while exploring
	Evaluation      float64 // without exploring, by the method's own reward
	CommonReward    float64 // the same by the common reward, DRPC's
}

// Evaluation is the result of a policy on held-out episodes.
type Evaluation struct {
	Policy       string
	CommonReward float64 // mean of DRPC's reward
	QoS          float64
	CPU, Memory  float64 // mean utilisation of what was requested
}

// AddPoint adds a point to the only curve.
func (t *Trained) AddPoint(p train.Point, commonReward float64) {
	if len(t.Curves) == 0 {
		t.Curves = []Curve{{Service: formulation.Every}}
	}
	t.Curves[0].Points = append(t.Curves[0].Points, Point{
		Steps: p.Steps, Episodes: p.Episodes, Return: p.Explored, Loss: p.Loss, Evaluation: p.Evaluation, CommonReward: commonReward,
	})
}

// AddEvaluation adds an evaluation.
func (t *Trained) AddEvaluation(who string, commonReward, qos float64, r train.Result) {
	t.Evaluations = append(t.Evaluations, Evaluation{who, commonReward, qos, r.CPU, r.Memory})
}

// Part of a progress, as a share of the whole; nil where there is none.
func Part(progress func(float64), from, to float64) func(float64) {
	if progress == nil {
		return nil
	}
	return func(share float64) { progress(from + (to-from)*share) }
}
