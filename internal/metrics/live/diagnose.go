package live

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/metrics/prom"
	"github.com/loadline/loadline/internal/suggest"
)

// tally sorts the services or kinds of one metric by its state.
type tally struct {
	scope                  loadline.Scope
	metric                 string
	now                    time.Time
	maxAge                 time.Duration
	present, stale, absent []string
	newest                 time.Time // of the stale
}

func (s *Source) newTally(a *answers, scope loadline.Scope, metric string) *tally {
	return &tally{scope: scope, metric: metric, now: a.now, maxAge: s.o.MaxAge}
}

func (t *tally) old(x loadline.Sample) bool { return t.maxAge > 0 && t.now.Sub(x.At) > t.maxAge }

func (t *tally) add(name string, x loadline.Sample) {
	switch {
	case !x.Present():
		t.absent = append(t.absent, name)
	case t.old(x):
		t.stale = append(t.stale, name)
		if x.At.After(t.newest) {
			t.newest = x.At
		}
	default:
		t.present = append(t.present, name)
	}
}

// diagnoses of the metric, one for each state that occurs. Without names if all share
// a state.
func (t *tally) diagnoses(why func(names []string) (reason, remedy string)) []loadline.Diagnosis {
	var list []loadline.Diagnosis
	all := len(t.present) + len(t.stale) + len(t.absent)
	add := func(state loadline.MetricState, names []string) *loadline.Diagnosis {
		d := loadline.Diagnosis{Scope: t.scope, Metric: t.metric, State: state}
		if len(names) < all || t.scope == loadline.OfKind {
			d.Names = names
		}
		list = append(list, d)
		return &list[len(list)-1]
	}
	if len(t.present) > 0 {
		add(loadline.MetricPresent, t.present)
	}
	if len(t.stale) > 0 {
		d := add(loadline.MetricStale, t.stale)
		d.Since = t.newest
		d.Why = fmt.Sprintf("the newest sample is of %s, older than guard.data.maxAge (%v)", t.newest.Format(time.RFC3339), t.maxAge)
		d.Remedy = "look at the targets of the Prometheus and at its clock, or raise guard.data.maxAge"
	}
	if len(t.absent) > 0 {
		d := add(loadline.MetricAbsent, t.absent)
		d.Why, d.Remedy = why(t.absent)
	}
	return list
}

// reason why a query has no value for some, and what to do; q is the preset's entry
// where there is no query.
func (a *answers) reason(question int, q *prom.Query, lacking []string) (why, remedy string) {
	own := "give a query of your own for it (loadline history presets " + a.preset.Name + ")"
	switch {
	case question == none && q != nil && q.Absent != "":
		return q.Absent, own
	case question == none:
		return fmt.Sprintf("preset %s has no query for it", a.preset.Name), own
	}
	found := &a.list[question]
	likely := a.questions[question].query.Absent
	const rename = "correct the service's name in the LoadLine (it is the metrics'; targetRef.name is the workload's), or have it scraped"
	switch {
	case found.err != nil:
		return found.err.Error(), "check the query and the limits of the server: " + a.questions[question].text
	case len(found.values)+len(found.histograms)+len(found.strangers) > 0:
		if near := suggest.Of(lacking[0], slices.Sorted(maps.Keys(found.strangers))); near != "" {
			return fmt.Sprintf("the query has results for others; do the metrics call %s %q?", lacking[0], near), rename
		}
		return "the query has results for others only: the series are too young, under another name, or no numbers", rename
	case likely == "":
		return "the query has no result", "have it scraped, or " + own
	}
	return "the query has no result: " + likely, "have it scraped, or " + own
}

func (s *Source) serviceMetrics(a *answers, o *loadline.Observation) []loadline.Diagnosis {
	var list []loadline.Diagnosis
	for _, m := range observed() {
		row := &loadline.ServiceTable[m]
		// Histories keep what presets may have queries for; one quantile stands for all.
		if row.Column == 0 || row.Aggregation == loadline.Quantile && m != loadline.ServiceLatencyP99 {
			continue
		}
		t := s.newTally(a, loadline.OfService, row.Name)
		for i := range o.Services {
			x := row.Field(&o.Services[i])
			if x.Present() || !quiet(m, o.Services[i].Rate) {
				t.add(s.o.App.Services[i].Name, *x)
			} else {
				t.present = append(t.present, s.o.App.Services[i].Name)
			}
		}
		question, q := a.plan.service[m], a.preset.Service[m]
		if m == loadline.ServiceLatencyP99 && a.buckets != none {
			question, q = a.buckets, a.preset.Buckets
		}
		list = append(list, t.diagnoses(func(names []string) (string, string) { return a.reason(question, q, names) })...)
	}
	return list
}

// quiet: without requests no latency is expected.
func quiet(m loadline.ServiceMetric, rate loadline.Sample) bool {
	return (m == loadline.ServiceLatencyMean || m == loadline.ServiceLatencyP99) && rate.Present() && rate.Value == 0
}

// podMetrics considers ready pods: others need not have metrics yet. A service has
// the state of its worst pod.
func (s *Source) podMetrics(a *answers, o *loadline.Observation) []loadline.Diagnosis {
	var list []loadline.Diagnosis
	for m := range loadline.PodMetrics {
		t := s.newTally(a, loadline.OfPod, m.String())
		for i := range o.Services {
			of := &o.Services[i]
			if of.ReadyPods() == 0 {
				continue
			}
			t.add(s.o.App.Services[i].Name, worstPod(m, of))
		}
		list = append(list, t.diagnoses(func(names []string) (string, string) { return a.reason(a.pod[m], a.preset.Pods[m], names) })...)
	}
	return list
}

// worstPod is the oldest sample of a service's ready pods, absent if one has none.
func worstPod(m loadline.PodMetric, of *loadline.ServiceObservation) loadline.Sample {
	var worst loadline.Sample
	for j := range of.Pods {
		p := &of.Pods[j]
		if p.Phase != loadline.PodReady {
			continue
		}
		x := of.Restarts // counted for the service
		if field := loadline.PodTable[m].Field; field != nil {
			x = *field(p)
		}
		if !x.Present() {
			return loadline.Sample{}
		}
		if !worst.Present() || x.At.Before(worst.At) {
			worst = x
		}
	}
	return worst
}

func (s *Source) kindMetrics(a *answers, places []place, o *loadline.Observation) []loadline.Diagnosis {
	const place = "name the service and operation of each objective as the metrics do"
	var list []loadline.Diagnosis
	for i := range o.Kinds {
		k, name := &o.Kinds[i], s.o.App.Kinds[i].Name
		if why := places[i].why; why != "" {
			list = append(list, loadline.Diagnosis{Scope: loadline.OfKind, Metric: "rate", Names: []string{name},
				State: loadline.MetricAbsent, Why: why, Remedy: place})
			continue
		}
		m := a.measuredBy(&places[i])
		add := func(metric string, x loadline.Sample, question int) {
			t := s.newTally(a, loadline.OfKind, metric)
			t.add(name, x)
			list = append(list, t.diagnoses(func([]string) (string, string) {
				return a.reason(question, nil,
					[]string{s.entrance(i)})
			})...)
		}
		add("rate", k.Rate, m.rate)
		if places[i].queue {
			m.buckets = m.mean // the time in queue, of which there is no histogram
		} else {
			add("failed", k.Failed, m.errors)
		}
		if a.shares[i] != none {
			m.buckets = a.shares[i]
		}
		if idle := k.Rate.Present() && k.Rate.Value == 0; k.OverSLO.Present() || !idle {
			add("over_slo", k.OverSLO, m.buckets)
		}
	}
	return list
}
