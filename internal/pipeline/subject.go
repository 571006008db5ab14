package pipeline

import (
	"errors"
	"fmt"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/train"
	"github.com/loadline/loadline/internal/workload"
)

// Subject is the application that candidates are trained for: its model, its load and
// its history under another autoscaler.
type Subject struct {
	Name   string
	Source string // where its history comes from
	App    *loadline.App
	// Load of the three parts, in the order of time: models are fitted to the first, rules are
	// calibrated and a candidate is chosen on the second, and the choice is judged on the third.
	Training, Selection, HeldOut *workload.Workload
	History                      *history.History // of the training part
	Delays                       map[string]train.Delays

	TrainingFrom, SelectionFrom, HeldOutFrom time.Time // when the parts begin
	Model                                    []byte    // the application as a model file, with the origin of its figures
	Notes                                    []string  // limits of the history, for the user
	// Today is the autoscaler that the user runs, in the notation of policies; "" = unknown.
	Today string
	// TodayGuard is its fallback rule, if it is a LoadLine; "" = it runs without our guard.
	TodayGuard string
	// AssumedObjective: the SLO is not the user's.
	AssumedObjective bool
	// Guessed are figures without which nothing can be concluded; each entry names one and what to
	// measure.
	Guessed []string
	// Replaced are services whose training part shows a release that is gone; each entry says what
	// changed and when.
	Replaced  []string
	Knowledge Knowledge // how well the model is known
}

// selectionShare is the part of a history between training and test, given the share of the
// test: as long as the test, but at most half of what the test leaves.
func selectionShare(heldOut float64) float64 { return min(heldOut, (1-heldOut)/2) }

// Smoothing is Scaling-Ops' alpha.
const Smoothing = 0.4

// placesOf an application: every visited service alone, with budgets by shares if there are
// any.
func placesOf(app *loadline.App, w *workload.Workload, shares *formulation.Shares) ([]train.ServiceScenario, error) {
	load, err := w.For(app)
	if err != nil {
		return nil, err
	}
	return train.ServiceScenarios(formulation.NewTopology(app).With(shares), load, w.Duration()), nil
}

// Least durations of the parts.
const (
	minTraining = time.Hour
	minHeldOut  = 20 * time.Minute
)

// Check reports every fault of a subject before anything is trained on it.
func (s *Subject) Check() error {
	var faults []error
	if s.Training.Duration() < minTraining {
		faults = append(faults, fmt.Errorf("the training part is %v long, must be at least %v: give a longer history",
			s.Training.Duration(),
			minTraining))
	}
	if s.Training.Max() == 0 {
		faults = append(faults, errors.New("the training part has no requests: give a history with requests in it"))
	}
	if s.HeldOut != nil && s.HeldOut.Duration() < minHeldOut {
		faults = append(faults, fmt.Errorf("the held-out part is %v long, must be at least %v: give a longer history, or hold out "+
			"more of it with --held-out", s.HeldOut.Duration(), minHeldOut))
	}
	if s.HeldOut != nil && s.HeldOut.Max() == 0 {
		faults = append(faults, errors.New("the held-out part has no requests: give a history that ends with requests in it"))
	}
	if s.Selection != nil && s.Selection.Duration() < minHeldOut {
		faults = append(faults, fmt.Errorf("the part for selection, before the held-out part, is %v long, must be at least %v: give "+
			"a longer history, or change --held-out", s.Selection.Duration(), minHeldOut))
	}
	if s.Selection != nil && s.Selection.Max() == 0 {
		faults = append(faults, errors.New("the part for selection, before the held-out part, has no requests: give a history with "+
			"requests throughout"))
	}
	return errors.Join(faults...)
}
