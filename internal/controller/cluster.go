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

// workloads reads and changes the workloads: kube.Workloads.
type workloads interface {
	Look(ctx context.Context) ([]kube.State, error)
	Scale(ctx context.Context, service, from, to int) error
	Resize(ctx context.Context, service int, to loadline.Setting, how kube.Resizing) ([]kube.Outcome, error)
	restorer
}

// metering reads the metrics: live.Source.
type metering interface {
	Observe(ctx context.Context, now time.Time, pods [][]string, into *loadline.Observation) error
	Report() live.Report // of that observation
}

// cluster implements loop.Cluster for one application on Kubernetes: it observes and
// applies. Only the goroutine of the loop uses it.
type cluster struct {
	app      *resource.Application
	work     workloads
	source   func(ctx context.Context, now time.Time) (metering, error) // the present source of metrics
	timeout  time.Duration                                              // of one reading of the metrics
	resource func() *v1alpha1.LoadLine                                  // the latest, for pauses
	now      func() time.Time
	act      bool // by the mode; a dry run does not
	// confirm returns an error if this process no longer decides for the application;
	// nil = it is not asked.
	confirm func(ctx context.Context) error
	// persist writes the status with a plan that is about to be applied; nil = it is
	// not kept.
	persist func(ctx context.Context, plan loadline.Plan) error

	states  []kube.State
	holds   []hold
	desired []desired
	orphans []orphan // brownouts that do not continue, and are not restored yet
	// Of this pass:
	seen     *loadline.Observation // nil = none
	unstored error                 // why its plan is not in the status

	names       [][]string  // of pods, by service
	blind       error       // why the metrics could not be read, at the last pass
	report      live.Report // which metrics were absent or stale, and why
	unannounced error       // what of the announced events is not understood
	constraints constraints
	newest      time.Time // sample so far
	resizes     [][]kube.Outcome
	metrics     *applicationMetrics
}

func newCluster(app *resource.Application) *cluster {
	n := len(app.App.Services)
	return &cluster{
		app: app, holds: make([]hold, n), desired: make([]desired, n),
		names: make([][]string, n), resizes: make([][]kube.Outcome, n),
	}
}

// Observe reads the workloads and the metrics. Where metrics cannot be read, their
// samples are absent, and the guards decide what to do.
func (c *cluster) Observe(ctx context.Context, into *loadline.Observation) error {
	c.seen, c.unstored = nil, nil
	if err := c.look(ctx); err != nil {
		return err
	}
	now := c.now()
	c.begin(into, now)
	c.blind = c.measure(ctx, now, into)
	c.noteNewest(into)
	c.updateHolds(into, now)
	c.seen = into
	return nil
}

// look reads the workloads and detects changes by others.
func (c *cluster) look(ctx context.Context) error {
	states, err := c.work.Look(ctx)
	if err != nil {
		return err
	}
	c.states = states
	c.constrain(ctx)
	for i := range states {
		if c.app.Targets[i] == nil || states[i].Err != nil {
			continue
		}
		if !c.asked(i) {
			c.desired[i].noticeManual(&states[i], c.now(), c.app.RespectManual)
		}
		c.desired[i].compare(&states[i], c.asked(i))
	}
	return nil
}

// begin fills an observation with what the API server reports. It reuses the slices
// of an older observation.
func (c *cluster) begin(into *loadline.Observation, now time.Time) {
	app := c.app.App
	services := slices.Grow(into.Services[:0], len(app.Services))[:len(app.Services)]
	for i := range services {
		pods := services[i].Pods[:0]
		c.names[i] = c.names[i][:0]
		for j := range c.states[i].Pods {
			p := &c.states[i].Pods[j]
			pods = append(pods, p.PodObservation)
			c.names[i] = append(c.names[i], p.Name)
		}
		services[i] = loadline.ServiceObservation{Pods: pods, Brownout: c.desired[i].brownout}
	}
	kinds := slices.Grow(into.Kinds[:0], len(app.Kinds))[:len(app.Kinds)]
	clear(kinds)
	nodes := slices.Grow(into.Nodes[:0], len(app.Nodes))[:len(app.Nodes)]
	clear(nodes)
	*into = loadline.Observation{At: now, Services: services, Kinds: kinds, Nodes: nodes}
}

