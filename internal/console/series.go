package console

import (
	"encoding/json"
	"math"
	"strconv"
	"time"

	"github.com/loadline/loadline/internal/sim/pool"
)

// Series is the last hours, a value for each time; null = not measured.
type Series struct {
	StepSeconds float64         `json:"step_s"`
	Times       []int64         `json:"times"` // Unix seconds
	Kinds       []KindSeries    `json:"kinds"`
	Services    []ServiceSeries `json:"services"`
	Nodes       Column          `json:"nodes"`    // that are up and have pods of the application
	PerHour     Column          `json:"per_hour"` // of all replicas' requests, at list prices in Currency
	Currency    string          `json:"currency"`
	// Complete: what was recorded before this process started is in it.
	Complete bool `json:"complete"`
}

// KindSeries is one kind of request.
type KindSeries struct {
	Kind    string `json:"kind"`
	Rate    Column `json:"rate"`      // requests per second
	Latency Column `json:"latency_s"` // at the SLO's percentile, highest of the step
	OverSLO Column `json:"over_slo"`  // share of the requests over the SLO or failed
}

// ServiceSeries is one service.
type ServiceSeries struct {
	Service    string `json:"service"`
	Rate       Column `json:"rate"`
	CPU        Column `json:"cpu_cores"`
	Throttled  Column `json:"throttled"`
	Latency    Column `json:"p99_s"`
	Wanted     Column `json:"replicas_wanted"`  // by the policy
	Applied    Column `json:"replicas_applied"` // after the guards; in mode Recommend, what would be applied
	Ready      Column `json:"replicas_ready"`
	CPURequest Column `json:"cpu_request_cores"` // of a replica
	// The last forecast of the rate that was made before each time.
	Median Column `json:"forecast_median"`
	High   Column `json:"forecast_high"`
}

// Column is numbers, of which NaN is null in JSON.
type Column []float64

// MarshalJSON writes four digits after the first that is not zero.
func (c Column) MarshalJSON() ([]byte, error) {
	b := []byte{'['}
	for i, v := range c {
		if i > 0 {
			b = append(b, ',')
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			b = append(b, "null"...)
		} else {
			b = strconv.AppendFloat(b, v, 'g', 5, 64)
		}
	}
	return append(b, ']'), nil
}

// UnmarshalJSON reads null as NaN.
func (c *Column) UnmarshalJSON(text []byte) error {
	var list []*float64
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	*c = make(Column, len(list))
	for i, v := range list {
		if (*c)[i] = math.NaN(); v != nil {
			(*c)[i] = *v
		}
	}
	return nil
}

// series of the points since an instant; with a service, of that one.
func (p *past) series(since time.Time, service string) *Series {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := &Series{StepSeconds: Step.Seconds(), Times: []int64{}, Kinds: []KindSeries{}, Services: []ServiceSeries{}, Complete: p.loaded,
		Nodes: Column{}, PerHour: Column{}, Currency: pool.Prices{}.WithDefaults().Currency}
	from := 0
	for from < len(p.points) && p.points[from].at.Before(since) {
		from++
	}
	points := p.points[from:]
	for _, q := range points {
		s.Times = append(s.Times, q.at.Unix())
		s.Nodes, s.PerHour = append(s.Nodes, float64(q.nodes)), append(s.PerHour, float64(q.perHour))
	}
	for i, name := range p.kinds {
		k := KindSeries{Kind: name}
		for _, q := range points {
			rate, latency, over := math.NaN(), math.NaN(), math.NaN()
			if i < len(q.kinds) {
				v := &q.kinds[i]
				latency = v.latency
				if v.passes > 0 {
					rate = v.rate / v.passes
				}
				if v.requests > 0 {
					over = v.over / v.requests
				}
			}
			k.Rate, k.Latency, k.OverSLO = append(k.Rate, rate), append(k.Latency, latency), append(k.OverSLO, over)
		}
		s.Kinds = append(s.Kinds, k)
	}
	for i, name := range p.services {
		if service != "" && name != service {
			continue
		}
		v := ServiceSeries{Service: name}
		for _, q := range points {
			w := unmeasured
			if i < len(q.services) {
				w = q.services[i]
			}
			for _, c := range []struct {
				to    *Column
				value float32
			}{{&v.Rate, w.rate}, {&v.CPU, w.cpu}, {&v.Throttled, w.throttled}, {&v.Latency, w.latency}, {&v.Wanted, w.wanted},
				{&v.Applied, w.applied}, {&v.Ready, w.ready}, {&v.CPURequest, w.request}, {&v.Median, q.band(i).median},
				{&v.High, q.band(i).high}} {
				*c.to = append(*c.to, float64(c.value))
			}
		}
		s.Services = append(s.Services, v)
	}
	return s
}

// changesOf the application since an instant, latest first.
func (p *past) changesOf(since time.Time, service string, most int) []Change {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := []Change{}
	for i := len(p.changes) - 1; i >= 0 && len(list) < most; i-- {
		c := p.changes[i]
		if c.At.Before(since) {
			break
		}
		if service == "" || c.Service == service {
			list = append(list, c)
		}
	}
	return list
}
