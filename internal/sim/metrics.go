package sim

import (
	"errors"
	"fmt"
	"time"

	"github.com/loadline/loadline"
)

// Metrics configures a metrics system: scrape interval, averaging window, lag and loss.
type Metrics struct {
	Scrape time.Duration // between scrapes; 0 = 15 s
	Window time.Duration // over which rates and quantiles are taken; at least one scrape
	Lag    time.Duration // only scrapes at least this old are visible

	Loss     float64 // probability that one scrape of one service, pod or kind is lost
	CPUNoise float64 // standard deviation of CPU readings, relative to the value
}

// MetricsFor gives a policy the metrics of its real deployment.
func MetricsFor(n loadline.Needs) Metrics {
	return Metrics{Scrape: n.Scrape, Window: n.Window, Lag: n.Lag}.withDefaults()
}

// PrometheusFor gives a policy the metrics that the controller reads from Prometheus for it: rates and
// quantiles cover several scrapes, and a lag is not added, since that is of another metrics pipeline.
// They reach as far back as in a cluster, where the window is a scrape shorter and ends, on average,
// half a scrape before the decision.
func PrometheusFor(n loadline.Needs) Metrics {
	m := Metrics{Scrape: n.Scrape}.withDefaults()
	m.Window = max(n.Window, loadline.RateScrapes*m.Scrape)
	return m
}

// Late adds a lag of the given number of scrapes.
func (m Metrics) Late(scrapes int) Metrics {
	m = m.withDefaults()
	m.Lag += time.Duration(scrapes) * m.Scrape
	return m
}

func (m Metrics) withDefaults() Metrics {
	if m.Scrape <= 0 {
		m.Scrape = 15 * time.Second
	}
	m.Window = max(m.Window, m.Scrape)
	return m
}

// Validate reports every invalid field.
func (m Metrics) Validate() error {
	var faults []error
	if m.Lag < 0 {
		faults = append(faults, fmt.Errorf("metrics lag %v must not be negative", m.Lag))
	}
	if !(m.Loss >= 0 && m.Loss <= 1) {
		faults = append(faults, fmt.Errorf("metrics loss %v must be a probability from 0 to 1", m.Loss))
	}
	if !(m.CPUNoise >= 0 && m.CPUNoise < 10) {
		faults = append(faults, fmt.Errorf("CPU noise %v must be a relative deviation from 0 to 10", m.CPUNoise))
	}
	return errors.Join(faults...)
}
