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
	"github.com/loadline/loadline/internal/sim/pool"
)

// HistorySpec is the run and the resolution of the recording.
type HistorySpec struct {
	App      *loadline.App
	Load     sim.Arrivals
	Workload string // its name, for the manifest
	Policy   string // name:key=value,...
	// Decider, if set, decides instead of a policy by name, as in Spec.
	Decider  loadline.Policy
	Engine   string // one of Engines
	Duration time.Duration
	Step     time.Duration // of the history; 0 = 15 s
	Seed     uint64
	CPU      sim.CPUModel
	Cluster  pool.Cluster // nodes and neighbours; the zero value has the application's own nodes

	// Perturb are faults. Loss of metrics and noise in the CPU readings are part of the history
	// too: a service's step is lost with the probability of a lost scrape.
	Perturb Perturb

	Progress func(at time.Duration) // may be nil
}

// DefaultHistoryStep is the usual scrape interval.
const DefaultHistoryStep = 15 * time.Second

// RecordHistory simulates and records every complete step. It ends early with the context's error.
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
		Duration: s.Duration, Seed: s.Seed, CPU: s.CPU, Cluster: s.Cluster, Perturb: s.Perturb,
		Hooks: Hooks{Progress: s.Progress},
	}
}

// Validate reports every fault before anything is run.
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

// source is the manifest's description of a recording: enough to repeat it.
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
