package resource

import (
	"errors"
	"fmt"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/policy"
)

// Defaults of the schema, for resources that no API server has filled in.
const (
	defaultInterval      = 15 * time.Second
	defaultRespectManual = time.Hour
	defaultFallback      = "hpa"
	defaultPercentile    = 99
)

// Application is what a LoadLine asks for.
type Application struct {
	Name string        // NAMESPACE/NAME
	App  *loadline.App // with the user's objectives and bounds
	// Targets are the services of the resource in the order of App.Services. One that
	// is nil is known and not ours to move.
	Targets []*v1alpha1.Service
	// Sources say where each of App.Kinds is measured.
	Sources []Source
	Axes    Axes
	Guard   guard.Settings
	// Needs of the loop: the interval, and how often metrics are scraped if that was
	// said. Policies have theirs beside.
	Needs loadline.Needs

	Mode          v1alpha1.Mode
	Baseline      string // as policies.New takes it; empty = a model decides
	Fallback      string // likewise
	RespectManual time.Duration
}

// Source is where the requests of a kind are measured. What is empty was not said.
type Source struct {
	Service, Operation string
}

// Read takes a resource and the twin that it names, which may be nil. Every fault
// is reported at once, with its field.
func Read(l *v1alpha1.LoadLine, twin *loadline.App) (*Application, error) {
	a := &Application{
		Name:          l.Namespace + "/" + l.Name,
		Mode:          orMode(l.Spec.Mode),
		Baseline:      string(l.Spec.Policy.Baseline),
		Fallback:      string(l.Spec.Fallback),
		RespectManual: span(l.Spec.RespectManualChangesFor, defaultRespectManual),
	}
	if a.Fallback == "" {
		a.Fallback = defaultFallback
	}
	a.Needs.Period = l.Spec.Interval.Span()
	if a.Needs.Period == 0 {
		a.Needs.Period = defaultInterval
	}
	a.Needs.Scrape = span(l.Spec.Prometheus.ScrapeInterval, 0)

	var f faults
	a.build(l, twin, &f)
	a.Guard = settings(l, a.App, &f)
	if len(f) == 0 { // only a sound application can be held against the rest
		f.wrap("spec.guard", a.Guard.Validate(a.App))
		if a.Needs.Scrape >= a.Guard.Data.MaxAge {
			f.add("spec.prometheus.scrapeInterval %v must be shorter than guard.data.maxAge %v, or every sample would be absent: raise maxAge", a.Needs.Scrape, a.Guard.Data.MaxAge)
		}
		a.tryPolicies(l, &f)
	}
	if len(f) > 0 {
		return nil, errors.Join(f...)
	}
	return a, nil
}

func orMode(m v1alpha1.Mode) v1alpha1.Mode {
	if m == "" {
		return v1alpha1.Recommend
	}
	return m
}

// tryPolicies makes the baselines once, because only they know their settings.
func (a *Application) tryPolicies(l *v1alpha1.LoadLine, f *faults) {
	if (l.Spec.Policy.Model != nil) == (a.Baseline != "") {
		f.add("spec.policy: give either model or baseline")
	}
	if a.Baseline != "" {
		_, err := policy.New(a.Baseline, a.App)
		f.wrap("spec.policy.baseline", err)
	}
	_, err := policy.New(a.Fallback, a.App)
	f.wrap("spec.fallback", err)
}

func span(d *v1alpha1.Duration, otherwise time.Duration) time.Duration {
	if d == nil {
		return otherwise
	}
	return d.Span()
}

type faults []error

func (f *faults) add(format string, args ...any) { *f = append(*f, fmt.Errorf(format, args...)) }

func (f *faults) wrap(field string, err error) {
	if err != nil {
		f.add("%s: %w", field, err)
	}
}

// number reads one that may be left out.
func (f *faults) number(field string, n *v1alpha1.Number, otherwise float64) float64 {
	if n == nil {
		return otherwise
	}
	v, err := n.Float()
	f.wrap(field, err)
	return v
}
