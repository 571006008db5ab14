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

// Subject is an application to learn to scale: its model, its users' requests and
// what was measured while another autoscaler was in charge.
type Subject struct {
	Name    string
	Source  string // where its past comes from
	App     *loadline.App
	Seen    *workload.Workload // requests to learn from
	Unseen  *workload.Workload // requests that come after, kept for the proof
	History *history.History   // of the seen part
	Delays  map[string]train.Delays

	SeenFrom, UnseenFrom time.Time // when the two begin
	Model                []byte    // the application as a model file, with where its figures come from
	Notes                []string  // what a person should know before trusting the outcome
}

// Smoothing is Scaling-Ops' alpha.
const Smoothing = 0.4

// placesOf an application: every service that is visited, alone, with budgets by shares
// if there are any.
func placesOf(app *loadline.App, w *workload.Workload, shares *formulation.Shares) ([]train.ServiceScenario, error) {
	load, err := w.For(app)
	if err != nil {
		return nil, err
	}
	return train.ServiceScenarios(formulation.NewTopology(app).With(shares), load, w.Duration()), nil
}

// The least that there must be to learn from and to prove on.
const (
	leastSeen   = time.Hour
	leastUnseen = 20 * time.Minute
)

// Check says what is wrong with a subject before anything is trained on it.
func (s *Subject) Check() error {
	var faults []error
	if s.Seen.Duration() < leastSeen {
		faults = append(faults, fmt.Errorf("there is %v to learn from, must be at least %v: give a longer history", s.Seen.Duration(),
			leastSeen))
	}
	if s.Seen.Max() == 0 {
		faults = append(faults, errors.New("nobody asked for anything in the part to learn from: give a history with requests in it"))
	}
	if s.Unseen != nil && s.Unseen.Duration() < leastUnseen {
		faults = append(faults, fmt.Errorf("there is %v to prove policies on, must be at least %v: give a longer history, or hold out more of it with --unseen", s.Unseen.Duration(), leastUnseen))
	}
	if s.Unseen != nil && s.Unseen.Max() == 0 {
		faults = append(faults, errors.New("nobody asked for anything in the part to prove policies on: give a history that ends with requests in it"))
	}
	return errors.Join(faults...)
}
