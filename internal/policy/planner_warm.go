package policy

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/twin"
)

// plannerPast is a history of the application in the terms of the planner's models, so that it
// starts with what it would have learned by running all that time: the moments of the forecast, the
// demand of each service, its visits, its usual load and its pods' starts.
type plannerPast struct {
	of      *history.History
	users   []twin.Stretch     // users' requests, without gaps within one
	service []*history.Service // by service of the application; nil = the history does not have it
}

const (
	// pastLongest is how much of the end of a history is read: as much as the forecast keeps.
	pastLongest = mostAnalogs * analogEvery
	// pastLeast is the shortest history that is accepted. A shorter one would leave the forecast with
	// the moments of less than an hour, which it has by itself soon.
	pastLeast = time.Hour
	// pastChecked is how much of its end corrects the share of the forecast: a moment's forecast
	// costs a look at all moments before it.
	pastChecked = 24 * time.Hour
)

// readPast reads the end of the history in a folder.
func readPast(dir string, app *loadline.App) (*plannerPast, error) {
	h, err := history.Read(dir, history.Options{Last: pastLongest})
	if err == nil {
		var p *plannerPast
		if p, err = newPlannerPast(h, app); err == nil {
			return p, nil
		}
	}
	return nil, fmt.Errorf("history=%s: %w", dir, err)
}

// newPlannerPast finds the application in a history, and reports every fault.
func newPlannerPast(h *history.History, app *loadline.App) (*plannerPast, error) {
	p := &plannerPast{of: h}
	var faults []error
	var err error
	if h.Step > analogEvery {
		faults = append(faults, fmt.Errorf("its step is %v, and must be at most %v: pull it again with a shorter one", h.Step, analogEvery))
	}
	if h.Duration() < pastLeast {
		faults = append(faults, fmt.Errorf("it covers %v, and must cover at least %v", h.Duration(), pastLeast))
	}
	if p.users, err = twin.Loads(h, app); err != nil {
		faults = append(faults, err)
	}
	known := 0
	for i := range app.Services {
		s := h.Service(app.Services[i].Name)
		if s != nil && s.Series[history.Rate].Present() > 0 && s.Series[history.CPU].Present() > 0 {
			known++
		} else {
			s = nil
		}
		p.service = append(p.service, s)
	}
	if known == 0 && len(app.Services) > 0 {
		faults = append(faults, fmt.Errorf("no service of %s has a rate of requests and CPU in it: use a history of this application", app.Name))
	}
	return p, errors.Join(faults...)
}

// LearnHistory makes a history known before the first decision.
func (p *Planner) LearnHistory(app *loadline.App, h *history.History) error {
	past, err := newPlannerPast(h, app)
	if err != nil {
		return err
	}
	p.past = past
	return nil
}

// LearnHistory is the rule's, where it can.
func (p *setUp) LearnHistory(app *loadline.App, h *history.History) error {
	rule, ok := p.Policy.(interface {
		LearnHistory(app *loadline.App, h *history.History) error
	})
	if !ok {
		return fmt.Errorf("policy %s cannot start with a history", p.Name())
	}
	return rule.LearnHistory(app, h)
}

// learnPast learns from the history before the first decision. A history that reaches beyond that
// instant, as one of a simulation may, is moved back by whole weeks: hours of the week stay.
func (p *Planner) learnPast(now time.Time) {
	const week = 7 * 24 * time.Hour
	past := p.past
	p.past = nil
	back := time.Duration(0)
	if beyond := past.of.At(past.of.Steps - 1).Sub(now); beyond >= 0 {
		back = (beyond/week + 1) * week
	}
	for _, stretch := range past.users {
		for i, rate := range stretch.Load.Rates {
			step := stretch.From + i
			at := past.of.At(step).Add(-back)
			p.load.unchecked = past.of.Steps-step > int(pastChecked/past.of.Step)
			p.load.learn(at, rate)
			if mix := stretch.Load.Mix; mix != nil {
				p.mix.learn(mix.At(time.Duration(i) * past.of.Step))
			}
			for k := range p.services {
				p.services[k].demand.mix = p.mix.now[k]
				past.teach(&p.services[k], &p.callers.of[k], k, step, at, rate)
			}
		}
	}
	p.load.unchecked = false
	for k := range p.services {
		p.services[k].demand.distorted = time.Time{}
	}
}

// teach one service what a step of the history shows of it.
func (h *plannerPast) teach(of *plannedService, callee *calleeLimit, service, step int, at time.Time, front float64) {
	s := h.service[service]
	if s == nil {
		return
	}
	sample := func(m history.ServiceMetric) loadline.Sample {
		if v, ok := s.Series[m].Get(step); ok {
			return loadline.Sample{Value: v, At: at}
		}
		return loadline.Sample{}
	}
	if start, ok := reliable(sample(history.Startup)); ok {
		of.starts.add(at, start)
	}
	ready, ok := reliable(sample(history.Ready))
	if !ok || ready < 1 {
		return
	}
	if used, ok := reliable(sample(history.Memory)); ok {
		of.memory.add(at, used/ready)
	}
	seen := loadline.ServiceObservation{
		Rate: sample(history.Rate), CPU: sample(history.CPU), Concurrency: sample(history.Concurrency),
		Queue: sample(history.Queue), Throttled: sample(history.Throttled),
	}
	of.demand.learnFrom(at, &seen, math.Round(ready), front, h.of.Step.Seconds(), false)
	callee.learnFrom(&seen, math.Round(ready), &of.demand, h.of.Step.Seconds())
	if visits, known := of.demand.visitsOf(front); known {
		of.size.average(at, of.demand.coresOf(visits))
	}
}
