package knative

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"google.golang.org/protobuf/encoding/protowire"
)

// Stat is what a queue-proxy reports of its last second.
type Stat struct {
	Pod string
	// Concurrency and Requests include Proxied..., which came through an activator.
	Concurrency, ProxiedConcurrency float64
	Requests, ProxiedRequests       float64 // per second
	Uptime                          float64 // seconds
}

// maxStat is the size of a report that is accepted.
const maxStat = 4 << 10

// ParseStat reads the report of a queue-proxy: one protobuf message of six fields.
func ParseStat(from io.Reader) (Stat, error) {
	data, err := io.ReadAll(io.LimitReader(from, maxStat+1))
	if err != nil {
		return Stat{}, err
	}
	if len(data) > maxStat {
		return Stat{}, fmt.Errorf("the report has more than %d bytes: is this a queue-proxy?", maxStat)
	}
	var s Stat
	fields := map[protowire.Number]*float64{2: &s.Concurrency, 3: &s.ProxiedConcurrency, 4: &s.Requests, 5: &s.ProxiedRequests, 6: &s.Uptime}
	for len(data) > 0 {
		field, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return Stat{}, fmt.Errorf("the report is no protobuf message: %w", protowire.ParseError(n))
		}
		data = data[n:]
		switch into := fields[field]; {
		case into != nil && kind == protowire.Fixed64Type:
			var bits uint64
			if bits, n = protowire.ConsumeFixed64(data); n >= 0 {
				*into = math.Float64frombits(bits)
			}
		case field == 1 && kind == protowire.BytesType:
			s.Pod, n = protowire.ConsumeString(data)
		default:
			n = protowire.ConsumeFieldValue(field, kind, data)
		}
		if n < 0 {
			return Stat{}, fmt.Errorf("field %d of the report: %w", field, protowire.ParseError(n))
		}
		data = data[n:]
	}
	for field, v := range fields {
		if *v < 0 || math.IsNaN(*v) || math.IsInf(*v, 0) {
			return Stat{}, fmt.Errorf("field %d of the report is %v: must be a number from 0", field, *v)
		}
	}
	return s, nil
}

// Revision is the name of one.
type Revision struct{ Namespace, Name string }

// Proxied is what an activator reports of one revision.
type Proxied struct {
	Concurrency float64 // mean over its last second
	Queued      float64 // requests that wait for a pod now
	Requests    float64 // answered since the activator started
}

// Names of the activator's metrics and labels, as its Prometheus exporter spells them.
const (
	metricConcurrency = "kn_revision_request_concurrency"
	metricQueued      = "kn_revision_request_queued"
	metricDuration    = "http_server_request_duration_seconds"
	labelRevision     = "kn_revision_name"
	labelNamespace    = "k8s_namespace_name"
)

// errNotActivator is reported for an endpoint that answers with other metrics.
var errNotActivator = errors.New("no metrics of an activator")

// ParseActivator reads the metrics of an activator, by revision. An activator that has had no
// request yet has none, which is not an error.
func ParseActivator(from io.Reader) (map[Revision]Proxied, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(from)
	if err != nil {
		return nil, fmt.Errorf("the metrics of the activator: %w", err)
	}
	if len(families) == 0 {
		return nil, errNotActivator
	}
	of := map[Revision]Proxied{}
	for name, add := range map[string]func(p *Proxied, v float64){
		metricConcurrency: func(p *Proxied, v float64) { p.Concurrency += v },
		metricQueued:      func(p *Proxied, v float64) { p.Queued += v },
		metricDuration:    func(p *Proxied, v float64) { p.Requests += v },
	} {
		for _, m := range families[name].GetMetric() {
			var r Revision
			for _, l := range m.GetLabel() {
				switch l.GetName() {
				case labelRevision:
					r.Name = l.GetValue()
				case labelNamespace:
					r.Namespace = l.GetValue()
				}
			}
			v := m.GetGauge().GetValue()
			if h := m.GetHistogram(); h != nil {
				v = float64(h.GetSampleCount())
			}
			if r.Name == "" || math.IsNaN(v) || v < 0 {
				continue
			}
			p := of[r]
			add(&p, v)
			of[r] = p
		}
	}
	return of, nil
}
