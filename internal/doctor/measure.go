package doctor

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/metrics/live"
	"github.com/loadline/loadline/internal/metrics/prom"
)

// defaultMaxAge is that of guard.data.maxAge, for a namespace without a LoadLine.
const defaultMaxAge = 2 * time.Minute

// subject is one reading of a Prometheus: the controller's of a LoadLine.
type subject struct {
	client  *prom.Client
	options live.Options
	targets []*target // by service; nil = not scaled, or not found
}

// observation returns the pods of the services, ready to be filled in, with their names.
func (s *subject) observation() (names [][]string, o *loadline.Observation) {
	n := len(s.options.App.Services)
	names, o = make([][]string, n), &loadline.Observation{Services: make([]loadline.ServiceObservation, n)}
	for i, t := range s.targets {
		if t == nil {
			continue
		}
		for j := range t.pods {
			p := loadline.PodObservation{Phase: loadline.PodStarting}
			if slices.ContainsFunc(t.pods[j].Status.Conditions, func(c corev1.PodCondition) bool {
				return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
			}) {
				p.Phase = loadline.PodReady
			}
			names[i] = append(names[i], t.pods[j].Name)
			o.Services[i].Pods = append(o.Services[i].Pods, p)
		}
	}
	return names, o
}

// namespaceMetrics reads a namespace without a LoadLine: every service of it in Prometheus.
func (e *exam) namespaceMetrics(ctx context.Context, a about) {
	app := &loadline.App{}
	s := subject{client: e.Prometheus, options: live.Options{App: app, Namespace: e.Metrics, MaxAge: defaultMaxAge}}
	if source, err := live.New(s.client, s.options); err == nil && source.Observe(ctx, e.Now, nil, &loadline.Observation{}) == nil {
		for _, name := range source.Report().Services {
			app.Services = append(app.Services, loadline.Service{Name: name})
		}
	}
	e.measure(ctx, a, s)
}

// measure makes one observation and reports it.
func (e *exam) measure(ctx context.Context, a about, s subject) {
	source, err := live.New(s.client, s.options)
	if err != nil {
		a.warn("metrics", "correct spec.prometheus and the objectives", "Metrics cannot be read: %v", err)
		return
	}
	names, o := s.observation()
	err = source.Observe(ctx, e.Now, names, o)
	r := source.Report()
	if err != nil {
		state, check := Warning, "metrics"
		if errors.Is(err, prom.ErrNothing) {
			state, check = Fault, "preset"
		}
		for _, d := range r.Lacking() {
			a.when(state, check, d.Remedy, "%s.", d)
		}
		return
	}
	if s.options.Preset == nil {
		also := ""
		if len(r.Others) > 0 {
			also = " (" + some(r.Others) + " would fit as well)"
		}
		a.ok("preset", "The preset %s fits%s.", r.Preset, also)
	}
	e.freshness(a, &s, &r)
	e.diagnoses(a, &s, &r, o)
	e.stateMetrics(ctx, a, &s, &r)
}

// freshness is the scrape interval, and the age of the newest sample.
func (e *exam) freshness(a about, s *subject, r *live.Report) {
	age, every, maxAge := e.Now.Sub(r.Newest), r.Scrape, s.options.MaxAge
	switch {
	case r.Newest.IsZero():
		a.fault("freshness", "check the targets of the Prometheus: <its address>/targets",
			"The preset %s has no sample within the window of %s.", r.Preset, r.Window)
	case age > maxAge:
		a.fault("freshness", "check the targets of the Prometheus, and at its clock",
			"The newest sample is %s old; what is older than %s counts as absent, and everything is held.", round(age), maxAge)
	case 2*every > maxAge:
		a.warn("freshness", "scrape more often, or raise guard.data.maxAge",
			"The application is scraped every %s: one lost scrape makes samples older than guard.data.maxAge (%s).", every, maxAge)
	case every > time.Minute/2:
		a.note("freshness", "scrape every 15s if bursts are to be followed",
			"The application is scraped every %s, the newest sample is %s old; Loadline sees no faster than that.", every, round(age))
	default:
		a.ok("freshness", "The application is scraped every %s; the newest sample is %s old.", every, round(age))
	}
}

