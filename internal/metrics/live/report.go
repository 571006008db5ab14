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

// Report is what became of the last observation.
type Report struct {
	At      time.Time     `json:"at"`               // of the observation; zero = there was none
	Preset  string        `json:"preset"`           // in use; empty = none has fitted yet
	Others  []string      `json:"others,omitempty"` // presets that would fit too
	Scrape  time.Duration `json:"scrape_ns"`        // between two scrapes
	Sure    bool          `json:"sure"`             // of that; else it is looked at again
	Window  time.Duration `json:"window_ns"`        // of rates and quantiles
	Newest  time.Time     `json:"newest"`           // scrape behind any sample
	Queries int           `json:"queries"`          // of one observation
	Absent  []Absence     `json:"absent,omitempty"`
	Notes   []string      `json:"notes,omitempty"`
	Error   string        `json:"error,omitempty"` // nothing could be asked
}

// Absence is one metric that is not there, with the likely reason.
type Absence struct {
	Of     string   `json:"of"` // "service", "pod" or "kind"
	Metric string   `json:"metric"`
	Names  []string `json:"names,omitempty"` // who lacks it; none = all
	Reason string   `json:"reason"`
}

func (a Absence) String() string {
	whose := ""
	if n := len(a.Names); n > 0 {
		whose = " of " + a.Names[0]
		if n > 1 {
			whose += fmt.Sprintf(" and %d more", n-1)
		}
	}
	return fmt.Sprintf("%s %s%s is absent: %s", a.Of, a.Metric, whose, a.Reason)
}

// WhyAbsent is the first reason why metrics of a service, or of a kind of request,
// are absent, in the words of the report; empty if the report has none.
func (r *Report) WhyAbsent(of loadline.Scope, name string, metrics ...string) string {
	for _, a := range r.Absent {
		if a.Of == string(of) && (len(a.Names) == 0 || slices.Contains(a.Names, name)) &&
			(len(metrics) == 0 || slices.Contains(metrics, a.Metric)) {
			return a.String()
		}
	}
	return ""
}

// Reasons are the absent metrics in words.
func (r *Report) Reasons() []string {
	var list []string
	for _, a := range r.Absent {
		list = append(list, a.String())
	}
	return list
}

// Report says what the last observation lacked and why.
func (s *Source) Report() Report {
	s.reading.Lock()
	defer s.reading.Unlock()
	r := s.report
	r.Others, r.Absent, r.Notes = slices.Clone(r.Others), slices.Clone(r.Absent), slices.Clone(r.Notes)
	return r
}

// outline is what a report has whatever came of the observation.
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
	r.Error = err.Error()
	s.publish(r)
}

// tell makes the report of an observation.
func (s *Source) tell(a *answers, places []place, o *loadline.Observation) {
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
	r.Absent = slices.Concat(s.absentServices(a, o), s.absentPods(a, o), s.absentKinds(a, places, o))
	for i := range places {
		if places[i].service != "" && !places[i].direct {
			r.Notes = append(r.Notes, fmt.Sprintf("kind %s: users' requests are not measured apart; it is what %s is asked by everybody", s.o.App.Kinds[i].Name, places[i].service))
		}
	}
	if !s.settled.sure {
		r.Notes = append(r.Notes, fmt.Sprintf("how often the server scrapes is not certain yet; taken as %v", s.settled.scrape))
	}
	s.publish(r)
}

// absence of a metric from those who lack it, nil if nobody does.
func (a *answers) absence(of, metric string, question int, q *prom.Query, lacking []string, all int) []Absence {
	if len(lacking) == 0 {
		return nil
	}
	missing := Absence{Of: of, Metric: metric, Reason: a.reason(question, q, lacking)}
	if len(lacking) < all {
		missing.Names = lacking
	}
	return []Absence{missing}
}

