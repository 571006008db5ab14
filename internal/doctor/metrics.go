package doctor

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/metrics/live"
	"github.com/loadline/loadline/internal/metrics/prom"
	"github.com/loadline/loadline/internal/resource"
)

// connection to a Prometheus, or why there is none.
type connection struct {
	client *prom.Client
	err    error
}

// metrics of one LoadLine, read as the controller reads them.
func (e *exam) metrics(ctx context.Context, a about, l *v1alpha1.LoadLine, app *resource.Application, targets map[string]*target) {
	c := e.Prometheus
	if c == nil {
		c = e.reach(ctx, a, l)
	}
	if c == nil || e.silent {
		return
	}
	if app == nil {
		a.note("metrics", "see to the spec first", "Metrics were not checked: the resource cannot be followed.")
		return
	}
	preset, err := e.presetOf(ctx, l)
	if err != nil {
		a.warn("preset", "loadline history presets prints one to compare with",
			"The queries that the resource names cannot be used: %v", err)
		return
	}
	s := subject{client: c, options: live.OptionsFor(app, &l.Spec.Prometheus, l.Namespace, preset),
		targets: make([]*target, len(app.Targets))}
	for i, service := range app.Targets {
		if service != nil {
			s.targets[i] = targets[service.Name]
		}
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

// reach connects to a LoadLine's Prometheus; nil if it is not reachable from here, which is not
// a fault of the controller.
func (e *exam) reach(ctx context.Context, a about, l *v1alpha1.LoadLine) *prom.Client {
	address, otherwise, ok := e.route(ctx, a, l)
	if !ok || e.Connect == nil {
		return nil
	}
	at := fmt.Sprint(address) // maps are printed in the order of their keys
	c, known := e.connected[at]
	if !known {
		c.client, c.err = e.Connect(address)
		if c.err == nil {
			_, c.err = c.client.Query(ctx, "vector(1)", e.Now)
		}
		e.connected[at] = c
	}
	if c.err == nil {
		return c.client
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

// metricsWithoutLoadLine checks the metrics of a namespace without a LoadLine, and suggests
// where a Prometheus might be.
func (e *exam) metricsWithoutLoadLine(ctx context.Context) {
	a := e.of(OfMetrics)
	if e.Prometheus != nil {
		if _, err := e.Prometheus.Query(ctx, "vector(1)", e.Now); err != nil {
			a.fault("prometheus", "check --prometheus and how it lets in (--token-file, --user, --ca-file)",
				"The Prometheus that was given cannot be asked: %s.", short(err))
			e.silent = true
			return
		}
		if e.Metrics != "" {
			e.namespaceMetrics(ctx, a)
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
	found, err := prometheusServices(ctx, e.Reader)
	if err != nil {
		return // only a hint
	}
	if len(found) == 0 {
		a.note("prometheus", "loadline doctor --prometheus URL --namespace NAMESPACE checks a given one",
			"No Service looks like a Prometheus; Loadline needs one, or Thanos, Mimir or VictoriaMetrics.")
		return
	}
	var names []string
	for _, s := range found {
		names = append(names, s.namespace+"/"+s.name)
	}
	a.note("prometheus", found[0].forward()+" --namespace NAMESPACE",
		"This may be a Prometheus: %s. Its metrics can be checked before installation.", some(names))
}

// prometheusServices are the Services of a cluster that look like a Prometheus.
func prometheusServices(ctx context.Context, from client.Reader) ([]service, error) {
	var list corev1.ServiceList
	if err := from.List(ctx, &list); err != nil {
		return nil, err
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
	return found, nil
}

// Prometheuses are the addresses of Services that look like a Prometheus, reached from outside the
// cluster through the API server's proxy.
func Prometheuses(ctx context.Context, from client.Reader, inCluster bool) ([]Address, error) {
	found, err := prometheusServices(ctx, from)
	var all []Address
	for _, s := range found {
		a := Address{URL: fmt.Sprintf("%s://%s.%s:%s", s.scheme, s.name, s.namespace, s.port), Timeout: defaultTimeout}
		if !inCluster {
			a.Proxy = s.proxy()
		}
		all = append(all, a)
	}
	return all, err
}

// AddressOf a Prometheus that a resource names, which a controller in the given namespace reaches.
func AddressOf(url, namespace string, inCluster bool) Address {
	a := Address{URL: url, Timeout: defaultTimeout}
	if s, inside := serviceOf(url, namespace); inside && !inCluster {
		a.Proxy = s.proxy()
	}
	return a
}

// short is an error without its advice, which is for pulling a history; doctor has its own.
func short(err error) string {
	text, _, _ := strings.Cut(err.Error(), "; ")
	return text
}