// essential are the metrics of services without which decisions are poor. A service
// without the first two cannot be decided on at all.
var essential = []string{loadline.ServiceRate.String(), loadline.ServiceCPU.String(), loadline.ServiceLatencyP99.String()}

// diagnoses are the metrics that are absent or stale, each with its remedy.
func (e *exam) diagnoses(a about, s *subject, r *live.Report, o *loadline.Observation) {
	unseen := s.unseen(r)
	for _, d := range r.Lacking() {
		state, check, b := Note, "metrics", a
		if len(d.Names) > 0 {
			check = "seen"
		}
		switch {
		case d.Scope == loadline.OfService && slices.Contains(essential[:2], d.Metric) &&
			slices.ContainsFunc(unseen, func(name string) bool { return d.Concerns(loadline.OfService, name) }):
			state = Fault
		case d.Scope == loadline.OfService && slices.Contains(essential, d.Metric),
			d.Scope == loadline.OfKind && s.latencyUnseen(&d, o):
			state = Warning
		}
		if d.Scope != loadline.OfKind && len(d.Names) == 1 {
			b.service = d.Names[0]
		}
		b.when(state, check, d.Remedy, "%s.", d)
	}
	var all, present []string
	for _, d := range r.Metrics {
		if d.Scope == loadline.OfService && !slices.Contains(all, d.Metric) {
			all = append(all, d.Metric)
		}
		if d.Scope == loadline.OfService && d.State == loadline.MetricPresent {
			present = append(present, d.Metric)
		}
	}
	if len(present) > 0 {
		a.ok("metrics", "%d of %d metrics of services are there.", len(present), len(all))
	}
}

// unseen are the services to be scaled without rate and CPU.
func (s *subject) unseen(r *live.Report) []string {
	var list []string
	for i, t := range s.targets {
		name := s.options.App.Services[i].Name
		if t != nil && t.replicas > 0 && len(r.Of(loadline.OfService, name, essential[0])) > 0 &&
			len(r.Of(loadline.OfService, name, essential[1])) > 0 {
			list = append(list, name)
		}
	}
	return list
}

// latencyUnseen reports whether a diagnosis is of a kind whose objective cannot be checked.
func (s *subject) latencyUnseen(d *loadline.Diagnosis, o *loadline.Observation) bool {
	for i := range o.Kinds {
		k := &o.Kinds[i]
		if d.Concerns(loadline.OfKind, s.options.App.Kinds[i].Name) && !k.OverSLO.Present() && !k.AtSLO.Present() &&
			!(k.Rate.Present() && k.Rate.Value == 0) {
			return true
		}
	}
	return false
}

// fromState are metrics of histories only: an observation takes them from the cluster itself.
var fromState = []loadline.ServiceMetric{loadline.ServiceReady, loadline.ServiceDesired, loadline.ServiceCPURequest}

// stateMetrics reports whether a history would have replicas and sizes.
func (e *exam) stateMetrics(ctx context.Context, a about, s *subject, r *live.Report) {
	preset := s.options.Preset
	if preset == nil {
		var err error
		if preset, err = prom.Load(r.Preset); err != nil {
			return // it was in use a moment ago
		}
	}
	setting := prom.Setting{Namespace: s.options.Namespace, Step: r.Scrape, Scrape: r.Scrape, Variables: s.options.Variables}
	for _, m := range fromState {
		q := preset.Service[m]
		if q == nil || q.Text == "" {
			continue
		}
		if found, err := s.client.Query(ctx, preset.Expand(q.Text, setting), e.Now); err != nil || len(found) > 0 {
			return
		}
	}
	a.note("kube-state-metrics", "have kube-state-metrics scraped, to train on this past",
		"Nothing of kube-state-metrics is there. Loadline asks the cluster itself for replicas and sizes; a history lacks them.")
}