// reason why a question has no value for some; q is what the preset says of it where
// there is no question.
func (a *answers) reason(question int, q *prom.Query, lacking []string) string {
	switch {
	case question == none && q != nil && q.Absent != "":
		return q.Absent
	case question == none:
		return fmt.Sprintf("preset %s has no query for it", a.preset.Name)
	}
	found := &a.list[question]
	likely := a.questions[question].query.Absent
	switch {
	case found.err != nil:
		return found.err.Error()
	case len(found.values)+len(found.histograms)+len(found.strangers) > 0:
		if near := suggest.Of(lacking[0], slices.Sorted(maps.Keys(found.strangers))); near != "" {
			return fmt.Sprintf("the query has results for others; do the metrics call %s %q?", lacking[0], near)
		}
		return "the query has results for others only: the series are too young, under another name, or no numbers"
	case likely == "":
		return "the query has no result"
	}
	return "the query has no result: " + likely
}

func (s *Source) absentServices(a *answers, o *loadline.Observation) []Absence {
	var list []Absence
	for _, m := range observed() {
		row := &loadline.ServiceTable[m]
		// Histories keep what presets may have queries for; one quantile speaks for all.
		if row.Column == 0 || row.Aggregation == loadline.Quantile && m != loadline.ServiceLatencyP99 {
			continue
		}
		var lacking []string
		for i := range o.Services {
			if !row.Field(&o.Services[i]).Present() && !quiet(m, o.Services[i].Rate) {
				lacking = append(lacking, s.o.App.Services[i].Name)
			}
		}
		question, q := a.plan.service[m], a.preset.Service[m]
		if m == loadline.ServiceLatencyP99 && a.buckets != none {
			question, q = a.buckets, a.preset.Buckets
		}
		list = append(list, a.absence("service", row.Name, question, q, lacking, len(o.Services))...)
	}
	return list
}

// quiet: without requests there is no latency to be absent.
func quiet(m loadline.ServiceMetric, rate loadline.Sample) bool {
	return (m == loadline.ServiceLatencyMean || m == loadline.ServiceLatencyP99) && rate.Present() && rate.Value == 0
}

// absentPods counts pods that serve: others need not have metrics yet.
func (s *Source) absentPods(a *answers, o *loadline.Observation) []Absence {
	var list []Absence
	for m := range loadline.PodMetrics {
		var lacking []string
		services := 0
		for i := range o.Services {
			missing, ready := 0, o.Services[i].ReadyPods()
			for j := range o.Services[i].Pods {
				p := &o.Services[i].Pods[j]
				there := [loadline.PodMetrics]loadline.Sample{p.CPU, p.Memory, p.Busy, o.Services[i].Restarts}[m]
				if p.Phase == loadline.PodReady && !there.Present() {
					missing++
				}
			}
			if ready > 0 {
				services++
			}
			if missing > 0 {
				lacking = append(lacking, s.o.App.Services[i].Name)
			}
		}
		list = append(list, a.absence("pod", m.String(), a.pod[m], a.preset.Pods[m], lacking, services)...)
	}
	return list
}

func (s *Source) absentKinds(a *answers, places []place, o *loadline.Observation) []Absence {
	var list []Absence
	for i := range o.Kinds {
		k, name := &o.Kinds[i], s.o.App.Kinds[i].Name
		if why := places[i].why; why != "" {
			list = append(list, Absence{Of: "kind", Metric: "rate", Names: []string{name}, Reason: why})
			continue
		}
		m := a.measuredBy(&places[i])
		missing := func(metric string, question int) {
			list = append(list, Absence{Of: "kind", Metric: metric, Names: []string{name},
				Reason: a.reason(question, nil, []string{s.entrance(i)})})
		}
		if !k.Rate.Present() {
			missing("rate", m.rate)
		}
		if !k.Failed.Present() {
			missing("failed", m.errors)
		}
		idle := k.Rate.Present() && k.Rate.Value == 0
		if !k.OverSLO.Present() && !idle {
			missing("over_slo", m.buckets)
		}
	}
	return list
}