func (c *cluster) measure(ctx context.Context, now time.Time, into *loadline.Observation) error {
	source, err := c.source(ctx, now)
	if err != nil {
		c.report = live.Unread(now, err)
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	err = source.Observe(ctx, now, c.names, into)
	c.report = source.Report()
	return err
}

// noteNewest keeps the time of the newest sample, before late ones are dropped.
func (c *cluster) noteNewest(o *loadline.Observation) {
	for i := range o.Services {
		for _, s := range []loadline.Sample{o.Services[i].Rate, o.Services[i].CPU} {
			if s.At.After(c.newest) {
				c.newest = s.At
			}
		}
	}
}

// updateHolds determines for each service whether it may be changed now. The first
// reason that applies is reported.
func (c *cluster) updateHolds(o *loadline.Observation, now time.Time) {
	pause := c.resource().Pause()
	for i := range c.holds {
		target, s := c.app.Targets[i], &c.states[i]
		switch {
		case target == nil:
			c.holds[i] = hold{why: "it is not among spec.services"}
		case s.Err != nil:
			c.holds[i] = hold{state: v1alpha1.ServiceNotFound, why: s.Err.Error()}
		case pause.Of(target.Name):
			c.holds[i] = hold{state: v1alpha1.ServicePaused, why: pause.Why}
		case s.Paused:
			c.holds[i] = hold{state: v1alpha1.ServicePaused, why: "annotation " + v1alpha1.PausedAnnotation + " on the workload"}
		case len(s.Conflicts) > 0:
			c.holds[i] = hold{state: v1alpha1.ServiceConflict, why: conflictText(s.Conflicts)}
		case s.RollingOut != "":
			c.holds[i] = hold{state: v1alpha1.ServiceRollingOut, why: "a roll-out is in progress: " + s.RollingOut, raises: true}
		case now.Before(c.desired[i].manual):
			c.holds[i] = hold{state: v1alpha1.ServiceManualChange, why: c.desired[i].whyManual(s), raises: true}
		default:
			c.holds[i] = hold{}
		}
		if c.asked(i) && c.holds[i].held() {
			c.desired[i].replicas, c.desired[i].brownout = loadline.Opt[int]{}, false // others control it now
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

// announced are the events of the LoadLine as it is now. What the annotation has that
// is not understood is reported with the pass.
func (c *cluster) announced() []loadline.Event {
	events, err := c.resource().Announced(c.passTime())
	c.unannounced = err
	return resource.Events(events)
}

// Allocation appends the desired allocation of each service.
func (c *cluster) Allocation(into []loadline.Allocation) []loadline.Allocation {
	for i := range c.states {
		into = append(into, c.allocation(i))
	}
	return into
}

// allocation of a service: the workload's replicas and template, overridden by what
// we have set.
func (c *cluster) allocation(i int) loadline.Allocation {
	s, t := &c.states[i], &c.desired[i]
	a := loadline.Allocation{Replicas: s.Replicas, Size: s.Template}.With(t.size)
	if c.asked(i) { // it scales with a delay of its own
		a.Replicas = t.replicas.Or(s.Replicas)
	}
	if t.brownout {
		a.Brownout = true
		if s.Replicas == 0 {
			a.Replicas = t.replicas.Or(c.app.App.Services[i].Replicas)
		}
	}
	return a
}

// asked reports whether others set the replicas of a service, and ask us for them: KEDA, or the class of
// Knative Services.
func (c *cluster) asked(i int) bool {
	return c.app.Targets[i] != nil && c.app.Targets[i].MovedBy != v1alpha1.ByScale && c.app.Targets[i].MovedBy != ""
}

func (c *cluster) anyAsked() bool {
	for i := range c.app.Targets {
		if c.asked(i) {
			return true
		}
	}
	return false
}

// serviceError names the service that an error is about.
func (c *cluster) serviceError(i int, err error) error {
	return fmt.Errorf("service %s: %w", c.app.App.Services[i].Name, err)
}
