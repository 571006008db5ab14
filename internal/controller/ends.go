package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/kube"
	"github.com/loadline/loadline/internal/metrics/live"
	"github.com/loadline/loadline/internal/resource"
)

// workloads is the cluster's end, kube.Workloads.
type workloads interface {
	Look(ctx context.Context) ([]kube.State, error)
	Scale(ctx context.Context, service, from, to int) error
	Resize(ctx context.Context, service int, to loadline.Setting, allowRecreate bool) ([]kube.Outcome, error)
}

// metering is the metrics' end, live.Source.
type metering interface {
	Observe(ctx context.Context, now time.Time, pods [][]string, into *loadline.Observation) error
	Report() live.Report // of that observation
}

// ends are the two ends of one application's loop in a cluster: observing and
// applying. They are for the loop's goroutine alone.
type ends struct {
	app      *resource.Application
	work     workloads
	source   func(ctx context.Context, now time.Time) (metering, error) // the metrics' end as it is now
	timeout  time.Duration                                              // of one look at the metrics
	resource func() *v1alpha1.LoadLine                                  // the latest, for pauses
	now      func() time.Time
	act      bool // by the mode; a dry run does not

	states   []kube.State
	standing []standing
	desired  []desired
	names    [][]string  // of pods, by service
	blind    error       // why the metrics could not be read, at the last pass
	report   live.Report // which metrics were absent or stale, and why
	newest   time.Time   // sample so far
	resizes  [][]kube.Outcome
	metrics  *applicationMetrics
}

func newEnds(app *resource.Application) *ends {
	n := len(app.App.Services)
	return &ends{
		app: app, standing: make([]standing, n), desired: make([]desired, n),
		names: make([][]string, n), resizes: make([][]kube.Outcome, n),
	}
}

// Observe reads the workloads and the metrics. Where metrics cannot be read, their
// samples are absent, and the guards decide what to do.
func (e *ends) Observe(ctx context.Context, into *loadline.Observation) error {
	if err := e.look(ctx); err != nil {
		return err
	}
	now := e.now()
	e.begin(into, now)
	e.blind = e.measure(ctx, now, into)
	e.noteNewest(into)
	e.stand(into, now)
	return nil
}

// look reads the workloads, and notices changes by others.
func (e *ends) look(ctx context.Context) error {
	states, err := e.work.Look(ctx)
	if err != nil {
		return err
	}
	e.states = states
	for i := range states {
		if e.app.Targets[i] != nil && !e.byKEDA(i) {
			e.desired[i].noticeManual(&states[i], e.now(), e.app.RespectManual)
		}
	}
	return nil
}

// begin an observation with what the API server knows, reusing the slices of an
// older one.
func (e *ends) begin(into *loadline.Observation, now time.Time) {
	app := e.app.App
	services := slices.Grow(into.Services[:0], len(app.Services))[:len(app.Services)]
	for i := range services {
		pods := services[i].Pods[:0]
		e.names[i] = e.names[i][:0]
		for j := range e.states[i].Pods {
			p := &e.states[i].Pods[j]
			pods = append(pods, p.PodObservation)
			e.names[i] = append(e.names[i], p.Name)
		}
		services[i] = loadline.ServiceObservation{Pods: pods, Brownout: e.desired[i].brownout}
	}
	kinds := slices.Grow(into.Kinds[:0], len(app.Kinds))[:len(app.Kinds)]
	clear(kinds)
	nodes := slices.Grow(into.Nodes[:0], len(app.Nodes))[:len(app.Nodes)]
	clear(nodes)
	*into = loadline.Observation{At: now, Services: services, Kinds: kinds, Nodes: nodes}
}

func (e *ends) measure(ctx context.Context, now time.Time, into *loadline.Observation) error {
	source, err := e.source(ctx, now)
	if err != nil {
		e.report = live.Unread(now, err)
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	err = source.Observe(ctx, now, e.names, into)
	e.report = source.Report()
	return err
}

// noteNewest keeps the time of the newest sample, before late ones are dropped.
func (e *ends) noteNewest(o *loadline.Observation) {
	for i := range o.Services {
		for _, s := range []loadline.Sample{o.Services[i].Rate, o.Services[i].CPU} {
			if s.At.After(e.newest) {
				e.newest = s.At
			}
		}
	}
}

// stand determines for each service whether it may be moved now, the gravest reason
// first.
func (e *ends) stand(o *loadline.Observation, now time.Time) {
	pause := e.resource().Pause()
	for i := range e.standing {
		target, s := e.app.Targets[i], &e.states[i]
		switch {
		case target == nil:
			e.standing[i] = standing{why: "it is not among spec.services"}
		case s.Err != nil:
			e.standing[i] = standing{v1alpha1.ServiceNotFound, s.Err.Error()}
		case pause.Of(target.Name):
			e.standing[i] = standing{v1alpha1.ServicePaused, pause.Why}
		case s.Paused:
			e.standing[i] = standing{v1alpha1.ServicePaused, "annotation " + v1alpha1.PausedAnnotation + " on the workload"}
		case len(s.Conflicts) > 0:
			e.standing[i] = standing{v1alpha1.ServiceConflict, conflictText(s.Conflicts)}
		case s.RollingOut != "":
			e.standing[i] = standing{v1alpha1.ServiceRollingOut, "a roll-out is in progress: " + s.RollingOut}
		case now.Before(e.desired[i].manual):
			e.standing[i] = standing{v1alpha1.ServiceManualChange, e.desired[i].whyManual(s)}
		default:
			e.standing[i] = standing{}
		}
		if e.byKEDA(i) && e.standing[i].still() {
			e.desired[i].replicas, e.desired[i].brownout = loadline.Opt[int]{}, false // others control it now
		}
	}
}

func conflictText(conflicts []kube.Conflict) string {
	var parts []string
	for _, c := range conflicts {
		parts = append(parts, c.Message)
	}
	return strings.Join(parts, "; ")
}

// Allocation appends the desired allocation of each service.
func (e *ends) Allocation(into []loadline.Allocation) []loadline.Allocation {
	for i := range e.states {
		into = append(into, e.allocation(i))
	}
	return into
}

// allocation of a service: the workload's replicas and template, overridden by what
// we have set.
func (e *ends) allocation(i int) loadline.Allocation {
	s, t := &e.states[i], &e.desired[i]
	a := loadline.Allocation{Replicas: s.Replicas, Size: s.Template}.With(t.size)
	if e.byKEDA(i) { // it scales with a delay of its own
		a.Replicas = t.replicas.Or(s.Replicas)
	}
	if t.brownout {
		a.Brownout = true
		if s.Replicas == 0 {
			a.Replicas = t.replicas.Or(e.app.App.Services[i].Replicas)
		}
	}
	return a
}

func (e *ends) byKEDA(i int) bool {
	return e.app.Targets[i] != nil && e.app.Targets[i].MovedBy == v1alpha1.ByKEDA
}

// serviceError names the service that an error is about.
func (e *ends) serviceError(i int, err error) error {
	return fmt.Errorf("service %s: %w", e.app.App.Services[i].Name, err)
}
