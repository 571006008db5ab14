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

// Defaults of the schema, for resources that were not defaulted by an API server.
const (
	defaultInterval      = 15 * time.Second
	defaultRespectManual = time.Hour
	defaultPolicy        = "planner"
	defaultFallback      = "hpa"
	defaultPercentile    = 99
)

// Application is the content of a LoadLine's spec.
type Application struct {
	Name string        // NAMESPACE/NAME
	App  *loadline.App // with the user's objectives and bounds
	// Targets are the services of the resource in the order of App.Services. A nil
	// entry is known and not scaled by Loadline.
	Targets []*v1alpha1.Service
	// Sources state where each of App.Kinds is measured.
	Sources []Source
	Axes    guard.Axes
	// LeftOut are services that the selector found and the twin does not have.
	LeftOut []string
	Guard   guard.Settings
	// Needs of the loop: the interval, and the scrape interval if it is set. Policies
	// have their own.
	Needs loadline.Needs

	Mode          v1alpha1.Mode
	Baseline      string // in the format of policies.New; empty = a model decides
	Fallback      string // likewise
	RespectManual time.Duration
	DriftWindow   time.Duration // 0 = the default
}

// Source is where the requests of a kind are measured. Empty fields were not set.
type Source struct {
	Service, Operation string
	Over               string // PromQL for the share over the SLO
}

// Read takes a resource and its twin, which may be nil. All errors are reported
// at once, with their fields.
func Read(l *v1alpha1.LoadLine, twin *loadline.App) (*Application, error) {
	a := &Application{
		Name:          l.Namespace + "/" + l.Name,
		Mode:          orMode(l.Spec.Mode),
		Baseline:      string(l.Spec.Policy.Baseline),
		Fallback:      string(l.Spec.Fallback),
		RespectManual: span(l.Spec.RespectManualChangesFor, defaultRespectManual),
	}
	if l.Spec.Drift != nil {
		a.DriftWindow = span(l.Spec.Drift.Window, 0)
	}
	if l.Spec.Policy == (v1alpha1.Policy{}) {
		a.Baseline = defaultPolicy
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
	if len(f) == 0 { // only a valid application can be checked against the rest
		f.wrap("spec.guard", a.Guard.Validate(a.App))
		if a.Needs.Scrape >= a.Guard.Data.MaxAge {
			f.add("spec.prometheus.scrapeInterval %v must be shorter than guard.data.maxAge %v, or every sample would be absent: "+
				"raise maxAge", a.Needs.Scrape, a.Guard.Data.MaxAge)
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

// tryPolicies constructs the baselines once, because only they can validate their
// settings.
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

// number reads an optional number.
func (f *faults) number(field string, n *v1alpha1.Number, otherwise float64) float64 {
	if n == nil {
		return otherwise
	}
	v, err := n.Float()
	f.wrap(field, err)
	return v
}
