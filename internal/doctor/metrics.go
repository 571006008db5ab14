package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/metrics/prom"
)

// Series is a Prometheus; a prom.Client is one.
type Series interface {
	Query(ctx context.Context, query string, at time.Time) (model.Vector, error)
	Detect(ctx context.Context, s prom.Setting, start, end time.Time) (best *prom.Preset, others []string, err error)
	ScrapeInterval(ctx context.Context, p *prom.Preset, s prom.Setting, start, end time.Time) (time.Duration, error)
	LabelValues(ctx context.Context, label string, from, to time.Time) ([]string, error)
}

// connection to a Prometheus, or why there is none.
type connection struct {
	series Series
	err    error
}

// past is how far back presets are looked for: an application that is idle at night
// still has them.
const past = time.Hour

// subject is what is looked for in a Prometheus.
type subject struct {
	series    Series
	namespace string
	preset    *prom.Preset // nil = find it
	setting   prom.Setting
	maxAge    time.Duration
	services  []string
}

// metrics of one LoadLine.
func (e *exam) metrics(ctx context.Context, a about, l *v1alpha1.LoadLine) {
	series := e.Prometheus
	if series == nil {
		series = e.reach(ctx, a, l)
	}
	if series == nil {
		return
	}
	p := &l.Spec.Prometheus
	s := subject{series: series, namespace: p.Namespace, maxAge: 2 * time.Minute}
	if s.namespace == "" {
		s.namespace = l.Namespace
	}
	if g := l.Spec.Guard; g != nil && g.Data != nil && g.Data.MaxAge != nil {
		s.maxAge = g.Data.MaxAge.Span()
	}
	s.setting = prom.Setting{Namespace: s.namespace, Step: interval(l), Variables: map[string]string{}}
	for name, value := range p.Variables {
		s.setting.Variables[name] = string(value)
	}
	if p.ScrapeInterval != nil {
		s.setting.Scrape = p.ScrapeInterval.Span()
	}
	for i := range l.Spec.Services {
		s.services = append(s.services, l.Spec.Services[i].Name)
	}
	var err error
	if s.preset, err = e.presetOf(ctx, l); err != nil {
		a.warn("preset", "loadline history presets prints one to compare with",
			"The queries that the resource names cannot be used: %v", err)
		return
	}
	e.measure(ctx, a, s)
}

// presetOf a LoadLine: one by name, its own queries, or nil.
func (e *exam) presetOf(ctx context.Context, l *v1alpha1.LoadLine) (*prom.Preset, error) {
	p := &l.Spec.Prometheus
	switch {
	case p.Preset != "":
		return prom.Load(p.Preset)
	case p.Queries != nil:
		var m corev1.ConfigMap
		if err := e.Reader.Get(ctx, types.NamespacedName{Namespace: l.Namespace, Name: p.Queries.Name}, &m); err != nil {
			return nil, err
		}
		text, has := m.Data[p.Queries.Key]
		if !has {
			return nil, fmt.Errorf("ConfigMap %s has no key %s", p.Queries.Name, p.Queries.Key)
		}
		return prom.Parse("ConfigMap "+p.Queries.Name, []byte(text))
	}
	return nil, nil
}

// reach connects to a LoadLine's Prometheus; nil if that cannot be done from here,
// which is no fault of the controller's.
func (e *exam) reach(ctx context.Context, a about, l *v1alpha1.LoadLine) Series {
	address, otherwise, ok := e.route(ctx, a, l)
	if !ok || e.Connect == nil {
		return nil
	}
	at := fmt.Sprint(address) // maps are printed in the order of their keys
	c, known := e.connected[at]
	if !known {
		c.series, c.err = e.Connect(address)
		if c.err == nil {
			_, c.err = c.series.Query(ctx, "vector(1)", e.Now)
		}
		e.connected[at] = c
	}
	if c.err == nil {
		return c.series
	}
	how := "from here, which says little about the controller"
	switch {
	case address.Proxy != "":
		how = "from here through the API server's proxy, which says little about the controller"
	case e.InCluster:
		how = "from this pod"
	}
	a.note("prometheus", otherwise, "%s cannot be asked %s: %s.", address.URL, how, short(c.err))
	return nil
}

// metricsWithoutLoadLine are those of a namespace that somebody has in mind, and
// where a Prometheus might be.
func (e *exam) metricsWithoutLoadLine(ctx context.Context) {
	a := e.of(OfMetrics)
	if e.Prometheus != nil {
		if _, err := e.Prometheus.Query(ctx, "vector(1)", e.Now); err != nil {
			a.fault("prometheus", "check --prometheus and how it lets in (--token-file, --user, --ca-file)",
				"The Prometheus that was given cannot be asked: %s.", short(err))
			e.Prometheus = unreachable{err}
			return
		}
		if e.Metrics != "" {
			e.measure(ctx, a, subject{series: e.Prometheus, namespace: e.Metrics, maxAge: 2 * time.Minute,
				setting: prom.Setting{Namespace: e.Metrics, Step: 15 * time.Second}})
		}
		return
	}
	if len(e.lines) > 0 {
		return
	}
	e.candidates(ctx, a)
}

