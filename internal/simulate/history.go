package simulate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/sim"
)

// HistorySpec is what to run and how finely to keep it.
type HistorySpec struct {
	App      *loadline.App
	Load     sim.Arrivals
	Workload string // its name, for the manifest
	Policy   string // name:key=value,...
	// Decider decides instead of a policy by name, if there is one, as in
	// Spec.
	Decider  loadline.Policy
	Engine   string // one of Engines
	Duration time.Duration
	Step     time.Duration // of the history; 0 = 15 s
	Seed     uint64
	CPU      sim.CPUModel

	// Perturb is what goes wrong on purpose. Loss of metrics and noise in the
	// CPU readings are kept in the history too: a service's step is lost with
	// the probability of a lost scrape.
	Perturb Perturb

	Progress func(at time.Duration) // may be nil
}

// DefaultHistoryStep is the usual time between two scrapes.
const DefaultHistoryStep = 15 * time.Second

// RecordHistory simulates and keeps every whole step. It ends early with the context's
// error.
func RecordHistory(ctx context.Context, s HistorySpec) (*history.History, error) {
	if s.Step == 0 {
		s.Step = DefaultHistoryStep
	}
	if err := s.Validate(); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	rec := newHistoryRecorder(s)
	spec := s.simulation()
	spec.Hooks.Scrape = func(r *sim.Reading, cp *sim.ControlPlane) {
		if err := rec.watch(r, cp); err != nil {
			stop(err)
		}
	}
	if _, err := Run(ctx, spec); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, err
	}
	h := rec.history()
	if h.Steps == 0 {
		return nil, fmt.Errorf("no step of %v was over before the last scrape of %v: record for longer", s.Step, s.Duration)
	}
	return h, nil
}

func (s HistorySpec) simulation() Spec {
	return Spec{
		App: s.App, Load: s.Load, Workload: s.Workload, Policy: s.Policy, Decider: s.Decider, Engine: s.Engine,
		Duration: s.Duration, Seed: s.Seed, CPU: s.CPU, Perturb: s.Perturb,
		Hooks: Hooks{Progress: s.Progress},
	}
}

// Validate reports everything that is wrong, before anything is run.
func (s HistorySpec) Validate() error {
	var faults []error
	switch {
	case s.Step < time.Second || s.Step%time.Millisecond != 0:
		faults = append(faults, fmt.Errorf("step %v must be at least 1s, in whole milliseconds", s.Step))
	case s.Duration > 0 && s.Duration < s.Step:
		faults = append(faults, fmt.Errorf("duration %v is shorter than one step of %v", s.Duration, s.Step))
	}
	if err := s.simulation().Validate(); err != nil {
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

// source is how the manifest names a recording: enough to make it again.
func (s HistorySpec) source() string {
	words := []string{
		"record", "app=" + s.App.Name, "workload=" + s.Workload, "policy=" + s.Policy, "engine=" + s.Engine, fmt.Sprintf("seed=%d",
			s.Seed),
	}
	if s.CPU == sim.Shared {
		words = append(words, "cpu=shared")
	}
	return strings.Join(words, " ")
}
