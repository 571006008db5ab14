package pipeline

import (
	"errors"
	"fmt"
	"math"
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

// places to practise on: every service that is visited, with budgets by shares if
// there are any.
func (s *Subject) places(shares *formulation.Shares) ([]train.ServiceScenario, error) {
	return placesOf(s.App, s.Seen, shares)
}

func placesOf(app *loadline.App, w *workload.Workload, shares *formulation.Shares) ([]train.ServiceScenario, error) {
	load, err := w.For(app)
	if err != nil {
		return nil, err
	}
	return train.ServiceScenarios(formulation.NewGround(app).With(shares), load, w.Duration()), nil
}

// rows of a service's history, as Scaling-Ops' ENV1 draws them.
func (s *Subject) rows(service string) []train.HistoryRow {
	h := s.History.Service(service)
	if h == nil {
		return nil
	}
	var rows []train.HistoryRow
	for i := range s.History.Steps {
		cpu, ok1 := h.Series[history.CPU].Get(i)
		rate, ok2 := h.Series[history.Rate].Get(i)
		ready, ok3 := h.Series[history.Ready].Get(i)
		if !ok3 {
			ready, ok3 = h.Series[history.Desired].Get(i)
		}
		request, ok4 := h.Series[history.CPURequest].Get(i)
		if !ok4 {
			request = s.App.Services[s.App.ServiceIndex(service)].Size.CPURequest
		}
		if ok1 && ok2 && ok3 && ready >= 1 && request > 0 {
			rows = append(rows, train.HistoryRow{CPU: cpu / (ready * request), Requests: rate, Replicas: math.Round(ready)})
		}
	}
	return rows
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
		faults = append(faults, fmt.Errorf("there is %v to learn from, must be at least %v: give a longer history", s.Seen.Duration(), leastSeen))
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
