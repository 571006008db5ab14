package resource

import (
	"errors"
	"fmt"

	quantity "k8s.io/apimachinery/pkg/api/resource"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/sim/pool"
	"github.com/loadline/loadline/internal/suggest"
)

var (
	// ErrNoClass means that the class that a LoadLine names does not exist.
	ErrNoClass = errors.New("class not found")
	// ErrNoPrometheus means that neither a LoadLine nor its class has a Prometheus.
	ErrNoPrometheus = errors.New("no Prometheus")
)

// ClassOf returns the class of a LoadLine: the one that it names, or the default
// class, or nil if there is neither. Of several default classes it is the one that
// was created last.
func ClassOf(l *v1alpha1.LoadLine, classes []v1alpha1.LoadLineClass) (*v1alpha1.LoadLineClass, error) {
	var found *v1alpha1.LoadLineClass
	var names []string
	for i := range classes {
		c := &classes[i]
		names = append(names, c.Name)
		switch {
		case l.Spec.ClassName != "":
			if c.Name == l.Spec.ClassName {
				found = c
			}
		case c.IsDefault() && (found == nil || laterDefault(c, found)):
			found = c
		}
	}
	if found == nil && l.Spec.ClassName != "" {
		return nil, fmt.Errorf("spec.className: %w: there is no LoadLineClass %q%s: create it, or leave className out", ErrNoClass,
			l.Spec.ClassName, suggest.Hint(l.Spec.ClassName, names))
	}
	return found, nil
}

func laterDefault(c, than *v1alpha1.LoadLineClass) bool {
	if !c.CreationTimestamp.Equal(&than.CreationTimestamp) {
		return than.CreationTimestamp.Before(&c.CreationTimestamp)
	}
	return c.Name < than.Name
}

// Metering is where a LoadLine's metrics are read.
type Metering struct {
	Source v1alpha1.PrometheusSource
	// ByClass: the server and its credentials are those of the class, whose Secrets and
	// ConfigMaps are in the controller's namespace.
	ByClass bool
	Field   string // of the server, for messages
}

// MeteringOf returns the Prometheus of a LoadLine, or that of its class, which may be
// nil, or the one of the installation: an address without credentials, which may be
// empty. Credentials never come from one and the address from the other.
func MeteringOf(l *v1alpha1.LoadLine, class *v1alpha1.LoadLineClass, installation string) (Metering, error) {
	m := Metering{Source: *l.Spec.Prometheus.DeepCopy(), Field: "spec.prometheus"}
	switch {
	case m.Source.URL != "":
		return m, nil
	case class != nil && class.Spec.Prometheus != nil:
		m.Source.PrometheusServer = *class.Spec.Prometheus.DeepCopy()
		m.ByClass, m.Field = true, "LoadLineClass "+class.Name+" spec.prometheus"
		return m, nil
	case installation != "":
		m.Source.PrometheusServer = v1alpha1.PrometheusServer{URL: installation, Timeout: m.Source.Timeout}
		m.Field = "loadline run --prometheus"
		return m, nil
	case class != nil:
		return m, fmt.Errorf("spec.prometheus.url: %w: neither the LoadLine nor its class %s has one: set it in one of them",
			ErrNoPrometheus, class.Name)
	}
	return m, fmt.Errorf("spec.prometheus.url: %w: it is left out, and no LoadLineClass is named in spec.className or is marked as "+
		"the default: set it, create a class with spec.prometheus, or give the controller a default "+
		"(loadline run --prometheus; chart: prometheus)", ErrNoPrometheus)
}

// PricesOf a class, with the defaults for what it leaves out.
func PricesOf(c *v1alpha1.LoadLineClass) (pool.Prices, error) {
	var p pool.Prices
	var f faults
	if from := c.Spec.Prices; from != nil {
		p.Currency = from.Currency
		p.CoreHour = f.number("spec.prices.coreHour", from.CoreHour, 0)
		p.GiBHour = f.number("spec.prices.gibHour", from.GiBHour, 0)
		p.Instances = map[string]float64{}
		for name, price := range from.Instances {
			p.Instances[name] = f.number("spec.prices.instances."+name, &price, 0)
		}
	}
	return p.WithDefaults(), errors.Join(f...)
}

// Room converts a room.
func Room(r v1alpha1.Room) loadline.Room {
	return loadline.Room{Cores: cores(r.CPU), Memory: r.Memory.Value()}
}

// Amount converts a room for a status: cores are rounded up to milli-cores.
func Amount(r loadline.Room) *v1alpha1.Amount {
	return &v1alpha1.Amount{CPU: cpu(loadline.Some(r.Cores)), Memory: memory(loadline.Some(r.Memory))}
}

// RoomOf is the inverse of Amount; what is left out is 0.
func RoomOf(a *v1alpha1.Amount) loadline.Room {
	if a == nil {
		return loadline.Room{}
	}
	value := func(q *quantity.Quantity) quantity.Quantity {
		if q == nil {
			return quantity.Quantity{}
		}
		return *q
	}
	return Room(v1alpha1.Room{CPU: value(a.CPU), Memory: value(a.Memory)})
}

// Events converts announced events. Those whose factor is no number are left out: the
// API server rejects them.
func Events(from []v1alpha1.Event) []loadline.Event {
	var events []loadline.Event
	for _, e := range from {
		if factor, err := e.Factor.Float(); err == nil {
			events = append(events, loadline.Event{Name: e.Name, Start: e.Start.Time, End: e.End.Time, Factor: factor})
		}
	}
	return events
}
