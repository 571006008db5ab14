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
	// Past is what was recorded of the application; nil = nothing was, and everything is
	// learned in the simulated cluster.
	Past *Past
	// Shares that services' parts of the SLO follow; nil = the method's own way.
	Shares *formulation.Shares
	// Profiles of the services, for methods that need them; nil = they are measured.
	Profiles func(ctx context.Context, progress func(share float64)) (*profile.Set, error)
	Progress func(share float64) // may be nil
}

// Past is what was recorded while another autoscaler was in charge.
type Past struct {
	History *history.History
	Delays  map[string]train.Delays // Scaling-Ops' model of each service
}

// LeastSteps of a task are so few that everything still happens once.
const LeastSteps = 40

// Validate says what is wrong with a task.
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

// Episodes of an evaluation: fewer where there are few steps to learn from, so that
// evaluating does not take longer than learning.
func (t Task) Episodes(most int) int { return min(max(t.Steps/2000, 2), most) }

func (t Task) tell(share float64) {
	if t.Progress != nil {
		t.Progress(share)
	}
}

// Variant is how the n-th of several models of a method is trained.
type Variant struct {
	Settings json.RawMessage // for Task.Settings
	About    string          // what tells it from others, for tables
	From     int             // the variant whose weights it begins with; 0 = none
}

// Trained is a model and how its training went.
type Trained struct {
	Model  Model
	Curves []Curve
	// Exams are what the model, and others to compare with, achieved by DRPC's reward on
	// episodes that were not trained on. The model's own is the last. None = it was not
	// examined by that reward.
	Exams []Exam
	// Episodes are the mean rewards of a step while exploring.
	Episodes   []float64
	Parameters int // of one network that decides

	// Of DRPC alone.
	Central           int // parameters of the teacher
	Plateau           int // steps at which it had levelled off; 0 = it had not
	Imitation, Agreed float64
	BytesPerDecision  float64
}

// Curve is how the learning of one network went.
type Curve struct {
	Service string // "" or formulation.Every = all
	Points  []Point
}

// Point of a learning curve. What is not known is NaN.
type Point struct {
	Steps, Episodes int
	Return, Loss    float64 // while exploring
	Evaluation      float64 // without exploring, by the method's own reward
	Yardstick       float64 // the same by DRPC's reward
}

// Exam is what a policy achieved on episodes that were not trained on.
type Exam struct {
	Who         string
	Yardstick   float64 // mean of DRPC's reward
	QoS         float64
	CPU, Memory float64 // mean utilisation of what was requested
}

// AddPoint adds a point to the only curve.
func (t *Trained) AddPoint(p train.Point, yardstick float64) {
	if len(t.Curves) == 0 {
		t.Curves = []Curve{{Service: formulation.Every}}
	}
	t.Curves[0].Points = append(t.Curves[0].Points, Point{
		Steps: p.Steps, Episodes: p.Episodes, Return: p.Explored, Loss: p.Loss, Evaluation: p.Evaluation, Yardstick: yardstick,
	})
}

// AddExam adds an exam.
func (t *Trained) AddExam(who string, yardstick, qos float64, r train.Result) {
	t.Exams = append(t.Exams, Exam{who, yardstick, qos, r.CPU, r.Memory})
}

// Part of a progress, as a share of the whole; nil where there is none.
func Part(progress func(float64), from, to float64) func(float64) {
	if progress == nil {
		return nil
	}
	return func(share float64) { progress(from + (to-from)*share) }
}