// candidates are Services that look like a Prometheus.
func (e *exam) candidates(ctx context.Context, a about) {
	var list corev1.ServiceList
	if err := e.Reader.List(ctx, &list); err != nil {
		return // only a hint
	}
	var found []service
	for _, s := range list.Items {
		name := s.Name + " " + s.Labels["app.kubernetes.io/name"] + " " + s.Labels["app"]
		if !strings.Contains(name, "prometheus") || strings.Contains(name, "exporter") || strings.Contains(name, "alertmanager") ||
			strings.Contains(name, "operator") || len(s.Spec.Ports) == 0 {
			continue
		}
		found = append(found, service{namespace: s.Namespace, name: s.Name, port: fmt.Sprint(s.Spec.Ports[0].Port), scheme: "http"})
	}
	if len(found) == 0 {
		a.note("prometheus", "loadline doctor --prometheus URL --namespace NAMESPACE looks at one that you know of",
			"No Service looks like a Prometheus; Loadline needs one, or Thanos, Mimir or VictoriaMetrics.")
		return
	}
	var names []string
	for _, s := range found {
		names = append(names, s.namespace+"/"+s.name)
	}
	a.note("prometheus", found[0].forward()+" --namespace NAMESPACE",
		"This may be a Prometheus: %s. Its metrics can be looked at before anything is installed.", some(names))
}

// short is an error without its advice: that is for whoever pulls a history, and we
// have our own.
func short(err error) string {
	text, _, _ := strings.Cut(err.Error(), "; ")
	return text
}

// unreachable is a Prometheus that did not answer once, and is not asked again.
type unreachable struct{ err error }

func (u unreachable) Query(context.Context, string, time.Time) (model.Vector, error) {
	return nil, u.err
}

func (u unreachable) Detect(context.Context, prom.Setting, time.Time, time.Time) (*prom.Preset, []string, error) {
	return nil, nil, u.err
}

func (u unreachable) ScrapeInterval(context.Context, *prom.Preset, prom.Setting, time.Time, time.Time) (time.Duration, error) {
	return 0, u.err
}

func (u unreachable) LabelValues(context.Context, string, time.Time, time.Time) ([]string, error) {
	return nil, u.err
}

// measure looks at what a Prometheus has of a namespace.
func (e *exam) measure(ctx context.Context, a about, s subject) {
	if _, gone := s.series.(unreachable); gone {
		return // said once
	}
	if !e.findPreset(ctx, a, &s) || !e.freshness(ctx, a, &s) {
		return
	}
	seen, absent, err := e.names(ctx, s)
	if err != nil {
		a.warn("metrics", "run it again", "Metrics could not be looked at: %v", err)
		return
	}
	e.absences(a, s, absent)
	e.unseenServices(a, s, seen)
}

// findPreset says which one fits.
func (e *exam) findPreset(ctx context.Context, a about, s *subject) bool {
	start, end := e.Now.Add(-past), e.Now
	if s.preset != nil {
		return true
	}
	best, others, err := s.series.Detect(ctx, s.setting, start, end)
	if err == nil {
		s.preset = best
		also := ""
		if len(others) > 0 {
			also = fmt.Sprintf(" (%s would fit as well)", some(others))
		}
		a.ok("preset", "The preset %s fits%s.", best.Name, also)
		return true
	}
	known, err := s.series.LabelValues(ctx, "namespace", start, end)
	switch {
	case err != nil:
		a.warn("preset", "run it again", "Which preset fits could not be seen: %v", err)
	case len(known) > 0 && !slices.Contains(known, s.namespace):
		a.fault("preset", "correct spec.prometheus.namespace, or have the namespace scraped", "The Prometheus knows no namespace %q%s.",
			s.namespace, hint(s.namespace, known))
	default:
		a.fault("preset", "have its proxies or spans scraped, or give queries of your own: loadline history presets istio > mine.yaml, then spec.prometheus.queries",
			"No preset that measures traffic fits the namespace %s (tried: %s).", s.namespace,
			strings.Join(prom.Presets()[:len(prom.Presets())-1], ", "))
	}
	return false
}

