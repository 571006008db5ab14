package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/simulate"
	"github.com/loadline/loadline/internal/workload"
)

// A policy written NAME@warm starts with a history of its scene, as a controller that is installed
// where Prometheus has run for a week: a generated workload has seven days of draws with other
// seeds, a trace the seven days before the run, or as many as there are. The rates of users'
// requests cover all of it; what services did with them is recorded over its last hours only, in the
// fluid engine under HPA, since their figures do not change within it.

const (
	pastLength   = 7 * 24 * time.Hour
	pastRecorded = 6 * time.Hour
	// pastSeed is the first seed of the draws, far from all others.
	pastSeed = 600_001
	// pastPolicy is what the application ran under.
	pastPolicy = "hpa:limits=lifted"
)

// past is the workload of the days before a run, on the scale of the run.
func (o *opened) past(w Workload) (*workload.Workload, error) {
	if w.Given != nil {
		if len(w.Given.Validation) == 0 {
			return nil, errors.New("it comes without earlier data to start from")
		}
		return joined(w.Given.Validation)
	}
	if generated(w.Spec) {
		if w.PastSpec != "" {
			w.Spec = w.PastSpec
		}
		return o.draws(w, pastSeed, pastLength)
	}
	all, err := o.file(w)
	if err != nil {
		return nil, err
	}
	test := w.Test
	if test == (Span{}) {
		test = Span{all.Duration() * 4 / 5, all.Duration()}
	}
	run, err := all.Slice(test.From, test.To)
	if err != nil {
		return nil, err
	}
	before, err := all.Slice(max(0, test.From-pastLength), test.From)
	if err != nil {
		return nil, fmt.Errorf("the days before %v: %w", test.From, err)
	}
	if w.Peak == 0 {
		return before, nil
	}
	// Parts of a trace are scaled to a peak each; the days before have the scale of the run.
	return before.Peak(w.Peak * before.Max() / run.Max())
}

// memory is the history of a cell, made once.
type memory struct {
	once sync.Once
	of   *history.History
	err  error
}

// history of the days before the cell's runs.
func (c *cell) history(ctx context.Context) (*history.History, error) {
	c.memory.once.Do(func() { c.memory.of, c.memory.err = recordPast(ctx, c) })
	return c.memory.of, c.memory.err
}

// histories of the days before the cell's runs, one for each application.
func (c *cell) histories(ctx context.Context) ([]*history.History, error) {
	of := c.alone
	if len(of) == 0 {
		of = []*cell{c}
	}
	var all []*history.History
	for _, one := range of {
		h, err := one.history(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, h)
	}
	return all, nil
}

// pastSpec is the run that records the last hours of a past, and the load of those hours.
func pastSpec(c *cell) (simulate.HistorySpec, error) {
	w := c.past
	last := w
	if long := w.Duration(); long > pastRecorded {
		var err error
		if last, err = w.Slice(long-pastRecorded, long); err != nil {
			return simulate.HistorySpec{}, err
		}
	}
	load, err := last.For(c.app.Model)
	return simulate.HistorySpec{
		App: c.app.Model, Load: load, Workload: c.workload, Policy: pastPolicy, Engine: "fluid", Duration: last.Duration(),
		Step: simulate.DefaultHistoryStep, Seed: pastSeed, Cluster: c.cluster,
	}, err
}

// pastKey identifies a past by all that it is made of.
func (c *cell) pastKey() (string, error) {
	if len(c.alone) > 0 {
		var keys []string
		for _, one := range c.alone {
			key, err := one.pastKey()
			if err != nil {
				return "", err
			}
			keys = append(keys, key)
		}
		return digest(keys)
	}
	s, err := pastSpec(c)
	if err != nil {
		return "", err
	}
	return keyOf(simulate.Spec{
		App: s.App, Policy: s.Policy, Engine: s.Engine, Duration: s.Duration, Seed: s.Seed, Cluster: s.Cluster,
	}, c.past, "past")
}

// recordPast makes the history of a cell. It ends where runs begin.
func recordPast(ctx context.Context, c *cell) (*history.History, error) {
	s, err := pastSpec(c)
	if err != nil {
		return nil, err
	}
	h, err := simulate.RecordHistory(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("record the days before %s: %w", c.workload, err)
	}
	before := int((c.past.Duration() - s.Duration) / h.Step)
	load, err := c.past.For(c.app.Model)
	if err != nil {
		return nil, err
	}
	prepend(h, c.app.Model, load, before)
	h.Nodes = nil
	h.Steps += before
	h.Start = sim.Epoch.Add(-time.Duration(h.Steps-1) * h.Step)
	h.Manifest.Start, h.Manifest.Steps = h.Start, h.Steps
	return h, nil
}

// prepend puts steps before a recording in which only the rates of users' requests are known.
func prepend(h *history.History, app *loadline.App, load sim.Arrivals, steps int) {
	lengthen := func(series []history.Series) {
		for m := range series {
			if series[m] != nil {
				series[m] = append(history.NewSeries(steps), series[m]...)
			}
		}
	}
	for i := range h.Services {
		lengthen(h.Services[i].Series[:])
	}
	for i := range h.Calls {
		c := &h.Calls[i]
		lengthen(c.Series[:])
		kind := app.KindIndex(c.Operation)
		if c.From != "" || kind < 0 {
			continue
		}
		for step := range steps {
			c.Series[history.CallRate][step] = float32(meanRate(load, kind, time.Duration(step)*h.Step, h.Step))
		}
	}
}

// meanRate of a kind over a step.
func meanRate(load sim.Arrivals, kind int, from, step time.Duration) float64 {
	sum, end := 0.0, from+step
	for at := from; at < end; {
		rate, until := load.Rate(kind, at)
		until = min(until, end)
		if until <= at {
			return math.NaN()
		}
		sum += rate * (until - at).Seconds()
		at = until
	}
	return sum / step.Seconds()
}

// learnsHistory: a policy can start with a history.
func learnsHistory(spec string) bool {
	name, _, _ := strings.Cut(spec, ":")
	m, err := policy.Named(name)
	return err == nil && m.LearnsHistory
}
