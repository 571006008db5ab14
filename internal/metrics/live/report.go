package live

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/metrics/prom"
)

// Report describes the last observation.
type Report struct {
	At       time.Time            `json:"at"`                 // of the observation; zero = there was none
	Preset   string               `json:"preset"`             // in use; empty = none has matched yet
	Others   []string             `json:"others,omitempty"`   // presets that match too
	Scrape   time.Duration        `json:"scrape_ns"`          // scrape interval
	Sure     bool                 `json:"sure"`               // the scrape interval is certain; else it is determined again
	Window   time.Duration        `json:"window_ns"`          // of rates and quantiles
	Newest   time.Time            `json:"newest"`             // scrape behind any sample
	Queries  int                  `json:"queries"`            // of one observation
	Services []string             `json:"services,omitempty"` // names under which the server has rates or CPU, sorted
	Metrics  []loadline.Diagnosis `json:"metrics,omitempty"`  // every metric that was read
	Notes    []string             `json:"notes,omitempty"`
	Error    string               `json:"error,omitempty"` // nothing could be read
}

// Unread is the report of a reading that failed as a whole.
func Unread(now time.Time, err error) Report {
	r := Report{At: now}
	r.unread(err)
	return r
}

func (r *Report) unread(err error) {
	d := loadline.Diagnosis{State: loadline.MetricAbsent, Why: err.Error(),
		Remedy: "check spec.prometheus.url, its credentials, and network policies between the controller and the server"}
	if errors.Is(err, prom.ErrNothing) {
		d.Remedy = "correct spec.prometheus.namespace, have its proxies or spans scraped, or give queries of your own: " +
			"loadline history presets istio > mine.yaml, then spec.prometheus.queries"
	}
	r.Error, r.Metrics = d.Why, []loadline.Diagnosis{d}
}

// Lacking are the metrics that are absent or stale.
func (r Report) Lacking() []loadline.Diagnosis {
	return slices.DeleteFunc(slices.Clone(r.Metrics), func(d loadline.Diagnosis) bool { return d.State == loadline.MetricPresent })
}

// Of returns the diagnoses of metrics of a service, or of a kind of request, that
// are absent or stale. No metrics = all.
func (r Report) Of(scope loadline.Scope, name string, metrics ...string) []loadline.Diagnosis {
	return slices.DeleteFunc(r.Lacking(), func(d loadline.Diagnosis) bool {
		return !d.Concerns(scope, name) || d.Metric != "" && len(metrics) > 0 && !slices.Contains(metrics, d.Metric)
	})
}

// Report returns the report of the last observation.
func (s *Source) Report() Report {
	s.reading.Lock()
	defer s.reading.Unlock()
	r := s.report
	r.Others, r.Services, r.Notes = slices.Clone(r.Others), slices.Clone(r.Services), slices.Clone(r.Notes)
	r.Metrics = slices.Clone(r.Metrics)
	return r
}

// outline is the part of a report that does not depend on the result.
func (s *Source) outline(now time.Time) Report {
	r := Report{At: now, Scrape: s.settled.scrape, Sure: s.settled.sure, Others: s.settled.others}
	if s.settled.preset != nil {
		r.Preset = s.settled.preset.Name
	}
	if s.plan != nil {
		r.Window, r.Queries = s.plan.setting.Window(), len(s.plan.questions)
	}
	return r
}

func (s *Source) publish(r Report) {
	s.reading.Lock()
	defer s.reading.Unlock()
	s.report = r
}

func (s *Source) failed(now time.Time, err error) {
	r := s.outline(now)
	r.unread(err)
	s.publish(r)
}

// describe makes the report of an observation.
func (s *Source) describe(a *answers, places []place, o *loadline.Observation) {
	r := s.outline(a.now)
	for i := range a.list {
		if a.questions[i].newest == none {
			for e := range a.list[i].values {
				if at := a.instant(i, e); at.After(r.Newest) {
					r.Newest = at
				}
			}
		}
	}
	r.Services = a.names()
	r.Metrics = slices.Concat(s.serviceMetrics(a, o), s.podMetrics(a, o), s.kindMetrics(a, places, o))
	for i := range places {
		if places[i].service != "" && !places[i].direct && !places[i].queue {
			r.Notes = append(r.Notes, fmt.Sprintf("kind %s: users' requests are not measured separately; all requests to %s count",
				s.o.App.Kinds[i].Name, places[i].service))
		}
	}
	if !s.settled.sure {
		r.Notes = append(r.Notes, fmt.Sprintf("the scrape interval is not certain yet; taken as %v", s.settled.scrape))
	}
	s.publish(r)
}

// names under which the server has the rate or the CPU of a service.
func (a *answers) names() []string {
	var list []string
	for _, m := range []loadline.ServiceMetric{loadline.ServiceRate, loadline.ServiceCPU} {
		if question := a.plan.service[m]; question != none {
			for e := range a.list[question].values {
				list = append(list, e.name)
			}
			for name := range a.list[question].strangers {
				list = append(list, name)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
