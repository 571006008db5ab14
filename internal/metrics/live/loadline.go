package live

import (
	"strings"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/metrics/prom"
	"github.com/loadline/loadline/internal/resource"
)

// OptionsFor a LoadLine of a namespace: the controller and doctor read with the same
// ones. A preset of nil is detected.
func OptionsFor(app *resource.Application, spec *v1alpha1.PrometheusSource, namespace string, preset *prom.Preset) Options {
	o := Options{App: app.App, Namespace: spec.Namespace, Preset: preset, Scrape: app.Needs.Scrape, MaxAge: app.Guard.Data.MaxAge,
		Variables: map[string]string{}}
	if o.Namespace == "" {
		o.Namespace = namespace
	}
	for name, value := range spec.Variables {
		o.Variables[name] = string(value)
	}
	for _, s := range app.Sources {
		o.Kinds = append(o.Kinds, Where{Service: s.Service, Operation: s.Operation, Over: s.Over})
	}
	for _, s := range app.Targets {
		if s != nil && s.Queue != nil {
			q := s.Queue
			o.Queues = append(o.Queues, prom.Queue{Service: s.Name, Kind: strings.ToLower(string(q.Type)), Name: q.Name,
				Group: q.ConsumerGroup, VHost: q.VirtualHost})
		}
	}
	return o
}
