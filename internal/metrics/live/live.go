// Package live is what Prometheus says now of one application: the metrics of an
// observation, each with the instant at which it was scraped.
//
// Reading order: live.go (a source and one observation), settle.go (which preset
// fits, how often it is scraped), plan.go (what is asked), answers.go (asking it,
// and what came back), shared.go (asking for several applications at once), histogram.go (quantiles and shares from buckets), fill.go
// (services and pods), restarts.go (counted on while pods come and go), where.go
// (which calls are the requests of a kind), kinds.go (what users saw), report.go and
// diagnose.go (which metrics are absent or stale, why, and what to do), loadline.go
// (the options of a LoadLine).
package live

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/metrics/prom"
	"github.com/loadline/loadline/internal/suggest"
)

// Where the requests of a kind are measured. What is empty was not said.
type Where struct {
	Service, Operation string
	// Over is PromQL for the share of the requests that are over the SLO or failed, one series; empty =
	// it is taken from the histogram.
	Over string
}

// Options of a source.
type Options struct {
	App       *loadline.App
	Kinds     []Where // in the order of App.Kinds; nil = nothing was said of any
	Namespace string
	Queues    []prom.Queue // of the services that take their work from one
	Preset    *prom.Preset // nil = the one that fits, found at the first observation that finds one
	Variables map[string]string
	Scrape    time.Duration // between two scrapes; 0 = find it
	Window    time.Duration // of rates and quantiles; at least four scrapes, which it is if 0
	MaxAge    time.Duration // older samples are reported as stale; 0 = none is
	Log       *slog.Logger  // for panics; nil = none
	Shared    *Shared       // with which others ask the same server; nil = none
}

// Source is what is known of one application through one server. It may be asked
// by one goroutine while others read its report.
type Source struct {
	client   *prom.Client
	o        Options
	services names

	mu       sync.Mutex // of one observation at a time
	settled  settled
	plan     *plan
	users    bool // requests of users have been seen apart from those of services
	restarts restarts
	apart    map[string]time.Time // until when questions are not asked together with others

	reading sync.Mutex
	report  Report
}

// New makes a source. Nothing is asked yet.
func New(c *prom.Client, o Options) (*Source, error) {
	if o.Kinds == nil {
		o.Kinds = make([]Where, len(o.App.Kinds))
	}
	if err := o.validate(); err != nil {
		return nil, err
	}
	s := &Source{client: c, o: o, services: names{}, settled: settled{preset: o.Preset, scrape: o.Scrape, sure: o.Scrape > 0}}
	for i := range o.App.Services {
		s.services.add(o.App.Services[i].Name)
	}
	return s, nil
}

func (o *Options) validate() error {
	var faults []error
	add := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if err := prom.CheckNamespace(o.Namespace); err != nil {
		faults = append(faults, err)
	}
	if len(o.Kinds) != len(o.App.Kinds) {
		add("%d places to measure are given for %d kinds of requests; must be one for each", len(o.Kinds), len(o.App.Kinds))
	}
	names := make([]string, len(o.App.Services))
	for i := range names {
		names[i] = o.App.Services[i].Name
	}
	for i, w := range o.Kinds {
		switch {
		case w.Service == "" && w.Operation != "":
			add("kind %s: operation %q is given without a service; name the service at which these requests arrive",
				o.App.Kinds[i].Name, w.Operation)
		case w.Service != "" && !slices.Contains(names, w.Service):
			add("kind %s: service %q is not of this application%s", o.App.Kinds[i].Name, w.Service, suggest.Hint(w.Service, names))
		}
	}
	for i := range o.Queues {
		if q := &o.Queues[i]; !slices.Contains(names, q.Service) {
			add("queue of %s: the service is not of this application%s", q.Service, suggest.Hint(q.Service, names))
		} else if err := q.Check(); err != nil {
			faults = append(faults, err)
		}
	}
	if o.Scrape < 0 || o.Scrape%time.Millisecond != 0 {
		add("scrape interval %v must be whole milliseconds and not negative", o.Scrape)
	}
	if o.Window < 0 || o.Window%time.Millisecond != 0 {
		add("window %v must be whole milliseconds and not negative", o.Window)
	}
	if o.Preset != nil {
		if err := o.Preset.Override(o.Variables); err != nil {
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}

// Observe fills in all that metrics know at an instant. Pods names the pods of
// each service, in the order of App.Services and of into.Services[i].Pods, which
// are there already and stay.
//
// What cannot be had is absent. A sample's instant is that of the newest scrape
// behind it, so that a server which has stopped scraping shows as old. The error
// is for when nothing could be asked: nobody answers (prom.ErrUnreachable, or the
// context's error), we are not let in (prom.ErrRefused), or no preset fits
// (prom.ErrNothing).
func (s *Source) Observe(ctx context.Context, now time.Time, pods [][]string, into *loadline.Observation) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear(now, into)
	err := s.settle(ctx, now)
	if err == nil {
		err = s.observe(ctx, now, pods, into)
	}
	if err != nil {
		err = fmt.Errorf("observe %s: %w", s.o.Namespace, s.inTime(err))
		s.failed(now, err)
	}
	return err
}

// inTime says who was too slow: a context's own error does not.
func (s *Source) inTime(err error) error {
	if errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, prom.ErrBudget) {
		return fmt.Errorf("%s did not answer in time: %w", s.client.URL(), err)
	}
	return err
}

// clear makes everything absent that metrics fill in. Pods, brownout and nodes are
// the caller's.
func (s *Source) clear(now time.Time, into *loadline.Observation) {
	into.At = now
	into.Services = fit(into.Services, len(s.o.App.Services))
	into.Kinds = fit(into.Kinds, len(s.o.App.Kinds))
	for i := range into.Services {
		o := &into.Services[i]
		*o = loadline.ServiceObservation{Brownout: o.Brownout, Pods: o.Pods}
		for j := range o.Pods {
			p := &o.Pods[j]
			p.CPU, p.Memory, p.Busy = loadline.Sample{}, loadline.Sample{}, loadline.Sample{}
		}
	}
	clear(into.Kinds)
}

func fit[T any](list []T, n int) []T {
	return slices.Grow(list[:min(len(list), n)], n-min(len(list), n))[:n]
}

func (s *Source) observe(ctx context.Context, now time.Time, pods [][]string, into *loadline.Observation) error {
	known := names{}
	for _, list := range pods {
		for _, name := range list {
			known.add(name)
		}
	}
	a, err := s.ask(ctx, now, known)
	defer a.memory.Release()
	if err != nil {
		return err
	}
	for i := range into.Services {
		name := s.o.App.Services[i].Name
		a.service(name, s.queued(name), &into.Services[i])
		if i < len(pods) {
			a.pods(pods[i], into.Services[i].Pods)
			into.Services[i].Restarts = s.restarts.count(a, i, pods[i])
		}
	}
	s.restarts.forget(known)
	places := s.locate(a)
	for i := range into.Kinds {
		a.kind(i, &places[i], &s.o.App.Kinds[i], &into.Kinds[i])
	}
	s.describe(a, places, into)
	return nil
}
