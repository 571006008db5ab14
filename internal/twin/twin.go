// Package twin fits an application to its history: a [loadline.App] that the simulator
// runs, made from a [history.History], and beside it Scaling-Ops' regressor, both scored
// on the held-out last part of the history.
//
// Reading order: [Fit] (twin.go) is the table of contents; past.go and window.go prepare the
// history and reject what cannot be fitted; graph.go, ratios.go and tree.go find the call
// graph; demand.go, work.go and change.go CPU per request, by kind, and releases that changed it; station.go,
// points.go and trial.go the load-latency profile; resources.go memory, start-up and sizes;
// nodes.go nodes and neighbours; ranges.go and sensitivity.go what the history does not determine;
// objective.go objectives; linear.go Scaling-Ops' regressor; build.go assembles the
// application; replay.go, score.go and stretch.go evaluate both models on the held-out part;
// coverage.go reports where the twin extrapolates; load.go turns the history into a workload;
// origins.go records the origin of every figure; robust.go is the arithmetic.
//
// Assumptions are listed in the [Report] and marked in the written model.
package twin

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/pool"
)

// Options configure a fit. The zero value is usable.
type Options struct {
	Name       string      // of the application; "twin"
	Objectives []Objective // none: assumed, see [UsualFactor]
	HeldOut    float64     // share of the history, at its end, that is held out to score on; 0.2
	Without    []string    // services to leave out

	// Delay is what the linear model is fitted to: LatencyMean, or one of the
	// percentiles. The zero value is the mean.
	Delay history.ServiceMetric

	// Sensitivity simulates held-out history at both ends of every range: [Range.AtLow] and
	// [Range.AtHigh].
	Sensitivity bool

	CPU     sim.CPUModel     // how a CPU limit is enforced
	Routing loadline.Routing // metrics do not show it; the default is random

	Progress func(share float64) // may be nil; called by one goroutine at a time
}

// Objective is the SLO of one kind of request.
type Objective struct {
	Kind string // empty = every kind
	SLO  loadline.SLO
}

// DefaultHeldOut is the share of a history that is held out.
const DefaultHeldOut = 0.2

// Twin is an application fitted to its history.
type Twin struct {
	App *loadline.App
	// Cluster is the neighbours on the nodes of App, as the history shows them.
	Cluster pool.Cluster
	// Ranges are the figures that the history does not determine.
	Ranges []Range
	Linear []Linear // in the order of App.Services; zero Rows = it could not be fitted
	// LinearP99 is the same regressor of the 99th percentile.
	LinearP99 []Linear
	Report    Report

	origins []apps.Origin
	marks   map[string]string // from field to origin
}

// Fit makes a twin of a history. The last part, Options.HeldOut of it, is used for scoring
// only.
func Fit(h *history.History, o Options) (*Twin, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	p, err := prepare(h, o)
	if err != nil {
		return nil, err
	}
	g := p.callGraph()
	models := fitServices(p, g)
	t, err := build(p, g, models)
	if err != nil {
		return nil, err
	}
	t.fitLinear(p)
	t.score(p, g, models)
	if o.Sensitivity {
		t.sensitivity(p)
	}
	progress(o, 1)
	return t, nil
}

func (o Options) withDefaults() (Options, error) {
	var faults []error
	if o.Name == "" {
		o.Name = "twin"
	}
	if o.HeldOut == 0 {
		o.HeldOut = DefaultHeldOut
	}
	if !(o.HeldOut > 0 && o.HeldOut <= 0.9) {
		faults = append(faults, fmt.Errorf("held-out share %v must be above 0 and at most 0.9", o.HeldOut))
	}
	if o.Delay == 0 {
		o.Delay = history.LatencyMean
	}
	if o.Delay < history.LatencyMean || o.Delay > history.LatencyP99 {
		faults = append(faults, fmt.Errorf("delay %v must be the mean or a percentile of the response time", o.Delay))
	}
	for _, ob := range o.Objectives {
		if !(ob.SLO.Percentile > 0 && ob.SLO.Percentile < 100) || ob.SLO.Latency <= 0 {
			faults = append(faults, fmt.Errorf("objective %v %% within %v: the percentile must be between 0 and 100, the time above 0",
				ob.SLO.Percentile, ob.SLO.Latency))
		}
	}
	return o, errors.Join(faults...)
}

// model is the fit of one service.
type model struct {
	demand  demand
	station station
	memory  loadline.Memory
	startup loadline.Dist
	size    loadline.Size
	seen    coverage
	notes   notes
}

// fitServices fits every service by itself, several in parallel.
func fitServices(p *past, g *graph) []model {
	models := make([]model, len(p.tracks))
	next := make(chan int)
	var wait sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for range min(runtime.GOMAXPROCS(0), len(models)) {
		wait.Go(func() {
			for i := range next {
				models[i] = fitService(p, g, i)
				mu.Lock()
				done++
				progress(p.options, 0.8*float64(done)/float64(len(models)))
				mu.Unlock()
			}
		})
	}
	for i := range models {
		next <- i
	}
	close(next)
	wait.Wait()
	return models
}

func fitService(p *past, g *graph, i int) (m model) {
	t := p.tracks[i]
	m.size = t.sizes(p, &m.notes)
	m.demand = p.demand(g, i, &m.notes)
	m.seen = t.coverage(p, &m)
	m.memory = t.memory(p, &m)
	m.startup = t.startup(p, &m.notes)
	m.station = fitStation(p, g, i, &m)
	return m
}

func progress(o Options, share float64) {
	if o.Progress != nil {
		o.Progress(share)
	}
}

// seconds makes a duration of seconds, to the nanosecond.
func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
