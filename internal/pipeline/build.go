package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/simulate"
	"github.com/loadline/loadline/internal/train"
	"github.com/loadline/loadline/internal/twin"
	"github.com/loadline/loadline/internal/workload"
)

// Past configures how a subject is made from a history.
type Past struct {
	Name       string // of the application
	Objectives []twin.Objective
	Without    []string // services to leave out
	HeldOut    float64  // share at the end that is held out for the evaluation; 0 = a fifth
	Progress   func(share float64)
}

// FromHistory fits a twin to the first part of a history. Neither the twin nor any candidate
// uses the other two.
func FromHistory(h *history.History, p Past) (*Subject, error) {
	if p.HeldOut == 0 {
		p.HeldOut = twin.DefaultHeldOut
	}
	if !(p.HeldOut > 0 && p.HeldOut <= 0.9) {
		return nil, fmt.Errorf("held-out share %v must be above 0 and at most 0.9", p.HeldOut)
	}
	later := p.HeldOut + selectionShare(p.HeldOut)
	t, err := twin.Fit(h, twin.Options{Name: p.Name, Objectives: p.Objectives, HeldOut: later, Without: p.Without,
		Progress: p.Progress})
	if err != nil {
		return nil, err
	}
	s := &Subject{Name: t.App.Name, Source: h.Manifest.Source, App: t.App, Notes: t.Report.Warnings}
	for _, a := range t.Report.Assumed {
		if len(p.Objectives) == 0 && isObjective(a.Field) {
			s.AssumedObjective = true
			s.Notes = append(s.Notes, fmt.Sprintf("%s is assumed to be %s: %s; set the objective with --objective", a.Field,
				a.Value, a.Why))
		}
	}
	if s.Model, err = t.Encode(); err != nil {
		return nil, err
	}
	s.Guessed, s.Replaced, s.Knowledge = guessed(t), replaced(t), knowledgeOf(t)
	s.setToday(h)
	first, cut := h.Steps-int(math.Round(later*float64(h.Steps))), h.Steps-int(math.Round(p.HeldOut*float64(h.Steps)))
	s.History = h.Cut(0, first)
	if s.Training, s.TrainingFrom, err = s.longest(s.History, "for training"); err != nil {
		return nil, err
	}
	if s.Selection, s.SelectionFrom, err = s.longest(h.Cut(first, cut), "for selection"); err != nil {
		return nil, err
	}
	if s.HeldOut, s.HeldOutFrom, err = s.longest(h.Cut(cut, h.Steps), "for evaluation"); err != nil {
		return nil, err
	}
	s.Delays = delaysOf(s.App, t.Linear, s.History)
	s.remark()
	return s, s.Check()
}

// setToday takes over the autoscalers that the history shows, if a policy here can do the same.
func (s *Subject) setToday(h *history.History) {
	today, err := policy.TodayOf(s.App, h.Manifest.Autoscalers)
	switch {
	case errors.Is(err, policy.ErrNoAutoscaler):
	case err != nil:
		s.Notes = append(s.Notes, fmt.Sprintf("what runs today cannot be simulated, set --today of loadline evaluate: %v", err))
	default:
		s.Today = today.Spec
		s.Notes = append(s.Notes, today.Notes...)
	}
}

// isObjective reports whether a field of a model file is an SLO.
func isObjective(field string) bool {
	return len(field) > 4 && field[len(field)-4:] == ".slo"
}

// longest part of a history's load without a gap that is too long to fill.
func (s *Subject) longest(h *history.History, what string) (*workload.Workload, time.Time, error) {
	stretches, err := twin.Loads(h, s.App)
	if err != nil {
		return nil, time.Time{}, err
	}
	if len(stretches) == 0 {
		return nil, time.Time{}, fmt.Errorf("no requests were measured in the part %s: give a history with requests throughout", what)
	}
	best := slices.MaxFunc(stretches, func(a, b twin.Stretch) int { return (a.To - a.From) - (b.To - b.From) })
	if len(stretches) > 1 {
		s.Notes = append(s.Notes, fmt.Sprintf("the part %s has %d gaps that are too long to fill: the longest stretch between them "+
			"is used, %v from %s",
			what, len(stretches)-1, best.Load.Duration(), h.At(best.From).UTC().Format(time.RFC3339)))
	}
	return best.Load, h.At(best.From).Add(-h.Step), nil
}

// Model configures how a subject is made from an application's own model.
type Model struct {
	HeldOut  float64 // share at the end that is held out for the evaluation; 0 = a fifth
	Policy   string  // the autoscaler under which the history is recorded; "" = HPA at its default
	Seed     uint64
	Progress func(share float64)
}