// freshness is how often series are scraped and how old the newest sample is.
func (e *exam) freshness(ctx context.Context, a about, s *subject) bool {
	probe := s.preset.Expand(s.preset.Probe, s.setting)
	newest, err := s.series.Query(ctx, fmt.Sprintf("max(timestamp(%s))", probe), e.Now)
	if err == nil && len(newest) == 0 { // further back than Prometheus looks
		newest, err = s.series.Query(ctx, fmt.Sprintf("max(max_over_time(timestamp(%s)[1h:1m]))", probe), e.Now)
	}
	switch {
	case err != nil:
		a.warn("freshness", "run it again", "How old the data is could not be seen: %v", err)
		return false
	case len(newest) == 0:
		a.fault("freshness", "look at the targets of the Prometheus: <its address>/targets",
			"The preset %s finds nothing within the last hour (%s).", s.preset.Name, probe)
		return false
	}
	age := e.Now.Sub(time.UnixMilli(int64(float64(newest[0].Value) * 1000)))
	every := s.setting.Scrape
	if every == 0 {
		every, err = s.series.ScrapeInterval(ctx, s.preset, s.setting, e.Now.Add(-past), e.Now)
		if err != nil {
			a.warn("freshness", "set spec.prometheus.scrapeInterval", "How often the application is scraped could not be seen: %v", err)
			every = 30 * time.Second
		}
		s.setting.Scrape = every
	}
	switch {
	case age > s.maxAge:
		a.fault("freshness", "look at the targets of the Prometheus, and at its clock",
			"The newest sample is %s old; what is older than %s counts as absent, and everything is held.", round(age), s.maxAge)
	case 2*every > s.maxAge:
		a.warn("freshness", "scrape more often, or raise guard.data.maxAge",
			"The application is scraped every %s: one lost scrape makes samples older than guard.data.maxAge (%s).", every, s.maxAge)
	case every > time.Minute/2:
		a.note("freshness", "scrape every 15s if bursts are to be followed",
			"The application is scraped every %s, the newest sample is %s old; Loadline sees no faster than that.", every, round(age))
	default:
		a.ok("freshness", "The application is scraped every %s; the newest sample is %s old.", every, round(age))
	}
	return true
}

// names are the services that each metric knows, and the metrics that know none.
func (e *exam) names(ctx context.Context, s subject) (seen map[history.ServiceMetric][]string, absent []history.ServiceMetric, err error) {
	seen = map[history.ServiceMetric][]string{}
	for _, metric := range loadline.ServiceTable.Columns() {
		q := s.preset.Service[metric]
		if q == nil || q.Text == "" {
			absent = append(absent, metric)
			continue
		}
		result, err := s.series.Query(ctx, s.preset.Expand(q.Text, s.setting), e.Now)
		if err != nil {
			return nil, nil, err
		}
		for _, sample := range result {
			name := q.Service.Of(func(label string) string { return string(sample.Metric[model.LabelName(label)]) })
			if name != "" && !slices.Contains(seen[metric], name) {
				seen[metric] = append(seen[metric], name)
			}
		}
		if len(seen[metric]) == 0 {
			absent = append(absent, metric)
		}
	}
	return seen, absent, nil
}

// Metrics without which decisions are poor, and what they come from.
var (
	essential = []history.ServiceMetric{history.Rate, history.LatencyP99, history.CPU}
	fromState = []history.ServiceMetric{history.Ready, history.Desired, history.CPURequest}
)

// absences tells what is not measured, and why that may be.
func (e *exam) absences(a about, s subject, absent []history.ServiceMetric) {
	because := func(m history.ServiceMetric) string {
		if q := s.preset.Service[m]; q != nil && q.Absent != "" {
			return q.Absent
		}
		return "preset " + s.preset.Name + " has no query for it"
	}
	var reasons []string // in order
	minor := map[string][]string{}
	for _, m := range absent {
		if slices.Contains(essential, m) {
			a.warn("metrics", "see that it is scraped, or give a query of your own for it (loadline history presets "+s.preset.Name+")",
				"%s (%s) is absent: %s.", upper(m.About().Help), m, because(m))
			continue
		}
		if minor[because(m)] == nil {
			reasons = append(reasons, because(m))
		}
		minor[because(m)] = append(minor[because(m)], m.String())
	}
	if !slices.ContainsFunc(fromState, func(m history.ServiceMetric) bool { return !slices.Contains(absent, m) }) {
		a.note("kube-state-metrics", "have kube-state-metrics scraped, to train on this past",
			"Nothing of kube-state-metrics is there. Loadline asks the cluster itself for replicas and sizes; a history lacks them.")
	}
	for i, reason := range reasons {
		reasons[i] = strings.Join(minor[reason], ", ") + " (" + reason + ")"
	}
	if len(reasons) > 0 {
		a.note("metrics", "", "Absent, and missed less: %s.", strings.Join(reasons, "; "))
	}
	all := len(loadline.ServiceTable.Columns())
	if measured := all - len(absent); measured > 0 {
		a.ok("metrics", "%d of %d metrics are there.", measured, all)
	}
}

// unseenServices are those that neither traffic nor CPU knows by their name.
func (e *exam) unseenServices(a about, s subject, seen map[history.ServiceMetric][]string) {
	known := slices.Concat(seen[history.Rate], seen[history.CPU])
	slices.Sort(known)
	known = slices.Compact(known)
	for _, name := range s.services {
		b := a
		b.service = name
		switch {
		case !slices.Contains(known, name):
			b.fault("seen", "correct the service's name in the LoadLine (it is the metrics'; targetRef.name is the workload's), or have it scraped", "Metrics know no service %q%s.", name, hint(name, known))
		case !slices.Contains(seen[history.Rate], name) && len(seen[history.Rate]) > 0:
			b.warn("seen", "see that its requests are measured", "Requests of %q are not measured; others' are.", name)
		case !slices.Contains(seen[history.CPU], name) && len(seen[history.CPU]) > 0:
			b.warn("seen", "see that its pods are scraped under this name", "CPU of %q is not measured; others' is.", name)
		}
	}
}
