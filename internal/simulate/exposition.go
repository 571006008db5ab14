package simulate

import (
	"fmt"
	"io"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/sim"
)

// Exposition keeps what the exporters show, scrape by scrape. It holds eight
// bytes for every sample: a week of a few services, or a day of forty, is what
// fits.
type Exposition struct {
	// Autoscalers that kube-state-metrics shows; they may be set before the first scrape.
	Autoscalers []history.Autoscaler

	app       *loadline.App
	namespace string
	edges     []sim.Edge
	entered   []bool // by service: users call it

	times    []time.Duration
	families []*family
	byName   map[string]*family
	pods     map[int64]*podSeen
	services []serviceSeen
	watched  nodeWatch
	others   map[string]float64 // by node: CPU seconds of others
}

// serviceSeen is what the last reading of a service came to, where only the
// difference to it can be attributed.
type serviceSeen struct {
	last       [loadline.ServiceMetrics]float64 // that exporters showed
	restarts   float64
	arrivals   []arrivalSeen // by caller
	buckets    []float64
	sum, count float64
}

// podSeen is what is remembered of a pod from scrape to scrape.
type podSeen struct {
	name     string
	share    [loadline.ServiceMetrics]float64 // of what is counted by service
	restarts float64
}

// NewExposition makes a recorder for an application that runs in a namespace.
func NewExposition(app *loadline.App, namespace string) *Exposition {
	r := &Exposition{
		app: app, namespace: namespace, edges: sim.Edges(app),
		entered: make([]bool, len(app.Services)),
		byName:  map[string]*family{}, pods: map[int64]*podSeen{}, others: map[string]float64{},
		services: make([]serviceSeen, len(app.Services)),
	}
	for _, k := range app.Kinds {
		r.entered[k.Root.Service] = true
	}
	for s := range r.services {
		r.services[s].arrivals = make([]arrivalSeen, len(r.callers(s)))
	}
	return r
}

// Watch keeps one scrape; it fits simulate.Hooks.Scrape.
func (r *Exposition) Watch(reading *sim.Reading, cp *sim.ControlPlane) {
	if n := len(r.times); n > 0 && reading.At <= r.times[n-1] {
		return // the same instant twice; Prometheus would refuse it
	}
	r.times = append(r.times, reading.At)
	r.istio(reading)
	for s := range r.app.Services {
		r.cadvisor(s, &reading.Services[s], cp)
		r.kubeState(s, &reading.Services[s], cp)
	}
	r.kubeNodes(reading, cp)
	r.kubeAutoscalers()
}

// Samples counts what has been kept.
func (r *Exposition) Samples() int {
	n := 0
	for _, f := range r.families {
		for _, s := range f.series {
			n += len(s.values)
		}
	}
	return n
}

// Write writes everything as OpenMetrics text.
func (r *Exposition) Write(w io.Writer) error {
	if len(r.times) == 0 {
		return fmt.Errorf("nothing was scraped of %s", r.app.Name)
	}
	return r.writeText(w)
}