// FromApp uses an application's own model. Its history under an autoscaler, over the training
// part, is recorded in the fluid engine, and Scaling-Ops' regressor is fitted to it.
func FromApp(ctx context.Context, app *loadline.App, w *workload.Workload, m Model) (*Subject, error) {
	if m.HeldOut == 0 {
		m.HeldOut = twin.DefaultHeldOut
	}
	if !(m.HeldOut > 0 && m.HeldOut <= 0.9) {
		return nil, fmt.Errorf("held-out share %v must be above 0 and at most 0.9", m.HeldOut)
	}
	if m.Policy == "" {
		m.Policy = "hpa"
	}
	selection := selectionShare(m.HeldOut)
	parts, err := w.Split(1-m.HeldOut-selection, selection, m.HeldOut)
	if err != nil {
		return nil, err
	}
	s := &Subject{Name: app.Name, App: app, Training: parts[0], Selection: parts[1], HeldOut: parts[2], Today: m.Policy}
	if err := s.Check(); err != nil {
		return nil, err
	}
	if s.Model, err = apps.Encode(app); err != nil {
		return nil, err
	}
	load, err := s.Training.For(app)
	if err != nil {
		return nil, err
	}
	s.History, err = simulate.RecordHistory(ctx, simulate.HistorySpec{
		App: app, Load: load, Workload: w.Name, Policy: m.Policy, Engine: "fluid", Duration: s.Training.Duration(), Seed: m.Seed,
		Progress: func(at time.Duration) {
			if m.Progress != nil {
				m.Progress(at.Seconds() / s.Training.Duration().Seconds())
			}
		},
	})
	if err != nil {
		return nil, fmt.Errorf("record %s under %s: %w", app.Name, m.Policy, err)
	}
	s.Source = s.History.Manifest.Source
	s.TrainingFrom = s.History.Start.Add(-s.History.Step)
	s.SelectionFrom = s.TrainingFrom.Add(s.Training.Duration())
	s.HeldOutFrom = s.SelectionFrom.Add(s.Selection.Duration())
	linear := make([]twin.Linear, len(app.Services))
	for i := range app.Services {
		if service := s.History.Service(app.Services[i].Name); service != nil {
			linear[i] = twin.FitLinear(twin.LinearRows(service, history.LatencyMean, 0, s.History.Steps))
		}
	}
	s.Delays = delaysOf(app, linear, s.History)
	s.remark()
	s.remarkReplicas()
	return s, nil
}

// delaysOf converts Scaling-Ops' model of each service for its environments. The SLA is the
// service's part of the users' objective.
func delaysOf(app *loadline.App, linear []twin.Linear, h *history.History) map[string]train.Delays {
	ground := formulation.NewTopology(app)
	all := map[string]train.Delays{}
	for i, l := range linear {
		if l.Rows == 0 || !(l.MeanRequests > 0) || !(l.MeanReplicas > 0) {
			continue
		}
		d := train.Delays{
			CPUSlope: l.CPUSlope, RequestSlope: l.RequestSlope, Smoothing: Smoothing,
			SLA: ground.Services[i].Budget.Latency.Seconds(), MeanCPU: l.MeanCPU, MeanRequests: l.MeanRequests,
			MeanReplicas: l.MeanReplicas,
		}
		name := app.Services[i].Name
		if s := h.Service(name); s == nil || s.Series[history.CPURequest].Present() == 0 {
			// The regressor was fitted to cores; the environments use shares of the request
			// that the twin assumes.
			if request := app.Services[i].Size.CPURequest; request > 0 {
				d.CPUSlope *= request
				d.MeanCPU /= request
			}
		}
		if d.SLA > 0 {
			all[name] = d
		}
	}
	return all
}

// stillLoad is the relative range below which a load is nearly constant.
const stillLoad = 0.1

// remark adds notes on properties of the history that limit what can be learned from it.
// None of them stops the training.
func (s *Subject) remark() {
	add := func(format string, args ...any) { s.Notes = append(s.Notes, fmt.Sprintf(format, args...)) }
	low, high := math.Inf(1), 0.0
	for i := 0; i < len(s.Training.Rates); {
		to := min(len(s.Training.Rates), i+max(1, int(10*time.Minute/s.Training.Step)))
		sum := 0.0
		for _, r := range s.Training.Rates[i:to] {
			sum += r
		}
		mean := sum / float64(to-i)
		low, high = min(low, mean), max(high, mean)
		i = to
	}
	if high-low < stillLoad*high {
		add("the load is nearly constant (%.3g to %.3g requests/s): a fixed number of replicas serves it, and nothing is learned "+
			"about peaks; give a history with a busy day in it", low, high)
	}
	if heldOut := s.HeldOut.Max(); heldOut > 1.2*s.Training.Max() {
		add("the held-out part goes up to %.3g requests/s, the training part only to %.3g: policies are evaluated above the load "+
			"that they were trained on",
			heldOut, s.Training.Max())
	}
}

// remarkReplicas notes services that never scaled. For a history, the fit reports it.
func (s *Subject) remarkReplicas() {
	var fixed []string
	for i := range s.App.Services {
		name := s.App.Services[i].Name
		if service := s.History.Service(name); service != nil && oneCount(service.Series[history.Ready]) {
			fixed = append(fixed, name)
		}
	}
	if len(fixed) > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("fewer than two replica counts were recorded of %s: the history shows little about "+
			"scaling; give one with a load that makes the autoscaler scale",
			listed(fixed)))
	}
}

// oneCount reports whether a series was measured and has one value only.
func oneCount(s history.Series) bool {
	first, found := 0.0, false
	for i := range s {
		v, present := s.Get(i)
		switch {
		case !present || v != math.Round(v): // a mean of two counts is not a count
		case !found:
			first, found = v, true
		case v != first:
			return false
		}
	}
	return found
}

// listed names the first few of many.
func listed(names []string) string {
	const most = 5
	text := ""
	for i, n := range names {
		if i == most {
			return fmt.Sprintf("%s and %d more", text, len(names)-most)
		}
		if i > 0 {
			text += ", "
		}
		text += n
	}
	return text
}
